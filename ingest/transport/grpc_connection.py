"""A connection to our gRPC server: its calls are handed to their handlers, and what these give is the answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_call import PeerGone, ServerCall
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.grpc_status import Refused, Status, response_headers, trailers
from ingest.transport.http2_connection import READ_BYTES, Connection
from ingest.transport.http2_frames import Http2Error, frame, number_frame
from ingest.transport.http2_requests import Held, RequestReader, Stream
from ingest.transport.peer import certificate_name
from ingest.transport.refusals import RefusalReason

HANDSHAKE_S = 10.0
"""For a client to begin HTTP/2."""
IDLE_S = 300.0
"""A client without a call for so long is sent away; it connects again when it has one."""
_KEEPALIVE_S, _PING_TIMEOUT_S = 60.0, 20.0  # a device that lost its power closes nothing
_DRAIN_S = 5.0
"""For what came of a call that its client has given up, until its handler is ended."""
_REASONS = {
    frames.FLOW_CONTROL_ERROR: RefusalReason.FLOW_CONTROL,
    frames.COMPRESSION_ERROR: RefusalReason.HEADERS,
    frames.ENHANCE_YOUR_CALM: RefusalReason.FLOOD,
}

Handler = Callable[[ServerCall], Awaitable[bytes | None]]
"""Gives the message that answers a call, None for an answer without one. Refused for another status than OK."""
log = structlog.get_logger("ingest")


@dataclass(frozen=True, slots=True)
class Serving:
    """What all connections of a server have in common.

    methods: by path. read_pause_s: after a read, for calls that stream: bytes collect meanwhile.
    held: what waits of all calls.
    """

    methods: Mapping[str, Handler]
    message_bytes_max: int
    read_pause_s: float
    held: Held


class Listeners(Protocol):
    """Who hears of a connection."""

    def opened(self, connection: "ServerConnection") -> None: ...
    def closed(self, connection: "ServerConnection") -> None: ...
    def began(self, call: asyncio.Task[None]) -> None: ...
    def refused(self, reason: RefusalReason) -> None: ...
    def shed(self) -> None:
        """More waits than may."""
        ...


class ServerConnection(Connection):
    """One client. address: its IP. calls: those whose handlers run."""

    def __init__(self, serving: Serving, server: Listeners, address: str) -> None:
        self._requests = RequestReader(serving.held)
        super().__init__(self._requests, _KEEPALIVE_S, _PING_TIMEOUT_S)
        self._serving, self._server = serving, server
        self._handshake: asyncio.TimerHandle | None = None
        self._idle_since_s = 0.0
        self._address, self._certificate = address, ""
        self.calls: dict[Stream, ServerCall] = {}
        self._tasks: dict[Stream, asyncio.Task[None]] = {}

    @property
    def is_idle(self) -> bool:
        return not self.calls and not self._requests.streams

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._server.opened(self)
        self._certificate = certificate_name(transport)
        loop = asyncio.get_running_loop()
        self._idle_since_s = loop.time()
        self._handshake = loop.call_later(HANDSHAKE_S, self._check_handshake)
        secured = transport.get_extra_info("ssl_object")
        if secured is not None and secured.selected_alpn_protocol() != "h2":
            self._end(RefusalReason.NOT_HTTP2, Http2Error("expected h2 (ALPN)"))

    def take(self, stream: Stream) -> bytes:
        data = self._requests.take(stream)
        if replies := self._requests.pop_replies():
            self._write(replies)
        return data

    def count_messages(self, stream: Stream, messages: int) -> None:
        try:
            self._requests.count_messages(stream, messages)
        except Http2Error as error:
            self._fail(error)

    def go_away(self) -> None:
        """No more calls are taken; those that are open may go on."""
        if not self._requests.is_closing:
            self._requests.is_closing = True
            self._write(self._goaway(frames.NO_ERROR, "the receiver stops"))

    def close(self) -> None:
        """Sends what waits. Idempotent."""
        self._close()
        self._lose_calls()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def make_way(self) -> None:
        """Another one needs its place."""
        self._end(RefusalReason.IDLE, Http2Error("too many connections, and no call on this one", frames.NO_ERROR))

    def _opening(self) -> bytes:
        return self._requests.opening()

    def _after_read(self, nbytes: int) -> None:
        for stream in self._requests.pop_opened():
            self._begin(stream)
        for stream in self._requests.pop_changed():
            self._notify(stream)
        for _ in range(self._requests.pop_refused()):
            self._server.refused(RefusalReason.STREAMS)
        if self._serving.held.bytes_now > self._serving.held.bytes_max:
            self._server.shed()
        if self._serving.read_pause_s and self.calls and nbytes < READ_BYTES // 2:
            self._pause()
            self._resume_after(self._serving.read_pause_s)

    def _begin(self, stream: Stream) -> None:
        serving = self._serving
        call = ServerCall(stream, self, serving.held, serving.message_bytes_max, self._address, self._certificate)
        self.calls[stream] = call
        self._tasks[stream] = asyncio.get_running_loop().create_task(self._run(stream, call))
        self._server.began(self._tasks[stream])

    def _notify(self, stream: Stream) -> None:
        if (call := self.calls.get(stream)) is not None:
            call.notify()
            if stream.is_lost:
                asyncio.get_running_loop().call_later(_DRAIN_S, self._tasks[stream].cancel)
        elif stream.is_lost:
            self._requests.close(stream)
        elif stream.unsent:
            self._flush(stream)

    async def _run(self, stream: Stream, call: ServerCall) -> None:
        answer, refusal = None, Refused(Status.OK, "")
        try:
            answer = await self._handled(call)
        except Refused as error:
            refusal = error
        except PeerGone:
            pass
        except asyncio.CancelledError:
            refusal = Refused(Status.UNAVAILABLE, "the receiver stops")
        except Exception:
            log.exception("call failed", path=call.path, sender=call.address)
            refusal = Refused(Status.INTERNAL, "a fault of ours: the log has the traceback")
        call.close()
        del self.calls[stream], self._tasks[stream]
        if refusal.reason is not None:
            self._server.refused(refusal.reason)
        if stream.is_lost or self._is_closing:
            self._requests.close(stream)
        else:
            self._answer(stream, answer, refusal)
        self._idle_since_s = asyncio.get_running_loop().time()

    async def _handled(self, call: ServerCall) -> bytes | None:
        call.begin()
        if (handler := self._serving.methods.get(call.path)) is None:
            raise Refused(Status.UNIMPLEMENTED, "no such method here", reason=RefusalReason.UNKNOWN_METHOD)
        try:
            async with asyncio.timeout(call.timeout_s) as waiting:
                return await handler(call)
        except TimeoutError:
            if waiting.expired():
                message = "the client's deadline is over"
                raise Refused(Status.DEADLINE_EXCEEDED, message, reason=RefusalReason.DEADLINE) from None
            raise

    def _answer(self, stream: Stream, message: bytes | None, refusal: Refused) -> None:
        is_alone = message is None
        stream.trailers = trailers(refusal.status, refusal.message, refusal.after_s, alone=is_alone)
        if message is None:
            self._flush(stream)
            return
        stream.unsent = b"\0" + len(message).to_bytes(4, "big") + message
        self._flush(stream, frame(frames.HEADERS, frames.END_HEADERS, stream.number, response_headers()))

    def _flush(self, stream: Stream, head: bytes = b"") -> None:
        """Sends ``head`` and what the client takes; at the end the trailers, which need no credit. As one write: for a
        small answer each costs more than all else."""
        size, sent = max(0, min(len(stream.unsent), stream.credit, self._requests.credit)), [head]
        for at in range(0, size, frames.FRAME_BYTES_MAX):
            part = stream.unsent[at : min(size, at + frames.FRAME_BYTES_MAX)]
            sent.append(frame(frames.DATA, 0, stream.number, part))
        stream.unsent = stream.unsent[size:]
        stream.credit -= size
        self._requests.credit -= size
        if not stream.unsent:
            sent.append(_end_of(stream))
        self._write(b"".join(sent))
        if not stream.unsent:
            self._requests.close(stream)

    def _fail(self, fault: CallEnded | ValueError) -> None:
        code = fault.code if isinstance(fault, Http2Error) else frames.PROTOCOL_ERROR
        reason = _REASONS.get(code, RefusalReason.PROTOCOL)
        if not self._requests.frames_read and not self._requests.settings_received:
            reason = RefusalReason.NOT_HTTP2
        self._end(reason, fault)

    def _end(self, reason: RefusalReason, fault: Exception) -> None:
        if self._is_closing:
            return
        log.debug("connection ended", sender=self._address, reason=str(reason), error=str(fault))
        self._server.refused(reason)
        if reason is not RefusalReason.NOT_HTTP2:
            self._write(self._goaway(getattr(fault, "code", frames.PROTOCOL_ERROR), str(fault)))
        self._close()
        self._lose_calls()

    def _goaway(self, code: int, message: str) -> bytes:
        body = self._requests.last_stream.to_bytes(4, "big") + code.to_bytes(4, "big") + message.encode()[:200]
        return frame(frames.GOAWAY, 0, 0, body)

    def _lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        if self._handshake is not None:
            self._handshake.cancel()
        self._lose_calls()
        self._server.closed(self)

    def _lose_calls(self) -> None:
        for stream in self._requests.lose_all():
            self._notify(stream)

    def _time_out(self, fault: str) -> None:
        self._end(RefusalReason.KEEPALIVE, Http2Error(f"keepalive: the peer does not {fault}", frames.NO_ERROR))
        self.abort()

    def _check_handshake(self) -> None:
        if not self._requests.settings_received:
            self._end(RefusalReason.HANDSHAKE, Http2Error(f"no SETTINGS after {HANDSHAKE_S:g} s"))

    def _ping_if_quiet(self) -> None:
        if self.is_idle and asyncio.get_running_loop().time() - self._idle_since_s > IDLE_S:
            self._end(RefusalReason.IDLE, Http2Error(f"no call for {IDLE_S:g} s", frames.NO_ERROR))
        else:
            super()._ping_if_quiet()


def _end_of(stream: Stream) -> bytes:
    end = frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream.number, stream.trailers)
    if not stream.is_whole:
        end += number_frame(frames.RST_STREAM, stream.number, frames.NO_ERROR)
    return end
