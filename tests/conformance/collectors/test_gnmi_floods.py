"""Targets that flood with messages: the call ends, memory is bounded, and the others keep their samples."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

from ingest.collectors.gnmi.config import LimitsConfig
from ingest.transport import http2_frames as frames
from ingest.transport.http2_frames import STREAM_ID, frame
from telemetry.samples import DownReason
from tests.conformance.collectors.gnmi_peer import collecting, job, response, serving, steady
from tests.memory import grows_by_less_than

SETTINGS = frame(frames.SETTINGS, 0, 0, b"")
HEADERS = frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, b"\x88")
KEPT_BYTES_MAX = 128 * 2**20
"""More resident memory after gigabytes of a flood; the processes of a test grow by some tens of MiB anyway."""


def grpc_message(body: bytes) -> bytes:
    return b"\0" + len(body).to_bytes(4, "big") + body


def packed(message: bytes) -> bytes:
    """DATA frames full of one message again and again."""
    count = frames.FRAME_BYTES_MAX // len(message)
    return frame(frames.DATA, 0, STREAM_ID, message * count)


EMPTY = grpc_message(b"")
NOTIFICATION = grpc_message(response(("in-octets", 1)).SerializeToString())
FLOODS = {
    "empty messages": packed(EMPTY),
    "empty messages in frames of their own": frame(frames.DATA, 0, STREAM_ID, EMPTY),
    "empty messages in frames of one byte": b"".join(frame(frames.DATA, 0, STREAM_ID, b"\0") for _ in EMPTY),
    "notifications of one update": packed(NOTIFICATION),
}


@asynccontextmanager
async def flooding(unit: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """A peer that answers each call with a flood for as long as it is read: its address, and the calls so far."""
    calls: list[int] = []
    part = unit * max(1, 2**18 // len(unit))

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(1)
        with suppress(OSError):
            writer.write(SETTINGS + HEADERS)
            while True:
                writer.write(part)
                await writer.drain()

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", calls
    finally:
        server.close()


def errors_of(logs: list[Any]) -> list[str]:
    return [str(line["error"]) for line in logs if line["event"] == "subscription ended"]


@pytest.fixture(params=FLOODS, ids=str)
def unit(request: pytest.FixtureRequest) -> bytes:
    return FLOODS[request.param]


async def test_a_flood_of_messages_ends_the_call_and_leaves_the_others_alone(unit: bytes) -> None:
    limits = LimitsConfig(messages_per_s=5000)
    async with flooding(unit) as (address, calls), serving(steady) as good:
        flooded, fine = job(address, limits=limits), job(good)
        with capture_logs() as logs, grows_by_less_than(KEPT_BYTES_MAX):
            async with collecting(flooded) as (emitted, _), collecting(fine) as (steadily, _):
                await emitted.until(lambda: len(calls) >= 4 and DownReason.TOO_LARGE in emitted.downs)
                seen = len(steadily.batches)
                await steadily.until(lambda: len(steadily.batches) >= seen + 3)
    assert set(emitted.downs) == {DownReason.TOO_LARGE}
    assert steadily.downs == []
    assert steadily.values()
    assert set(errors_of(logs)) <= {
        "more than 5000 messages a second (limits.messages_per_s)",
        "more than 1000 frames without data at once, or 100 a second",
    }
