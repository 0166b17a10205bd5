"""Peers that send without end and never read: what they make us keep is bounded, and the call ends with a reason."""

import asyncio
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2 import Call, CallSettings
from ingest.transport.http2_frames import STREAM_ID, frame
from telemetry.samples import DownReason
from tests.waiting import DEADLINE_S

FLOOD_BYTES = 32 * 2**20
KEPT_BYTES_MAX = 4 * 2**20  # of 32 MiB; what one read and its answers need is less than 1 MiB
SETTINGS = frame(frames.SETTINGS, 0, 0, b"")
PING = frame(frames.PING, 0, 0, b"abcdefgh")


@asynccontextmanager
async def flooding(first: bytes, unit: bytes) -> AsyncIterator[int]:
    """A peer that sends ``first``, then ``unit`` again and again, and reads nothing at all. Its port."""
    loop = asyncio.get_running_loop()
    part = unit * max(1, 2**18 // len(unit))

    async def flood() -> None:
        connection, _ = await loop.sock_accept(listening)
        with connection, suppress(OSError):
            await loop.sock_sendall(connection, first)
            for _ in range(FLOOD_BYTES // len(part)):
                await loop.sock_sendall(connection, part)
            await asyncio.Event().wait()

    with socket.socket() as listening:
        listening.setblocking(False)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        peer = asyncio.create_task(flood())
        try:
            yield listening.getsockname()[1]
        finally:
            peer.cancel()
            await asyncio.wait([peer])


async def call(port: int, keepalive_s: float) -> Call:
    settings = CallSettings(
        authority="leaf1",
        scheme="http",
        metadata=(),
        message_bytes_max=2**20,
        read_pause_s=0.001,
        keepalive_s=keepalive_s,
        ping_timeout_s=keepalive_s,
    )
    made = Call("/gnmi.gNMI/Subscribe", b"", settings)
    await asyncio.get_running_loop().create_connection(lambda: made, "127.0.0.1", port)
    return made


async def end_of(port: int, keepalive_s: float) -> tuple[CallEnded, int]:
    """How the call ends, and the most bytes that were in use meanwhile."""
    tracemalloc.start()
    try:
        made = await call(port, keepalive_s)
        with pytest.raises(CallEnded) as ended:
            await made.read()
        return ended.value, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


NO_END = frame(frames.HEADERS, 0, STREAM_ID, b"")
HEADERS = frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, b"\x88")
TOO_MANY = "more than 1000 frames without data"


@pytest.mark.parametrize(
    ("first", "unit", "reason", "message"),
    [
        pytest.param(SETTINGS, PING, DownReason.TOO_LARGE, TOO_MANY, id="PING, CVE-2019-9512"),
        pytest.param(SETTINGS, SETTINGS, DownReason.TOO_LARGE, TOO_MANY, id="SETTINGS, CVE-2019-9515"),
        pytest.param(
            SETTINGS, frame(frames.DATA, 0, STREAM_ID, b""), DownReason.TOO_LARGE, TOO_MANY, id="DATA, CVE-2019-9518"
        ),
        pytest.param(
            SETTINGS, frame(frames.DATA, frames.PADDED, STREAM_ID, b"\7" + bytes(7)), DownReason.TOO_LARGE, TOO_MANY,
            id="DATA that is padding",
        ),
        pytest.param(
            SETTINGS + frame(frames.DATA, 0, STREAM_ID, b"\0\0\x0f\0\0"), frame(frames.DATA, 0, STREAM_ID, b"x"),
            DownReason.TOO_LARGE, TOO_MANY, id="DATA of one byte",
        ),
        pytest.param(
            SETTINGS + frame(frames.DATA, 0, STREAM_ID, b"\0\0\x0f\0\0"),
            frame(frames.DATA, frames.PADDED, STREAM_ID, b"\7x" + bytes(7)), DownReason.TOO_LARGE, TOO_MANY,
            id="DATA of one byte and padding",
        ),
        pytest.param(SETTINGS, HEADERS, DownReason.BAD_FORMAT, "more than 16 header blocks", id="HEADERS"),
        pytest.param(
            SETTINGS + NO_END, frame(frames.CONTINUATION, 0, STREAM_ID, b""), DownReason.TOO_LARGE, TOO_MANY,
            id="empty CONTINUATION, CVE-2024-27316",
        ),
        pytest.param(
            SETTINGS + NO_END, frame(frames.CONTINUATION, 0, STREAM_ID, bytes(9000)), DownReason.BAD_FORMAT,
            "a header block of more than 65536 bytes", id="long CONTINUATION, CVE-2024-27316",
        ),
        pytest.param(
            SETTINGS, frame(frames.PRIORITY_FRAME, 0, 5, bytes(5)), DownReason.TOO_LARGE, TOO_MANY, id="PRIORITY"
        ),
        pytest.param(
            SETTINGS, frame(frames.WINDOW_UPDATE, 0, 0, b"\0\0\0\1"), DownReason.TOO_LARGE, TOO_MANY, id="WINDOW_UPDATE"
        ),
        pytest.param(
            SETTINGS, frame(frames.RST_STREAM, 0, 3, bytes(4)), DownReason.BAD_FORMAT, "type 3 on stream 3",
            id="RST_STREAM of another stream",
        ),
        pytest.param(
            SETTINGS, frame(frames.GOAWAY, 0, 0, b"\0\0\0\1" + bytes(4)), DownReason.TOO_LARGE, TOO_MANY, id="GOAWAY"
        ),
        pytest.param(
            SETTINGS, frame(frames.PUSH_PROMISE, 4, STREAM_ID, b"\0\0\0\2"), DownReason.BAD_FORMAT, "PUSH_PROMISE",
            id="PUSH_PROMISE",
        ),
        pytest.param(SETTINGS, frame(0x21, 0, 0, bytes(100)), DownReason.TOO_LARGE, TOO_MANY, id="an unknown type"),
        pytest.param(
            SETTINGS, frame(frames.DATA, 0, 3, bytes(1000)), DownReason.BAD_FORMAT, "type 0 on stream 3",
            id="DATA of another stream",
        ),
    ],
)  # fmt: skip
async def test_a_flood_ends_the_call_with_a_reason(first: bytes, unit: bytes, reason: DownReason, message: str) -> None:
    async with flooding(first, unit) as port:
        ended, most_bytes = await end_of(port, keepalive_s=60.0)
    assert ended.reason is reason
    assert message in ended.message
    assert most_bytes < KEPT_BYTES_MAX


@pytest.mark.parametrize("unit", [PING, SETTINGS], ids=["PING", "SETTINGS"])
async def test_no_more_is_read_than_the_peer_takes_answers_for(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "IDLE_FRAMES_MAX", 10**12)
    async with flooding(SETTINGS, unit) as port:
        ended, most_bytes = await end_of(port, keepalive_s=0.5)
    assert (ended.reason, ended.message) == (DownReason.TIMEOUT, "keepalive: the peer does not read what we send")
    assert most_bytes < KEPT_BYTES_MAX


async def test_answers_that_nobody_takes_do_not_keep_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing waits for what is unsent, which a peer that never reads would keep for ever."""
    monkeypatch.setattr(frames, "IDLE_FRAMES_MAX", 10**12)
    lost = asyncio.Event()

    class Watched(Call):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

        def pause_writing(self) -> None:
            super().pause_writing()
            self.cancel()

    monkeypatch.setattr("tests.unit.ingest.transport.test_http2_floods.Call", Watched)
    async with flooding(SETTINGS, PING) as port:
        await call(port, keepalive_s=60.0)
        async with asyncio.timeout(DEADLINE_S):
            await lost.wait()
