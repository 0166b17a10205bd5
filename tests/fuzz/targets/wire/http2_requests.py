"""Frames of HTTP/2 with the calls of a client: the same calls and messages in one piece and byte by byte."""

from contextlib import suppress

from hpack import Encoder

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded, MessageReader
from ingest.transport.http2_frames import frame, number_frame, settings_frame
from ingest.transport.http2_requests import Held, RequestReader, Stream

_MESSAGE = b"\0\0\0\0\5hello"
_BLOCK = Encoder().encode(
    [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/a.B/C"),
        ("content-type", "application/grpc"),
        ("grpc-encoding", "gzip"),
        ("grpc-timeout", "10S"),
    ]
)
_CALL = frame(frames.HEADERS, frames.END_HEADERS, 1, _BLOCK)
_BEGIN = settings_frame((frames.INITIAL_WINDOW, 1000), (frames.ENABLE_PUSH, 0))
SEEDS = (
    _BEGIN + _CALL + frame(frames.DATA, 0, 1, _MESSAGE) + frame(frames.DATA, frames.END_STREAM, 1, _MESSAGE * 3),
    _BEGIN + _CALL + frame(frames.DATA, frames.PADDED, 1, b"\2" + _MESSAGE + b"\0\0"),
    _BEGIN + _CALL + number_frame(frames.RST_STREAM, 1, 8) + frame(frames.DATA, 0, 1, _MESSAGE),
    _BEGIN
    + frame(frames.HEADERS, 0, 1, _BLOCK[:9])
    + frame(frames.CONTINUATION, frames.END_HEADERS, 1, _BLOCK[9:])
    + frame(frames.HEADERS, 5, 3, b"\xbe\xbf\xc0\x83\x86"),
    _BEGIN + _CALL + number_frame(frames.WINDOW_UPDATE, 1, 256) + number_frame(frames.WINDOW_UPDATE, 0, 256),
    _BEGIN + frame(frames.PING, 0, 0, b"12345678") + frame(frames.GOAWAY, 0, 0, bytes(8) + b"bye") + _CALL,
    _BEGIN + frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff" * 12),
)


def target(data: bytes) -> None:
    whole, cut = _read([data]), _read([data[at : at + 1] for at in range(len(data))])
    assert whole == cut


def _read(parts: list[bytes]) -> tuple[object, ...]:
    """Calls with their headers and bytes, what is answered, and how it ends."""
    held = Held(1 << 20)
    reader, end = RequestReader(held), ""
    reader.feed(frames.PREFACE)
    try:
        for part in parts:
            reader.feed(part)
    except ValueError as error:
        end = str(error)
    streams = reader.pop_opened()
    replies = reader.pop_replies()
    assert held.bytes_now == sum(len(stream.received) for stream in streams)
    calls = [
        (stream.number, stream.headers, stream.is_whole, stream.credit, _taken(reader, stream)) for stream in streams
    ]
    for stream in streams:
        reader.close(stream)
    assert held.bytes_now == 0
    return calls, replies, reader.credit, end


def _taken(reader: RequestReader, stream: Stream) -> tuple[bytes, list[bytes]]:
    data = reader.take(stream)
    messages = MessageReader(1000, takes_compressed=True)
    with suppress(CallEnded):
        messages.feed(data, 0, len(data))
    return data, messages.pop()
