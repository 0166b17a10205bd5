"""A gRPC call of a device that sends all it has at once, in frames as large as they may be.

grpcio sends message by message and needs longer for each than a receiver does, so that nothing would gather.
"""

import socket
from collections.abc import Sequence

from hpack import Encoder

from ingest.transport.http2_frames import (
    DATA,
    ENABLE_PUSH,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES_MAX,
    HEADERS,
    INITIAL_WINDOW,
    PREFACE,
    STREAM_ID,
    WINDOW_DEFAULT,
    FrameReader,
    Headers,
    frame,
    settings_frame,
)

_READ_BYTES = 1 << 16


def send_call(port: int, method: str, messages: Sequence[bytes]) -> None:
    """The messages of one call to 127.0.0.1, as fast as they are read. RuntimeError when it does not end with OK."""
    data = b"".join(b"\0" + len(message).to_bytes(4, "big") + message for message in messages)
    answer, sent = _Answer(), 0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(PREFACE + settings_frame((ENABLE_PUSH, 0)) + _headers(method))
        while not answer.is_ended:
            size = min(answer.credit, len(data) - sent)
            if size > 0:
                connection.sendall(_frames(data, sent, sent + size))
                answer.use(size)
                sent += size
            else:
                received = connection.recv(_READ_BYTES)
                if not received:
                    break
                answer.feed(received)
                connection.sendall(answer.pop_replies())
    if answer.status != b"0":
        raise RuntimeError(f"the call ended with status {answer.status!r}, after {sent} of {len(data)} bytes")


def _headers(method: str) -> bytes:
    named = [(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "127.0.0.1")]
    packed = Encoder().encode([*named, ("content-type", "application/grpc"), ("te", "trailers")])
    return frame(HEADERS, END_HEADERS, STREAM_ID, packed)


def _frames(data: bytes, begin: int, end: int) -> bytes:
    starts = range(begin, end, FRAME_BYTES_MAX)
    return b"".join(
        frame(DATA, END_STREAM if stop == len(data) else 0, STREAM_ID, data[start:stop])
        for start in starts
        if (stop := min(start + FRAME_BYTES_MAX, end))
    )


class _Answer(FrameReader):
    """What comes back. credit: bytes that may still be sent. status: of the call, once it is ended."""

    def __init__(self) -> None:
        super().__init__(_READ_BYTES)
        self._connection = self._stream = self._initial = WINDOW_DEFAULT
        self.is_ended, self.status = False, b""

    @property
    def credit(self) -> int:
        return min(self._connection, self._stream)

    def use(self, size: int) -> None:
        self._connection -= size
        self._stream -= size

    def _read_settings(self, body: bytes) -> None:
        for at in range(0, len(body), 6):
            if int.from_bytes(body[at : at + 2], "big") == INITIAL_WINDOW:
                initial = int.from_bytes(body[at + 2 : at + 6], "big")
                self._stream += initial - self._initial
                self._initial = initial

    def _read_credit(self, stream: int, size: int) -> None:
        if stream:
            self._stream += size
        else:
            self._connection += size

    def _read_headers(self, stream: int, headers: Headers) -> None:
        self.status = dict(headers).get(b"grpc-status", b"")

    def _end_stream(self, stream: int) -> None:
        self.is_ended = True

    def _read_reset(self, stream: int, code: int) -> None:
        self.is_ended = True

    def _read_goaway(self, body: bytes) -> None:
        self.is_ended = True

    def _read_data(self, stream: int, length: int, data: bytes, at: int, end: int) -> None:
        """No switch reads an answer."""

    def _check_stream(self, kind: int, stream: int) -> None:
        """Whatever there is."""

    def _count_idle(self, frames: int = 1) -> None:
        """It may give credit as often as it likes."""
