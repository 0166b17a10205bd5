"""Header blocks of a client's calls: what is known of one is what HPACK says of it, whatever the table is by then."""

import pytest
from hpack import Encoder, NeverIndexedHeaderTuple
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.transport import http2_frames as frames
from ingest.transport.http2_frames import Http2Error, frame
from ingest.transport.http2_requests import Held, RequestReader

PREFACE = frames.PREFACE + frame(frames.SETTINGS, 0, 0, b"")
REQUEST = [(b":method", b"POST"), (b":path", b"/"), (b":scheme", b"http")]
MORE = st.lists(st.tuples(st.sampled_from([b"te", b"grpc-timeout", b"x-a"]), st.sampled_from([b"1", b"2", b"y" * 60])))
CALLS = st.lists(st.tuples(MORE, st.booleans(), st.sampled_from([None, 0, 64, 4096])), min_size=1, max_size=30)


@given(CALLS)
@example([*[([(b"x-a", b"1")], False, None)] * 2, *[([(b"x-a", b"2")], False, None)] * 2])
def test_each_call_has_the_headers_that_its_client_has_sent(calls) -> None:
    """With fields that join the table, fields that must not, tables of another size, and blocks that come again."""
    encoder, reader = Encoder(), RequestReader(Held(10_000))
    reader.feed(PREFACE)
    for number, (more, never, size) in enumerate(calls):
        if size is not None:
            encoder.header_table_size = size
        sent = REQUEST + [NeverIndexedHeaderTuple(*pair) if never else pair for pair in more]
        block = encoder.encode(sent, huffman=never)
        reader.feed(frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 2 * number + 1, block))
        (stream,) = reader.pop_opened()
        assert stream.headers == dict(sent)
        reader.close(stream)


def test_a_block_that_comes_again_is_not_unpacked_again(monkeypatch) -> None:
    encoder, reader = Encoder(), RequestReader(Held(10_000))
    reader.feed(PREFACE)
    unpacked, unpack = [], reader._unpacked

    def counted(block: bytes) -> frames.Headers:
        unpacked.append(block)
        return unpack(block)

    monkeypatch.setattr(reader, "_unpacked", counted)
    for number in range(5):
        block = encoder.encode([*REQUEST, (b"te", b"trailers")])
        reader.feed(frame(frames.HEADERS, frames.END_HEADERS, 2 * number + 1, block))
    assert len(unpacked) == 2, "the first joins the table, the second is of what is in it"


@pytest.mark.parametrize("block", [b"\xff" * 12, b"\xff\xff", b"\x40\x85\xff", b"\xc0"])
def test_a_block_that_cannot_be_decoded_is_reported_in_the_same_words(block: bytes) -> None:
    """Those of HPACK's library hold the address of the block in memory."""
    reader = RequestReader(Held(10_000))
    reader.feed(PREFACE)
    with pytest.raises(Http2Error, match=r"^a header block that cannot be decoded$") as caught:
        reader.feed(frame(frames.HEADERS, frames.END_HEADERS, 1, block))
    assert caught.value.code == frames.COMPRESSION_ERROR
