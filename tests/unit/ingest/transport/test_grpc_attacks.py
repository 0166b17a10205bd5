"""Clients that attack our gRPC server: what they make it keep and do is bounded, and each end has its reason."""

import asyncio
import tracemalloc
from contextlib import suppress

import pytest
from hpack import Encoder

from ingest.transport import grpc_call, grpc_connection, http2_requests
from ingest.transport import http2_frames as frames
from ingest.transport.http2_frames import frame, number_frame, settings_frame
from ingest.transport.http2_requests import STREAM_WINDOW, STREAMS_MAX
from ingest.transport.refusals import RefusalReason
from tests.unit.ingest.transport.grpc_serving import (
    BEGIN,
    ECHO,
    HOLD,
    SETTINGS,
    STREAM,
    Server,
    connected,
    data,
    grpc_message,
    headers,
    read_to_end,
    read_until,
    serving,
)

FLOOD_BYTES = 16 * 2**20
KEPT_BYTES_MAX = 8 * 2**20
PING = frame(frames.PING, 0, 0, b"abcdefgh")
OPEN = BEGIN + headers()
BEGUN = OPEN + data(grpc_message(bytes(60_000))[:2000])
BOMB = Encoder().encode([("x", "y" * 3000)]) + b"\xbe" * 8000  # a long header in the table, named again and again


async def still_works(server: Server) -> None:
    """Another client is served."""
    async with connected(server) as (reader, writer):
        writer.write(BEGIN + headers(1, ECHO) + data(grpc_message(b"still here"), flags=frames.END_STREAM))
        await read_until(reader, grpc_message(b"still here"))


