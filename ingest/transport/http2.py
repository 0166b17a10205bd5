"""One gRPC call that streams towards us, on an HTTP/2 connection of its own (RFC 9113, gRPC over HTTP/2).

A library's price is per message: some hundred microseconds, where a switch sends thousands of messages each interval.
Here what lies in the kernel's buffer is taken at once, and what a message costs is a slice. For that the connection
rests for a moment after each read.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import cast

from hpack import Decoder, Encoder, HPACKError, NeverIndexedHeaderTuple

from ingest.transport.grpc_messages import CallEnded, Inbox, ended_by
from telemetry.samples import Down

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD = Struct(">HBBBI")
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM = _ACK = 1
_END_HEADERS, _PADDED, _PRIORITY = 4, 8, 32
_ENABLE_PUSH, _INITIAL_WINDOW = 2, 4
_FRAME_MAX, _HEADERS_MAX, _WINDOW_DEFAULT = 16_384, 65_536, 65_535
_STREAM = 1
_CANCEL = 8
_READ_BYTES = 256 * 1024
_buffer = memoryview(bytearray(_READ_BYTES))
"""Of all connections: what is read into it is taken out before the next read."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """metadata: after gRPC's own headers. rest_s: how long the connection rests after a read.

    A peer that sends nothing for ``keepalive_s`` is pinged, and has ``answer_s`` to answer.
    """

    authority: str
    scheme: str
    metadata: Sequence[tuple[str, str]]
    message_bytes_max: int
    rest_s: float
    keepalive_s: float
    answer_s: float


class Call(asyncio.BufferedProtocol):
    """``POST method`` with one message, and whatever comes back. ``settled``: the peer has spoken HTTP/2."""

    def __init__(self, method: str, request: bytes, settings: CallSettings) -> None:
        """CallEnded for a request larger than HTTP/2 lets pass unasked."""
        if len(request) + 5 > _WINDOW_DEFAULT:
            raise CallEnded(Down.TOO_LARGE, f"a request of {len(request)} bytes: at most {_WINDOW_DEFAULT - 5}")
        self._method, self._request, self._settings = method, request, settings
        self._window = max(2**20, 2 * settings.message_bytes_max)
        self._taken_bytes = 0
        self._rest = b""
        self._block: bytearray | None = None
        self._decoder = Decoder(max_header_list_size=_HEADERS_MAX)
        self._block_ends_stream = False
        self._inbox = Inbox(settings.message_bytes_max)
        self._arrived = asyncio.Event()
        self._ended: CallEnded | None = None
        self._parting = ""
        self._heard_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._resting = False
        self._transport: asyncio.Transport | None = None
        self.settled = False

    async def read(self) -> list[bytes]:
        """The messages that have come since, at least one. Raises CallEnded behind the last one."""
        while not self._inbox.messages:
            if self._ended is not None:
                raise self._ended
            self._arrived.clear()
            await self._arrived.wait()
        messages, self._inbox.messages = self._inbox.messages, []
        if self._resting:
            asyncio.get_running_loop().call_later(self._settings.rest_s, self._wake)
        return messages

    def cancel(self) -> None:
        """Ends the call; idempotent."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_frame(_RESET, 0, _STREAM, _CANCEL.to_bytes(4, "big")) + _goodbye())
        self._end(Down.CLOSED, "cancelled")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = self._transport = cast(asyncio.Transport, transport)
        self._heard_s = asyncio.get_running_loop().time()
        own = ((_ENABLE_PUSH, 0), (_INITIAL_WINDOW, self._window))
        settings = b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in own)
        headers = Encoder().encode(
            [
                (":method", "POST"),
                (":scheme", self._settings.scheme),
                (":path", self._method),
                (":authority", self._settings.authority),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
                ("user-agent", "fabricscope"),
                *(NeverIndexedHeaderTuple(*pair) for pair in self._settings.metadata),  # there are passwords among them
            ]
        )
        body = b"\0" + len(self._request).to_bytes(4, "big") + self._request
        parts = [body[at : at + _FRAME_MAX] for at in range(0, len(body), _FRAME_MAX)]
        transport.write(
            _PREFACE
            + _frame(_SETTINGS, 0, 0, settings)
            + _frame(_WINDOW, 0, 0, (self._window - _WINDOW_DEFAULT).to_bytes(4, "big"))
            + _frame(_HEADERS, _END_HEADERS, _STREAM, headers)
            + b"".join(_frame(_DATA, 0, _STREAM, part) for part in parts)
        )
        self._watch_peer(self._settings.keepalive_s, self._ping)

    def get_buffer(self, sizehint: int) -> memoryview:
        return _buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._heard_s = asyncio.get_running_loop().time()
        data = self._rest + _buffer[:nbytes]
        try:
            self._frames(data)
        except CallEnded as ended:
            self._end(ended.down, ended.words)
        except ValueError as error:
            self._end(Down.BAD_FORMAT, f"not HTTP/2: {error}")
        if self._inbox.messages or self._ended is not None:
            self._arrived.set()
        if self._inbox.messages and self._ended is None and not self._resting:
            assert self._transport is not None
            self._resting = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """The connection is closed, and ``connection_lost`` says so."""

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self._end(Down.TLS, str(exc))
        elif isinstance(exc, ConnectionError):
            self._end(Down.RESET, str(exc))
        elif isinstance(exc, TimeoutError):
            self._end(Down.TIMEOUT, str(exc))
        else:
            self._end(Down.CLOSED, self._parting or str(exc or "the connection was closed"))

    def _end(self, down: Down, words: str) -> None:
        """The first reason stands."""
        self._ended = self._ended or CallEnded(down, words)
        self._arrived.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.close()

    def _wake(self) -> None:
        self._resting = False
        if self._ended is None and self._transport is not None:
            self._transport.resume_reading()

    def _watch_peer(self, after_s: float, act: Callable[[], None]) -> None:
        self._timer = asyncio.get_running_loop().call_later(after_s, act)

    def _ping(self) -> None:
        """A connection that says nothing may be dead: TCP alone would not tell for minutes."""
        quiet_s = asyncio.get_running_loop().time() - self._heard_s
        if quiet_s < self._settings.keepalive_s or self._resting:
            self._watch_peer(max(0.1, self._settings.keepalive_s - quiet_s), self._ping)
            return
        self._write(_frame(_PING, 0, 0, b"fabricsc"))
        asked_s = asyncio.get_running_loop().time()
        self._watch_peer(self._settings.answer_s, lambda: self._pinged(asked_s))

    def _pinged(self, asked_s: float) -> None:
        if self._heard_s >= asked_s:
            self._ping()
            return
        self._end(Down.TIMEOUT, "keepalive: the peer does not answer pings")
        if self._transport is not None:
            self._transport.abort()

    def _write(self, frames: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frames)

    def _frames(self, data: bytes) -> None:
        at, size = 0, len(data)
        while size - at >= 9 and self._ended is None:
            high, low, kind, flags, stream = _HEAD.unpack_from(data, at)
            length = high << 8 | low
            if length > _FRAME_MAX:
                raise ValueError(f"a frame of {length} bytes")
            end = at + 9 + length
            if end > size:
                break
            if kind == _DATA and not flags & ~_END_STREAM:
                self._inbox.take(data, at + 9, end)
            else:
                self._frame(kind, flags, stream & 0x7FFFFFFF, data[at + 9 : end])
            self._taken_bytes += length if kind == _DATA else 0
            if kind == _DATA and flags & _END_STREAM:
                raise CallEnded(Down.CLOSED, "the target ended the stream without a status")
            at = end
        self._rest = data[at:]
        if 2 * self._taken_bytes > self._window:
            more, self._taken_bytes = self._taken_bytes.to_bytes(4, "big"), 0
            self._write(_frame(_WINDOW, 0, 0, more) + _frame(_WINDOW, 0, _STREAM, more))

    def _frame(self, kind: int, flags: int, stream: int, body: bytes) -> None:
        if self._block is not None and kind != _CONTINUATION:
            raise ValueError("a header block that is cut off")
        if kind == _DATA:
            body = _without_padding(body, flags)
            self._inbox.take(body, 0, len(body))
        elif kind == _HEADERS:
            body = _without_padding(body, flags)
            self._block = bytearray(body[5:] if flags & _PRIORITY else body)
            self._block_ends_stream = bool(flags & _END_STREAM)
            self._headers(flags)
        elif kind == _CONTINUATION:
            if self._block is None:
                raise ValueError("a continuation of nothing")
            self._block += body
            self._headers(flags)
        elif kind == _SETTINGS and not flags & _ACK:
            self.settled = True
            self._write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            self._write(_frame(_PING, _ACK, 0, body))
        elif kind == _RESET and stream == _STREAM:
            raise CallEnded(Down.CLOSED, f"the target reset the stream: code {int.from_bytes(body[:4], 'big')}")
        elif kind == _GOAWAY:
            self._go_away(body)

    def _go_away(self, body: bytes) -> None:
        last, code = int.from_bytes(body[:4], "big") & 0x7FFFFFFF, int.from_bytes(body[4:8], "big")
        self._parting = f"the target says goodbye: code {code} {body[8:200].decode('utf-8', 'replace')}".strip()
        if code or last < _STREAM:  # else what has begun may go on to its end
            raise CallEnded(Down.CLOSED, self._parting)

    def _headers(self, flags: int) -> None:
        assert self._block is not None
        if len(self._block) > _HEADERS_MAX:
            raise ValueError(f"a header block of more than {_HEADERS_MAX} bytes")
        if not flags & _END_HEADERS:
            return
        try:
            headers = {str(name): str(value) for name, value in self._decoder.decode(bytes(self._block))}
        except HPACKError as error:
            raise ValueError(f"header block: {error}") from error
        self._block = None
        status = headers.get(":status", "200")
        if "grpc-status" in headers:
            raise ended_by(headers["grpc-status"], headers.get("grpc-message", ""))
        if status != "200":
            down = Down.AUTH if status in ("401", "403") else Down.HTTP_STATUS
            raise CallEnded(down, f"HTTP status {status}")
        if self._block_ends_stream:
            raise CallEnded(Down.CLOSED, "the target ended the stream without a status")


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return _HEAD.pack(len(body) >> 8, len(body) & 255, kind, flags, stream) + body


def _goodbye() -> bytes:
    return _frame(_GOAWAY, 0, 0, bytes(8))


def _without_padding(body: bytes, flags: int) -> bytes:
    if not flags & _PADDED:
        return body
    if not body or body[0] >= len(body):
        raise ValueError("more padding than frame")
    return body[1 : len(body) - body[0]]
