"""A connection of HTTP/2, whichever end of it we are: what is read, what is answered, and whether the peer still lives.

A library costs some hundred microseconds a message, and a switch sends thousands of messages each interval. Here all
that is in the kernel's buffer is read at once, and a message costs a slice. To let bytes collect in that buffer, the
connection pauses after a read.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import cast

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2_frames import FrameReader, frame

READ_BYTES = 256 * 1024
_UNSENT_BYTES_MAX = 64 * 1024
"""While more than this waits to be sent, nothing more is read that we would have to answer."""
_LINGER_S = 5.0
_buffer = memoryview(bytearray(READ_BYTES))
"""Of all connections: what is read into it is copied out before the next read."""


class Connection(asyncio.BufferedProtocol, ABC):
    """Feeds a reader, sends its replies, and pings a peer that is quiet.

    A peer of which no whole frame came for ``keepalive_s`` is pinged, and has ``ping_timeout_s`` to answer.
    """

    def __init__(self, reader: FrameReader, keepalive_s: float, ping_timeout_s: float) -> None:
        self._frames = reader
        self._keepalive_s, self._ping_timeout_s = keepalive_s, ping_timeout_s
        self._read_s = self._heard_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._paused = self._choked = self._reading_paused = False
        self._is_closing = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_UNSENT_BYTES_MAX)
        self._read_s = self._heard_s = asyncio.get_running_loop().time()
        self._write(self._opening())
        self._start_timer(self._keepalive_s, self._ping_if_quiet)

    def get_buffer(self, sizehint: int) -> memoryview:
        return _buffer

    def buffer_updated(self, nbytes: int) -> None:
        now_s = asyncio.get_running_loop().time()
        before_s, self._read_s = self._read_s, now_s
        if self._is_closing:
            return
        self._frames.allow_idle_frames(now_s - before_s)
        fault: CallEnded | ValueError | None = None
        frames_before = self._frames.frames_read
        try:
            self._frames.feed(_buffer[:nbytes])
        except (CallEnded, ValueError) as error:
            fault = error
        if self._frames.frames_read > frames_before:
            self._heard_s = now_s
        if replies := self._frames.pop_replies():
            self._write(replies)
        self._after_read(nbytes)
        if fault is not None:
            self._fail(fault)

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
        self._lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    @abstractmethod
    def _opening(self) -> bytes:
        """What we send first."""

    @abstractmethod
    def _after_read(self, nbytes: int) -> None:
        """Something was read."""

    @abstractmethod
    def _fail(self, fault: CallEnded | ValueError) -> None:
        """What was read ends the connection."""

    @abstractmethod
    def _lost(self, exc: Exception | None) -> None:
        """The connection is gone."""

    @abstractmethod
    def _time_out(self, fault: str) -> None:
        """The peer does not live."""

    def _close(self) -> None:
        """Sends what waits, and closes. Idempotent."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is None:
            return
        if self._choked:
            self._transport.abort()
        else:
            self._transport.close()  # sends what waits, for which a peer that never reads would keep us for ever
            self._start_timer(_LINGER_S, self._transport.abort)

    def _pause(self) -> None:
        self._paused = True
        self._update_reading()

    def _resume_after(self, pause_s: float) -> None:
        asyncio.get_running_loop().call_later(pause_s, self._resume)

    def _resume(self) -> None:
        self._paused = False
        self._update_reading()

    def _update_reading(self) -> None:
        """Reads unless what came is not used yet, or what we answered is not sent yet."""
        paused = self._paused or self._choked
        if self._is_closing or self._transport is None or paused is self._reading_paused:
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
        quiet_s = asyncio.get_running_loop().time() - self._heard_s
        if quiet_s < self._keepalive_s or self._paused:
            self._start_timer(max(0.1, self._keepalive_s - quiet_s), self._ping_if_quiet)
            return
        self._write(frame(frames.PING, 0, 0, b"fabricsc"))
        pinged_s = asyncio.get_running_loop().time()
        self._start_timer(self._ping_timeout_s, lambda: self._check_answer(pinged_s))

    def _check_answer(self, pinged_s: float) -> None:
        if self._heard_s >= pinged_s:
            self._ping_if_quiet()
            return
        self._time_out("read what we send" if self._choked else "answer pings")

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
