"""A gNMI server in frames of HTTP/2: it can do what no library would."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from hpack import Encoder

from ingest.transport import http2_frames as frames
from ingest.transport.http2_frames import STREAM_ID, frame
from telemetry.gnmi import gnmi_pb2

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]

SETTINGS = frame(frames.SETTINGS, 0, 0, b"")
PING = frame(frames.PING, 0, 0, b"abcdefgh")


def _headers(flags: int, *pairs: tuple[str, str]) -> bytes:
    return frame(frames.HEADERS, frames.END_HEADERS | flags, STREAM_ID, Encoder().encode(list(pairs)))


BEGIN = SETTINGS + _headers(0, (":status", "200"), ("content-type", "application/grpc"))
END = _headers(frames.END_STREAM, ("grpc-status", "0"))


def message(response: gnmi_pb2.SubscribeResponse) -> bytes:
    """One response as a frame."""
    body = response.SerializeToString()
    return frame(frames.DATA, 0, STREAM_ID, b"\0" + len(body).to_bytes(4, "big") + body)


async def serve_streams(behaviour: Behaviour, addresses: Sequence[str], port: int) -> None:
    """Returns when all addresses answer. Whatever is asked for, and before it is, the answer is ``behaviour``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        discarding = asyncio.create_task(_discard(reader))
        answering = asyncio.ensure_future(behaviour(writer))
        try:
            await asyncio.wait([discarding, answering], return_when=asyncio.FIRST_COMPLETED)
        finally:
            discarding.cancel()
            answering.cancel()
            with suppress(ConnectionError, asyncio.CancelledError):
                await answering
            writer.close()

    await asyncio.start_server(serve, addresses, port)


async def _discard(reader: asyncio.StreamReader) -> None:
    """Until the connection is closed."""
    with suppress(ConnectionError):
        while await reader.read(2**16):
            pass