async def flood(server: Server, first: bytes, unit: bytes) -> bytes:
    """Sends the unit again and again until the server closes; what it said."""
    part = unit * max(1, 2**18 // len(unit))
    async with connected(server) as (reader, writer):
        reading = asyncio.create_task(read_to_end(reader))
        with suppress(OSError):
            writer.write(first)
            for _ in range(FLOOD_BYTES // len(part)):
                writer.write(part)
                await writer.drain()
        return await reading


def resets(count: int) -> bytes:
    return b"".join(
        headers(2 * n + 1, HOLD) + number_frame(frames.RST_STREAM, 2 * n + 1, frames.CANCEL) for n in range(count)
    )


@pytest.mark.parametrize(
    ("first", "unit", "reason"),
    [
        pytest.param(BEGIN, PING, RefusalReason.FLOOD, id="PING, CVE-2019-9512"),
        pytest.param(BEGIN, SETTINGS, RefusalReason.FLOOD, id="SETTINGS, CVE-2019-9515"),
        pytest.param(BEGIN, settings_frame((4, 1), (4, 2)), RefusalReason.FLOOD, id="windows of SETTINGS"),
        pytest.param(BEGIN + resets(1000), PING, RefusalReason.FLOOD, id="rapid reset, CVE-2023-44487"),
        pytest.param(OPEN, data(b""), RefusalReason.FLOOD, id="empty DATA, CVE-2019-9518"),
        pytest.param(OPEN, data(b"\7" + bytes(7), flags=frames.PADDED), RefusalReason.FLOOD, id="DATA that is padding"),
        pytest.param(BEGUN, data(b"x"), RefusalReason.FLOOD, id="DATA of one byte"),
        pytest.param(OPEN, number_frame(frames.WINDOW_UPDATE, 0, 1), RefusalReason.FLOOD, id="WINDOW_UPDATE"),
        pytest.param(OPEN, frame(frames.PRIORITY_FRAME, 0, 3, bytes(5)), RefusalReason.FLOOD, id="PRIORITY"),
        pytest.param(OPEN, frame(0x21, 0, 0, bytes(100)), RefusalReason.FLOOD, id="an unknown type"),
        pytest.param(OPEN, frame(frames.GOAWAY, 0, 0, bytes(8)), RefusalReason.FLOOD, id="GOAWAY"),
        pytest.param(
            BEGIN + headers(flags=0), frame(frames.CONTINUATION, 0, 1, b""), RefusalReason.FLOOD,
            id="empty CONTINUATION, CVE-2024-27316",
        ),
        pytest.param(
            BEGIN + headers(flags=0), frame(frames.CONTINUATION, 0, 1, bytes(9000)), RefusalReason.FLOOD,
            id="long CONTINUATION, CVE-2024-27316",
        ),
        pytest.param(
            BEGIN + frame(frames.HEADERS, frames.END_HEADERS, 1, BOMB), PING, RefusalReason.FLOOD, id="header bomb"
        ),
        pytest.param(
            BEGIN + frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff" * 9), PING, RefusalReason.HEADERS,
            id="no HPACK",
        ),
        pytest.param(
            BEGIN + headers(1, HOLD), data(bytes(16_384)), RefusalReason.FLOW_CONTROL, id="DATA beyond the window"
        ),
        pytest.param(
            OPEN, number_frame(frames.WINDOW_UPDATE, 0, 2**31 - 1), RefusalReason.FLOW_CONTROL, id="window overflow"
        ),
        pytest.param(
            OPEN, number_frame(frames.WINDOW_UPDATE, 1, 2**31 - 1), RefusalReason.FLOW_CONTROL,
            id="window overflow of a stream",
        ),
        pytest.param(
            OPEN + number_frame(frames.WINDOW_UPDATE, 1, 2**30), settings_frame((4, 2**31 - 1)),
            RefusalReason.FLOW_CONTROL, id="window overflow by SETTINGS",
        ),
        pytest.param(OPEN, number_frame(frames.WINDOW_UPDATE, 0, 0), RefusalReason.PROTOCOL, id="credit of nothing"),
        pytest.param(OPEN, data(b"x", 3), RefusalReason.PROTOCOL, id="DATA of no stream"),
        pytest.param(BEGIN, headers(2), RefusalReason.PROTOCOL, id="a stream that is a server's"),
        pytest.param(OPEN, headers(), RefusalReason.PROTOCOL, id="headers again"),
        pytest.param(BEGIN, frame(frames.PUSH_PROMISE, 4, 1, b"\0\0\0\2"), RefusalReason.PROTOCOL, id="PUSH_PROMISE"),
        pytest.param(frames.PREFACE, PING, RefusalReason.PROTOCOL, id="no SETTINGS first"),
        pytest.param(b"GET / HTTP/1.1\r\n", b"Host: here\r\n", RefusalReason.NOT_HTTP2, id="HTTP/1.1"),
        pytest.param(b"\x16\x03\x01", bytes(100), RefusalReason.NOT_HTTP2, id="TLS where none is"),
    ],
)  # fmt: skip
async def test_an_attack_ends_its_connection_with_a_reason_and_no_other_one(
    first: bytes, unit: bytes, reason: RefusalReason
) -> None:
    async with serving() as server:
        tracemalloc.start()
        try:
            said = await flood(server, first, unit)
            most_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        await still_works(server)
    assert server.refused == [reason]
    assert frames.GOAWAY in said[3:] if reason is not RefusalReason.NOT_HTTP2 else True, "it says why"
    assert most_bytes < KEPT_BYTES_MAX


async def test_more_calls_than_a_connection_may_have_are_refused_and_the_others_go_on() -> None:
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(BEGIN + b"".join(headers(2 * n + 1, HOLD) for n in range(STREAMS_MAX + 3)))
        refused = number_frame(frames.RST_STREAM, 2 * (STREAMS_MAX + 2) + 1, frames.REFUSED_STREAM)
        await read_until(reader, refused)
        assert server.refused == [RefusalReason.STREAMS] * 3
        server.may_answer.set()
        writer.write(data(grpc_message(b"kept"), 1, frames.END_STREAM))
        await read_until(reader, grpc_message(b"kept"))


async def test_a_client_that_begins_no_http2_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_connection, "HANDSHAKE_S", 0.05)
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(frames.PREFACE[:10])
        await read_to_end(reader)
        assert server.refused == [RefusalReason.HANDSHAKE]


async def test_a_message_that_drips_ends_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_call, "MESSAGE_S", 0.05)
    async with serving() as server, connected(server) as (reader, writer):
        for stream, path in ((1, STREAM), (3, ECHO)):
            writer.write((BEGIN if stream == 1 else b"") + headers(stream, path) + data(b"\0\0", stream))
            await read_until(reader, number_frame(frames.RST_STREAM, stream, frames.NO_ERROR))
        assert server.refused == [RefusalReason.SLOW] * 2


