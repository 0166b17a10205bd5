"""The framing of HTTP/1.1 does not depend on where the network cuts it."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.transport.http1_response import FetchFailed, Response, ResponseReader
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


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=3))
def test_any_bytes_give_a_response_or_a_reason(noise: bytes, cuts: list[int]) -> None:
    reader = ResponseReader(200, 200)
    places = sorted(cuts)
    try:
        for start, end in zip([0, *places], [*places, len(noise)], strict=True):
            reader.feed(b"HTTP/1.1 200 OK\r\n" + noise[start:end] if start == 0 else noise[start:end])
        reader.finish()
    except FetchFailed as failure:
        reason = failure.reason
        assert reason in DownReason


def test_bytes_after_the_response_close_the_connection() -> None:
    reader = ResponseReader(10_000, 10_000)
    response = reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\nHTTP/1.1")
    assert response is not None
    assert response.body == b"a 1\n"
    assert reader.closes
