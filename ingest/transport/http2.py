"""One gRPC call with a stream of responses, on an HTTP/2 connection of its own (RFC 9113, gRPC over HTTP/2).

A library costs some hundred microseconds a message, and a switch sends thousands of messages each interval. Here all
that is in the kernel's buffer is read at once, and a message costs a slice. To let bytes collect in that buffer, the
connection pauses after each read.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from hpack import Encoder, NeverIndexedHeaderTuple

from common.tls import peer_expiry_s
from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2_frames import STREAM_ID, FrameReader, frame
from telemetry.samples import DownReason

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_ENABLE_PUSH, _INITIAL_WINDOW = 2, 4
_CANCEL = 8
_READ_BYTES = 256 * 1024
_UNSENT_BYTES_MAX = 64 * 1024
"""While more than this waits to be sent, nothing more is read that we would have to answer."""
_LINGER_S = 5.0
_buffer = memoryview(bytearray(_READ_BYTES))
"""Of all connections: what is read into it is copied out before the next read."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """metadata: after gRPC's own headers. read_pause_s: how long the connection pauses after a read.

    A peer that sends nothing for ``keepalive_s`` is pinged, and has ``ping_timeout_s`` to answer.
    """

    authority: str
    scheme: str
    metadata: Sequence[tuple[str, str]]
    message_bytes_max: int
    read_pause_s: float
    keepalive_s: float
    ping_timeout_s: float


class Call(asyncio.BufferedProtocol):
    """``POST method`` with one message, and the stream of messages that answers it."""

    def __init__(self, method: str, request: bytes, settings: CallSettings) -> None:
        """CallEnded for a request larger than HTTP/2's default window, which needs no credit from the peer."""
        if len(request) + 5 > frames.WINDOW_DEFAULT:
            raise CallEnded(
                DownReason.TOO_LARGE, f"a request of {len(request)} bytes: at most {frames.WINDOW_DEFAULT - 5}"
            )
        self._method, self._request, self._settings = method, request, settings
        self._window = max(2**20, 2 * settings.message_bytes_max)
        self._reader = FrameReader(self._window, settings.message_bytes_max)
        self._arrived = asyncio.Event()
        self._ended: CallEnded | None = None
        self._received_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._paused = self._choked = self._reading_paused = False
        self._transport: asyncio.Transport | None = None

    @property
    def settings_received(self) -> bool:
        """Whether the peer has spoken HTTP/2."""
        return self._reader.settings_received

    @property
    def certificate_expires_s(self) -> float | None:
        """When the certificate of the peer expires, see ``peer_expiry_s``."""
        return None if self._transport is None else peer_expiry_s(self._transport)

    async def read(self) -> list[bytes]:
        """The messages since the last read, at least one. Raises CallEnded after the last one."""
        while not self._reader.messages:
            if self._ended is not None:
                raise self._ended
            self._arrived.clear()
            await self._arrived.wait()
        messages = self._reader.pop_messages()
        if self._paused:
            asyncio.get_running_loop().call_later(self._settings.read_pause_s, self._resume)
        return messages

    def cancel(self) -> None:
        """Ends the call; idempotent."""
        if self._transport is not None and not self._transport.is_closing():
            reset = frame(frames.RST_STREAM, 0, STREAM_ID, _CANCEL.to_bytes(4, "big"))
            self._transport.write(reset + frame(frames.GOAWAY, 0, 0, bytes(8)))
        self._end(DownReason.CLOSED, "cancelled")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = self._transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=_UNSENT_BYTES_MAX)
        self._received_s = asyncio.get_running_loop().time()
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
        parts = [body[at : at + frames.FRAME_BYTES_MAX] for at in range(0, len(body), frames.FRAME_BYTES_MAX)]
        transport.write(
            _PREFACE
            + frame(frames.SETTINGS, 0, 0, settings)
            + frame(frames.WINDOW_UPDATE, 0, 0, (self._window - frames.WINDOW_DEFAULT).to_bytes(4, "big"))
            + frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, headers)
            + b"".join(frame(frames.DATA, 0, STREAM_ID, part) for part in parts)
        )
        self._start_timer(self._settings.keepalive_s, self._ping_if_quiet)

    def get_buffer(self, sizehint: int) -> memoryview:
        return _buffer

    def buffer_updated(self, nbytes: int) -> None:
        before_s, self._received_s = self._received_s, asyncio.get_running_loop().time()
        if self._ended is not None:
            return
        self._reader.allow_idle_frames(self._received_s - before_s)
        ended: CallEnded | None = None
        try:
            self._reader.feed(_buffer[:nbytes])
        except CallEnded as error:
            ended = error
        except ValueError as error:
            ended = CallEnded(DownReason.BAD_FORMAT, f"not HTTP/2: {error}")
        if replies := self._reader.pop_replies():
            self._write(replies)
        if ended is not None:
            self._end(ended.reason, ended.message)
        if self._reader.messages:
            self._arrived.set()
            self._paused = True
            self._update_reading()

    def pause_writing(self) -> None:
        """More than ``_UNSENT_BYTES_MAX`` wait: a peer that does not read our answers gets no more of them."""
        self._choked = True
        self._update_reading()

    def resume_writing(self) -> None:
        self._choked = False
        self._update_reading()

    def eof_received(self) -> None:
        """The connection is closed; ``connection_lost`` follows."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_as_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _end_as_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self._end(DownReason.TLS, str(exc))
        elif isinstance(exc, ConnectionError):
            self._end(DownReason.RESET, str(exc))
        elif isinstance(exc, TimeoutError):
            self._end(DownReason.TIMEOUT, str(exc))
        else:
            self._end(DownReason.CLOSED, self._reader.goaway or str(exc or "the connection was closed"))

    def _end(self, reason: DownReason, message: str) -> None:
        """The first reason is kept."""
        if self._ended is not None:
            return
        self._ended = CallEnded(reason, message)
        self._arrived.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is None:
            return
        if self._choked:
            self._transport.abort()
        else:
            self._transport.close()  # sends what waits, for which a peer that never reads would keep us for ever
            self._start_timer(_LINGER_S, self._transport.abort)

    def _resume(self) -> None:
        self._paused = False
        self._update_reading()

    def _update_reading(self) -> None:
        """Reads unless what came is not used yet, or what we answered is not sent yet."""
        paused = self._paused or self._choked
        if self._ended is not None or self._transport is None or paused is self._reading_paused:
            return
        self._reading_paused = paused
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _start_timer(self, after_s: float, act: Callable[[], None]) -> None:
        self._timer = asyncio.get_running_loop().call_later(after_s, act)

    def _ping_if_quiet(self) -> None:
        """A quiet connection may be dead: TCP alone would notice after minutes."""
        quiet_s = asyncio.get_running_loop().time() - self._received_s
        if quiet_s < self._settings.keepalive_s or self._paused:
            self._start_timer(max(0.1, self._settings.keepalive_s - quiet_s), self._ping_if_quiet)
            return
        self._write(frame(frames.PING, 0, 0, b"fabricsc"))
        pinged_s = asyncio.get_running_loop().time()
        self._start_timer(self._settings.ping_timeout_s, lambda: self._check_answer(pinged_s))

    def _check_answer(self, pinged_s: float) -> None:
        if self._received_s >= pinged_s:
            self._ping_if_quiet()
            return
        fault = "read what we send" if self._choked else "answer pings"
        self._end(DownReason.TIMEOUT, f"keepalive: the peer does not {fault}")
        if self._transport is not None:
            self._transport.abort()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