async def test_a_frame_that_drips_is_no_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes come all the time, and no frame is ever whole."""
    monkeypatch.setattr(grpc_connection, "_KEEPALIVE_S", 0.2)
    monkeypatch.setattr(grpc_connection, "_PING_TIMEOUT_S", 0.2)
    async with serving() as server, connected(server) as (reader, writer):
        ended = asyncio.create_task(read_to_end(reader))
        writer.write(OPEN + data(bytes(16_384))[:9])
        with suppress(OSError):
            while not ended.done():
                writer.write(b"x")
                await asyncio.wait([ended], timeout=0.01)
        await ended
        assert server.refused == [RefusalReason.KEEPALIVE]


async def test_a_client_that_does_not_read_is_not_read_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_connection, "_KEEPALIVE_S", 0.5)
    monkeypatch.setattr(grpc_connection, "_PING_TIMEOUT_S", 0.5)
    monkeypatch.setattr(frames, "IDLE_FRAMES_MAX", 10**12)
    async with serving() as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1)
        with suppress(OSError):
            writer.write(BEGIN)
            for _ in range(FLOOD_BYTES // 2**18):
                writer.write(PING * (2**18 // len(PING)))
                await writer.drain()
        await server.until(lambda: server.refused)
        writer.close()
        assert server.refused == [RefusalReason.KEEPALIVE]


async def test_connections_without_a_call_give_way_and_those_with_one_do_not() -> None:
    async with (
        serving(connections_max=2) as server,
        connected(server) as (busy_reader, busy),
        connected(server) as (
            idle_reader,
            idle,
        ),
    ):
        busy.write(BEGIN + headers(1, HOLD))
        idle.write(BEGIN)
        await read_until(idle_reader, frame(frames.SETTINGS, frames.ACK, 0, b""))
        await read_until(busy_reader, frame(frames.SETTINGS, frames.ACK, 0, b""))
        async with connected(server) as (reader, writer):
            writer.write(BEGIN + headers(1, HOLD))
            await read_until(reader, frame(frames.SETTINGS, frames.ACK, 0, b""))
            assert b"too many connections" in await read_to_end(idle_reader)
            async with connected(server) as (refused, _):
                assert await read_to_end(refused) == b""
            assert server.refused == [RefusalReason.IDLE, RefusalReason.CONNECTIONS]
            server.may_answer.set()
            for each, other in ((writer, reader), (busy, busy_reader)):
                each.write(data(grpc_message(b"kept"), flags=frames.END_STREAM))
                await read_until(other, grpc_message(b"kept"))


async def test_the_call_that_holds_most_gives_way() -> None:
    """Messages that never become whole: each may be as large as the limit, but not all of them together."""
    limited = serving(held_bytes_max=3 * 2**16, message_bytes_max=2**17)
    async with limited as server, connected(server) as (reader, writer), connected(server) as (_, small):
        small.write(OPEN + data(grpc_message(bytes(100_000))[:16_000]))
        writer.write(BEGIN)
        for stream, size in ((1, 6), (3, 7)):
            part = data(bytes(16_000), stream)
            writer.write(headers(stream) + data(b"\0\0\1\xf4\0", stream) + part * size)
        await read_until(reader, number_frame(frames.RST_STREAM, 3, frames.NO_ERROR))
        assert server.refused == [RefusalReason.MEMORY]
        small.write(data(bytes(100_005 - 16_000)[:16_000]) * 5 + data(bytes(4_005)))
        await server.until(lambda: server.messages)
        assert server.messages == [bytes(100_000)]


async def test_no_more_is_kept_of_a_call_than_its_window() -> None:
    """Its handler waits, so it gets no credit; pings of the connection are answered all the same."""
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(BEGIN + headers(1, HOLD) + data(bytes(16_384)) * (STREAM_WINDOW // 16_384) + PING)
        said = await read_until(reader, frame(frames.PING, frames.ACK, 0, b"abcdefgh"))
        assert frame(frames.WINDOW_UPDATE, 0, 1, b"")[3:9] not in said
        assert server.held.bytes_now == STREAM_WINDOW


async def test_data_for_a_call_that_was_refused_is_no_flood() -> None:
    """A client sends until it hears of the end: what its window allows is read and thrown away."""
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(BEGIN + headers(1, "/test.Test/None"))
        await read_until(reader, number_frame(frames.RST_STREAM, 1, frames.NO_ERROR))
        writer.write(data(bytes(100)) * 5000 + headers(3, ECHO) + data(grpc_message(b"x"), 3, frames.END_STREAM))
        await read_until(reader, grpc_message(b"x"))
        assert server.refused == [RefusalReason.UNKNOWN_METHOD]
        assert http2_requests.RESETS_MAX < 5000
