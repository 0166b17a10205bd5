"""The framing of HTTP/1.1 does not depend on where the network cuts it."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.transport.http1_response import HEAD_BYTES_MAX, FetchFailed, Response, ResponseReader, gunzip
from telemetry.samples import DownReason

BODY = b"a 1\nb 2\n" * 20
CHUNKED = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(BODY[i : i + 7]), BODY[i : i + 7]) for i in range(0, len(BODY), 7))
ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: Text/Plain\r\n\r\n%b" % (len(BODY), BODY),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n" + CHUNKED + b"0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n"
    + CHUNKED
    + b"0\r\nX: y\r\n\r\n",
    b"HTTP/1.1 103 Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: text/plain\r\n\r\n%b"
    % (len(BODY), BODY),
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b"
    % (len(gzip.compress(BODY, mtime=0)), gzip.compress(BODY, mtime=0)),
]


def feed(parts: list[bytes]) -> Response | None:
    reader = ResponseReader(10_000, 10_000)
    responses = [reader.feed(part) for part in parts if part]
    assert responses[:-1].count(None) == len(responses) - 1
    return responses[-1]


@pytest.mark.parametrize("answer", ANSWERS)
def test_whole_and_byte_by_byte(answer: bytes) -> None:
    expected = Response("text/plain", BODY, True)
    assert feed([answer]) == expected
    assert feed([answer[i : i + 1] for i in range(len(answer))]) == expected


@given(st.sampled_from(ANSWERS), st.data())
def test_cut_anywhere(answer: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(answer)), max_size=5)))
    parts = [answer[start:end] for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    assert feed(parts) == Response("text/plain", BODY, True)


def test_bytes_after_the_response_close_the_connection() -> None:
    reader = ResponseReader(10_000, 10_000)
    response = reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\nHTTP/1.1")
    assert response is not None
    assert response.body == b"a 1\n"
    assert reader.closes


OK = b"HTTP/1.1 200 OK\r\n"


def read(data: bytes, raw_bytes_max: int = 1000, decoded_bytes_max: int = 1000) -> Response | None:
    return ResponseReader(raw_bytes_max, decoded_bytes_max).feed(data)


def failure(data: bytes) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        ResponseReader(1000, 1000).feed(data)
    return caught.value


@pytest.mark.parametrize(
    ("head", "body", "content_type"),
    [
        (b"Content-Length: 0\r\n", b"", ""),
        (b"content-length:3\r\n", b"abc", ""),
        (b"CONTENT-LENGTH:  3 \r\n", b"abc", ""),
        (b"Content-Type: Text/Plain; Version=0.0.4\r\nContent-Length: 3\r\n", b"abc", "text/plain; version=0.0.4"),
        (b"Content-Length: 3\r\nContent-Encoding: identity\r\n", b"abc", ""),
        (b"X: a:b:c\r\nContent-Length: 3\r\n", b"abc", ""),
        (b"Content-Length: 3\r\nNo-Colon\r\n", b"abc", ""),
    ],
)
def test_headers_of_a_counted_body(head: bytes, body: bytes, content_type: str) -> None:
    assert read(OK + head + b"\r\n" + body) == Response(content_type, body, True)


@pytest.mark.parametrize(
    ("data", "closes"),
    [
        (OK + b"Content-Length: 0\r\n\r\n", False),
        (OK + b"Connection: keep-alive\r\nContent-Length: 0\r\n\r\n", False),
        (OK + b"Connection: Close\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (OK + b"Content-Length: 0\r\n\r\nHTTP/1.1 200 OK", True),
    ],
)
def test_whether_the_connection_can_be_used_again(data: bytes, closes: bool) -> None:
    reader = ResponseReader(1000, 1000)
    assert reader.feed(data) is not None
    assert reader.closes is closes


@pytest.mark.parametrize(
    ("chunks", "body"),
    [
        (b"0\r\n\r\n", b""),
        (b"3\r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"A\r\n0123456789\r\n0\r\n\r\n", b"0123456789"),
        (b"a\r\n0123456789\r\n0\r\n\r\n", b"0123456789"),
        (b"03\r\nabc\r\n000\r\n\r\n", b"abc"),
        (b"3;name=value\r\nabc\r\n0;x\r\n\r\n", b"abc"),
        (b"3 \r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"3\r\na\r\n\r\n0\r\n\r\n", b"a\r\n"),  # a line feed inside a chunk is data
        (b"3\r\nabc\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", b"abc"),
    ],
)
def test_chunks(chunks: bytes, body: bytes) -> None:
    """RFC 9112, section 7.1."""
    assert read(OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks) == Response("", body, True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\r\n\r\n", DownReason.NOT_EXPOSITION),
        (b"HTTP/2 200 OK\r\n\r\n", DownReason.NOT_EXPOSITION),
        (b"HTTP/1.1\r\n\r\n", DownReason.NOT_EXPOSITION),
        (b"HTTP/1.1 OK\r\n\r\n", DownReason.NOT_EXPOSITION),
        (b"HTTP/1.1 \xb200 OK\r\n\r\n", DownReason.NOT_EXPOSITION),  # a digit, and no number
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 9, DownReason.NOT_EXPOSITION),
        (b"HTTP/1.1 301 Moved\r\nLocation: /x\r\n\r\n", DownReason.REDIRECT),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", DownReason.REDIRECT),
        (b"HTTP/1.1 401 No\r\n\r\n", DownReason.AUTH),
        (b"HTTP/1.1 403 No\r\n\r\n", DownReason.AUTH),
        (b"HTTP/1.1 407 No\r\n\r\n", DownReason.AUTH),
        (b"HTTP/1.1 404 No\r\n\r\n", DownReason.HTTP_STATUS),
        (b"HTTP/1.1 500 No\r\n\r\n", DownReason.HTTP_STATUS),
        (b"HTTP/1.1 204 No Content\r\n\r\n", DownReason.HTTP_STATUS),
        (OK + b"Content-Encoding: br\r\n\r\n", DownReason.BAD_ENCODING),
        (OK + b"Content-Encoding: gzip, gzip\r\n\r\n", DownReason.BAD_ENCODING),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", DownReason.BAD_ENCODING),
        (OK + b"Content-Length: -1\r\n\r\n", DownReason.BAD_FORMAT),
        (OK + b"Content-Length: 1, 1\r\n\r\n", DownReason.BAD_FORMAT),
        (OK + b"Content-Length: \xb2\r\n\r\n", DownReason.BAD_FORMAT),
        (OK + b"Content-Length:\r\n\r\n", DownReason.BAD_FORMAT),
        (OK + b"Content-Length: 1001\r\n\r\n", DownReason.TOO_LARGE),
        (b"H" * (HEAD_BYTES_MAX + 1), DownReason.TOO_LARGE),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\n", DownReason.BAD_FORMAT),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", DownReason.BAD_FORMAT),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n\r\n", DownReason.BAD_FORMAT),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n123456789\r\n", DownReason.BAD_FORMAT),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n", DownReason.BAD_FORMAT),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n3e9\r\n", DownReason.TOO_LARGE),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 4096, DownReason.BAD_FORMAT),
    ],
)
def test_responses_that_are_refused(data: bytes, reason: DownReason) -> None:
    assert failure(data).reason is reason


def test_a_body_of_exactly_the_limit_is_read() -> None:
    assert read(OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000) is not None
    assert read(OK + b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n") is not None


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader = ResponseReader(1000, 1000)
    assert reader.feed(OK + b"\r\na 1\n") is None
    assert reader.feed(b"b 2\n") is None
    assert reader.finish() == Response("", b"a 1\nb 2\n", False)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", DownReason.CLOSED),
        (b"HTTP/1.1 200", DownReason.TRUNCATED),
        (OK + b"Content-Length: 5\r\n\r\nabc", DownReason.TRUNCATED),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", DownReason.TRUNCATED),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", DownReason.TRUNCATED),
        (b"HTTP/1.1 100 Continue\r\n\r\n", DownReason.TRUNCATED),
    ],
)
def test_a_connection_that_closes_too_early(data: bytes, reason: DownReason) -> None:
    reader = ResponseReader(1000, 1000)
    assert reader.feed(data) is None
    with pytest.raises(FetchFailed) as caught:
        reader.finish()
    assert caught.value.reason is reason


def test_a_peer_that_never_ends_its_body_is_cut_off() -> None:
    reader = ResponseReader(1000, 1000)
    reader.feed(OK + b"\r\n")
    reader.feed(b"x" * 1000)
    with pytest.raises(FetchFailed) as caught:
        reader.feed(b"x" * HEAD_BYTES_MAX)
    assert caught.value.reason is DownReason.TOO_LARGE


PACKED = gzip.compress(b"a" * 1000, mtime=0)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (gzip.compress(b"", mtime=0), b""),
        (PACKED, b"a" * 1000),
        (gzip.compress(b"ab", mtime=0) + gzip.compress(b"cd", mtime=0), b"abcd"),
        (gzip.compress(b"ab", mtime=0) + b"\0" * 10, b"ab"),  # padding, as tar and tapes leave it
        (b"".join(gzip.compress(b"x", mtime=0) for _ in range(16)), b"x" * 16),
    ],
)
def test_gzip_bodies(data: bytes, expected: bytes) -> None:
    assert gunzip(data, 1000) == expected


@pytest.mark.parametrize(
    ("data", "bytes_max", "reason"),
    [
        (PACKED, 999, DownReason.TOO_LARGE),
        (gzip.compress(b"a" * 600, mtime=0) + gzip.compress(b"a" * 600, mtime=0), 1000, DownReason.TOO_LARGE),
        (PACKED[:-1], 1000, DownReason.TRUNCATED),
        (PACKED[:10], 1000, DownReason.TRUNCATED),
        (PACKED[:-8] + b"\0" * 8, 1000, DownReason.BAD_ENCODING),  # the checksum does not fit
        (b"neither gzip nor anything else", 1000, DownReason.BAD_ENCODING),
        (zlib.compress(b"zlib's own format"), 1000, DownReason.BAD_ENCODING),
        (b"".join(gzip.compress(b"x", mtime=0) for _ in range(17)), 1000, DownReason.BAD_ENCODING),
    ],
)
def test_gzip_bodies_that_are_refused(data: bytes, bytes_max: int, reason: DownReason) -> None:
    with pytest.raises(FetchFailed) as caught:
        gunzip(data, bytes_max)
    assert caught.value.reason is reason


def test_the_limit_of_an_unpacked_body_is_its_own() -> None:
    data = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED)
    assert read(data, raw_bytes_max=100, decoded_bytes_max=1000) == Response("", b"a" * 1000, True)
    with pytest.raises(FetchFailed, match="999 bytes unpacked"):
        read(data, raw_bytes_max=100, decoded_bytes_max=999)
