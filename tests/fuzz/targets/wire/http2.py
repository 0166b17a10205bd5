"""Frames of HTTP/2 with the messages of a gRPC call: the same messages in one piece and byte by byte."""

from hpack import Encoder

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2_frames import STREAM_ID, frame
from ingest.transport.http2_response import ResponseReader

_MESSAGE = b"\0\0\0\0\5hello"
_SETTINGS = frame(frames.SETTINGS, 0, 0, b"\0\3\0\0\0\x64")
SEEDS = (
    _SETTINGS + frame(frames.DATA, 0, STREAM_ID, _MESSAGE) + frame(frames.DATA, 0, STREAM_ID, _MESSAGE * 3),
    _SETTINGS + frame(frames.DATA, frames.PADDED, STREAM_ID, b"\2" + _MESSAGE + b"\0\0"),
    _SETTINGS
    + frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, Encoder().encode([(":status", "200")]))
    + frame(frames.PING, 0, 0, b"12345678")
    + frame(frames.HEADERS, 5, STREAM_ID, Encoder().encode([("grpc-status", "16"), ("grpc-message", "no%20way")])),
    _SETTINGS + frame(frames.HEADERS, 0, STREAM_ID, b"\x88") + frame(frames.CONTINUATION, 4, STREAM_ID, b"\x88"),
    _SETTINGS + frame(frames.RST_STREAM, 0, STREAM_ID, b"\0\0\0\x08") + frame(frames.GOAWAY, 0, 0, bytes(8) + b"bye"),
    _SETTINGS + frame(frames.WINDOW_UPDATE, 0, STREAM_ID, b"\0\0\1\0"),
)


def target(data: bytes) -> None:
    whole, cut = _read([data]), _read([data[at : at + 1] for at in range(len(data))])
    assert whole == cut


def _read(parts: list[bytes]) -> tuple[list[bytes], str]:
    reader = ResponseReader(1 << 20, 10_000)
    end = ""
    try:
        for part in parts:
            reader.feed(part)
    except CallEnded as error:
        end = str(error.reason)
    except ValueError:
        end = "not HTTP/2"
    return reader.pop_messages(), end
