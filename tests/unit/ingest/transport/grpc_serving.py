"""A gRPC server of ours for tests, and what a client by hand sends it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from hpack import Encoder

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_call import ServerCall
from ingest.transport.grpc_connection import Handler, Serving
from ingest.transport.grpc_listener import GrpcListener
from ingest.transport.http2_frames import frame
from ingest.transport.http2_requests import Held
from ingest.transport.refusals import RefusalReason
from tests.waiting import DEADLINE_S

ECHO, STREAM, HOLD = "/test.Test/Echo", "/test.Test/Stream", "/test.Test/Hold"
SETTINGS = frame(frames.SETTINGS, 0, 0, b"")
BEGIN = frames.PREFACE + SETTINGS


def headers(stream: int = 1, path: str = STREAM, *more: tuple[str, str], flags: int = frames.END_HEADERS) -> bytes:
    """Of a call; each block stands for itself."""
    pairs = [(":method", "POST"), (":scheme", "http"), (":path", path), ("content-type", "application/grpc"), *more]
    encoder = Encoder()
    encoder.header_table_size = 0
    return frame(frames.HEADERS, flags, stream, encoder.encode(pairs))


def grpc_message(body: bytes, flag: int = 0) -> bytes:
    return bytes([flag]) + len(body).to_bytes(4, "big") + body


def data(body: bytes, stream: int = 1, flags: int = 0) -> bytes:
    return frame(frames.DATA, flags, stream, body)


@dataclass
class Server:
    """One that runs. messages: what the streams of its clients have sent; refused: why it ended what by itself.

    held_calls: how many calls wait until they ``may_answer``.
    """

    listener: GrpcListener
    held: Held
    port: int = 0
    messages: list[bytes] = field(default_factory=list)
    refused: list[RefusalReason] = field(default_factory=list)
    held_calls: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def serving(
    *,
    message_bytes_max: int = 2**16,
    connections_max: int = 100,
    held_bytes_max: int = 2**28,
    context: ssl.SSLContext | None = None,
    grace_s: float = 0.0,
) -> AsyncIterator[Server]:
    """It echoes the message of a call, takes those of a stream, or holds a call until it ``may_answer``."""

    async def echo(call: ServerCall) -> bytes:
        return await call.only_message()

    async def take(call: ServerCall) -> None:
        while messages := await call.read():
            server.messages += messages
            server.changed.set()

    async def hold(call: ServerCall) -> bytes:
        server.held_calls += 1
        server.changed.set()
        await server.may_answer.wait()
        return await call.only_message()

    def count(reason: RefusalReason) -> None:
        server.refused.append(reason)
        server.changed.set()

    held = Held(held_bytes_max)
    methods: dict[str, Handler] = {ECHO: echo, STREAM: take, HOLD: hold}
    listener = GrpcListener(Serving(methods, message_bytes_max, 0.0, held), connections_max, lambda: context, count)
    server = Server(listener, held)
    server.port = await listener.start("127.0.0.1", 0)
    try:
        yield server
    finally:
        await listener.stop(grace_s)
    assert held.bytes_now == 0, "what a call held is given back, however it ended"


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that has sent nothing yet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def read_until(reader: asyncio.StreamReader, wanted: bytes) -> bytes:
    """All that comes, up to something that is wanted."""
    found = b""
    async with asyncio.timeout(DEADLINE_S):
        while wanted not in found:
            part = await reader.read(65536)
            assert part, f"closed after {found!r}"
            found += part
    return found


async def read_to_end(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the server closes; a reset is an end too."""
    found = b""
    async with asyncio.timeout(DEADLINE_S):
        with suppress(OSError):
            while part := await reader.read(65536):
                found += part
    return found
