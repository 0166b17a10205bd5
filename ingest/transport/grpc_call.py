"""One call to our gRPC server, as its handler sees it: messages, who sends them, until when an answer is waited for."""

import asyncio
import re
from typing import Protocol

from ingest.transport.grpc_messages import CallEnded, Compressed, MessageReader
from ingest.transport.grpc_status import Refused, Status
from ingest.transport.http2_requests import Held, Stream
from ingest.transport.refusals import RefusalReason
from ingest.transport.unpacking import WINDOW_BITS, unpacked
from telemetry.samples import DownReason

MESSAGE_S = 60.0
"""For a message that has begun to become whole, and for the one message of a call that has no other."""
_TIMEOUT = re.compile(rb"(\d{1,8})([HMSmun])")
_UNITS_S = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}


class PeerGone(Exception):
    """The client has reset the call or closed its connection: nobody waits for an answer."""


class Source(Protocol):
    """The connection of a call."""

    def take(self, stream: Stream) -> bytes:
        """What came since the last time."""
        ...

    def count_messages(self, stream: Stream, messages: int) -> None:
        """Of what was taken."""
        ...


class ServerCall:
    """One call. path: ``/package.Service/Method``. address: of the client, an IP; certificate: the first name in its
    verified certificate, '' without one. timeout_s: until when the client waits, None for ever.

    Refused for headers that are none of gRPC.
    """

    def __init__(
        self, stream: Stream, source: Source, held: Held, message_bytes_max: int, address: str, certificate: str
    ) -> None:
        self._stream, self._source, self._held, self._bytes_max = stream, source, held, message_bytes_max
        self.address, self.certificate = address, certificate
        self.path = stream.headers[b":path"].decode("ascii", "replace")
        self._window_bits: int | None = None
        self._reader = MessageReader(message_bytes_max)
        self._arrived = asyncio.Event()
        self._fault: Refused | None = None
        self._due_s: float | None = None
        self.timeout_s: float | None = None

    @property
    def is_refused(self) -> bool:
        return self._fault is not None

    @property
    def held_bytes(self) -> int:
        """What of it waits here."""
        return len(self._stream.received) + self._reader.partial_bytes

    def begin(self) -> None:
        """Reads the headers. Refused for those that we do not take."""
        headers = self._stream.headers
        if headers[b":method"] != b"POST" or not headers.get(b"content-type", b"").startswith(b"application/grpc"):
            raise Refused(Status.INTERNAL, "expected POST of application/grpc", reason=RefusalReason.NOT_GRPC)
        encoding = headers.get(b"grpc-encoding", b"identity").decode("ascii", "replace")
        if encoding != "identity":
            if encoding not in WINDOW_BITS:
                message = "expected grpc-encoding identity, gzip or deflate"
                raise Refused(Status.UNIMPLEMENTED, message, reason=RefusalReason.ENCODING)
            self._window_bits = WINDOW_BITS[encoding]
            self._reader = MessageReader(self._bytes_max, takes_compressed=True)
        if (timeout := headers.get(b"grpc-timeout")) is not None:
            if (found := _TIMEOUT.fullmatch(timeout)) is None:
                raise Refused(Status.INTERNAL, "grpc-timeout that is none", reason=RefusalReason.NOT_GRPC)
            self.timeout_s = int(found[1]) * _UNITS_S[found[2]]

    def notify(self) -> None:
        """Something came, or the call is over."""
        self._arrived.set()

    def refuse(self, refusal: Refused) -> None:
        """The next read raises it; what waits is given up."""
        self._fault = self._fault or refusal
        self._source.take(self._stream)
        self.close()
        self._arrived.set()

    async def read(self) -> list[bytes]:
        """The messages since the last read, unpacked; [] once the client has sent its last one.

        Raises Refused for what is none, PeerGone when the client is gone and all that came whole has been read.
        """
        while not (messages := self._pop()):
            if self._fault is not None:
                raise self._fault
            if self._stream.is_lost:
                raise PeerGone
            if self._stream.is_whole:
                if self._reader.is_within_message:
                    raise Refused(Status.INTERNAL, "a message that is cut off", reason=RefusalReason.CARDINALITY)
                return []
            self._arrived.clear()
            try:
                async with asyncio.timeout_at(self._due_s):
                    await self._arrived.wait()
            except TimeoutError:
                raise _slow() from None
        return messages

    async def only_message(self) -> bytes:
        """The message of a call that has one. Refused where there is none, or another one."""
        messages = self._pop()
        if len(messages) == 1 and self._has_come_whole():
            return messages[0]
        try:
            async with asyncio.timeout(MESSAGE_S) as waiting:
                while len(messages) < 2 and (more := await self.read()):
                    messages += more
        except TimeoutError:
            if waiting.expired():
                raise _slow() from None
            raise
        if len(messages) != 1:
            raise Refused(Status.INTERNAL, "expected one message", reason=RefusalReason.CARDINALITY)
        return messages[0]

    def _has_come_whole(self) -> bool:
        """Whether the client has sent its last message, and it is read: of a small call, with its headers."""
        rest = self._reader.messages or self._reader.is_within_message
        return self._stream.is_whole and not (self._stream.is_lost or rest or self._fault)

    def _pop(self) -> list[bytes]:
        """What has come, unpacked; of messages that are larger unpacked as many as one may have bytes."""
        if not self._reader.messages and self._fault is None:
            self._split(self._source.take(self._stream))
        if self._window_bits is None:
            return self._reader.pop()
        packed, messages, size = self._reader.messages, list[bytes](), 0
        while len(messages) < len(packed) and size < self._bytes_max and self._fault is None:
            message = packed[len(messages)]
            if isinstance(message, Compressed):
                try:
                    message = unpacked(message, self._window_bits, self._bytes_max)
                except CallEnded as ended:
                    self._fault = _refused(ended)
                    packed.clear()
                    break
            messages.append(message)
            size += len(message)
        del packed[: len(messages)]
        return messages

    def _split(self, data: bytes) -> None:
        if not data:
            return
        partial_bytes = self._reader.partial_bytes
        try:
            self._reader.feed(data, 0, len(data))
        except CallEnded as ended:
            self._fault = _refused(ended)
        self._held.bytes_now += self._reader.partial_bytes - partial_bytes
        if not self._reader.is_within_message:
            self._due_s = None
        elif self._reader.messages or self._due_s is None:
            self._due_s = asyncio.get_running_loop().time() + MESSAGE_S
        self._source.count_messages(self._stream, len(self._reader.messages))

    def close(self) -> None:
        """Nothing is read any more."""
        self._held.bytes_now -= self._reader.partial_bytes
        self._reader = MessageReader(self._bytes_max)


def _refused(ended: CallEnded) -> Refused:
    if ended.reason is DownReason.TOO_LARGE:
        return _too_large(ended.message)
    return Refused(Status.INTERNAL, ended.message, reason=RefusalReason.ENCODING)


def _too_large(message: str) -> Refused:
    return Refused(Status.RESOURCE_EXHAUSTED, f"{message} (limits.message_bytes_max)", reason=RefusalReason.TOO_LARGE)


def _slow() -> Refused:
    message = f"a message that was not whole after {MESSAGE_S:g} s"
    return Refused(Status.DEADLINE_EXCEEDED, message, reason=RefusalReason.SLOW)
