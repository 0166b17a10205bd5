"""One gRPC call with a stream of responses, on an HTTP/2 connection of its own (RFC 9113, gRPC over HTTP/2)."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from hpack import Encoder, NeverIndexedHeaderTuple

from common.tls import peer_expiry_s
from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2_connection import Connection
from ingest.transport.http2_frames import STREAM_ID, frame, number_frame, settings_frame
from ingest.transport.http2_response import ResponseReader
from telemetry.samples import DownReason


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


class Call(Connection):
    """``POST method`` with one message, and the stream of messages that answers it."""

    def __init__(self, method: str, request: bytes, settings: CallSettings) -> None:
        """CallEnded for a request larger than HTTP/2's default window, which needs no credit from the peer."""
        if len(request) + 5 > frames.WINDOW_DEFAULT:
            raise CallEnded(
                DownReason.TOO_LARGE, f"a request of {len(request)} bytes: at most {frames.WINDOW_DEFAULT - 5}"
            )
        self._method, self._request, self._settings = method, request, settings
        self._window = max(2**20, 2 * settings.message_bytes_max)
        self._reader = ResponseReader(self._window, settings.message_bytes_max)
        super().__init__(self._reader, settings.keepalive_s, settings.ping_timeout_s)
        self._arrived = asyncio.Event()
        self._ended: CallEnded | None = None

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
            self._resume_after(self._settings.read_pause_s)
        return messages

    def cancel(self) -> None:
        """Ends the call; idempotent."""
        if self._transport is not None and not self._transport.is_closing():
            reset = number_frame(frames.RST_STREAM, STREAM_ID, frames.CANCEL)
            self._transport.write(reset + frame(frames.GOAWAY, 0, 0, bytes(8)))
        self._end(DownReason.CLOSED, "cancelled")

    def _opening(self) -> bytes:
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
        return (
            frames.PREFACE
            + settings_frame((frames.ENABLE_PUSH, 0), (frames.INITIAL_WINDOW, self._window))
            + number_frame(frames.WINDOW_UPDATE, 0, self._window - frames.WINDOW_DEFAULT)
            + frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, headers)
            + b"".join(frame(frames.DATA, 0, STREAM_ID, part) for part in parts)
        )

    def _after_read(self, nbytes: int) -> None:
        if self._reader.messages:
            self._arrived.set()
            self._pause()

    def _fail(self, fault: CallEnded | ValueError) -> None:
        if isinstance(fault, CallEnded):
            self._end(fault.reason, fault.message)
        else:
            self._end(DownReason.BAD_FORMAT, f"not HTTP/2: {fault}")

    def _lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self._end(DownReason.TLS, str(exc))
        elif isinstance(exc, ConnectionError):
            self._end(DownReason.RESET, str(exc))
        elif isinstance(exc, TimeoutError):
            self._end(DownReason.TIMEOUT, str(exc))
        else:
            self._end(DownReason.CLOSED, self._reader.goaway or str(exc or "the connection was closed"))

    def _time_out(self, fault: str) -> None:
        self._end(DownReason.TIMEOUT, f"keepalive: the peer does not {fault}")
        if self._transport is not None:
            self._transport.abort()

    def _end(self, reason: DownReason, message: str) -> None:
        """The first reason is kept."""
        if self._ended is None:
            self._ended = CallEnded(reason, message)
            self._arrived.set()
            self._close()
