"""The HTTP server of receivers: what connections and bodies may cost, whoever sends them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from ingest.collectors import http_receiver
from ingest.collectors.http_receiver import HttpRefused, HttpServer
from tests.waiting import until

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
DEADLINE_S = 10.0


def post(size: int) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size


def refusals(reason: str) -> float:
    labels = {"job": "tests", "reason": reason}
    return REGISTRY.get_sample_value("fabricscope_ingest_receiver_refusals_total", labels) or 0.0


class Held:
    """Requests wait in it. asked: has a place for each."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Semaphore(0), asyncio.Event()

    async def wait(self) -> None:
        self.asked.release()
        await self.may_answer.wait()


@asynccontextmanager
async def serving(
    held: Held | None = None, *, connections_max: int = 100, body_bytes_max: int = 1_000_000
) -> AsyncIterator[HttpServer]:
    """It answers a GET once it may, and a body with its length."""

    async def answer(request: web.Request) -> web.Response:
        if request.method == "GET" and held is not None:
            await held.wait()
        try:
            return web.Response(text=str(len(await server.read(request))))
        except HttpRefused as refused:
            return web.Response(status=refused.status, text=refused.message, headers=refused.headers)

    limits = {"connections_max": connections_max, "body_bytes_max": body_bytes_max}
    server = HttpServer("tests", "127.0.0.1:0", None, answer, **limits)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def connected(server: HttpServer) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def answered(reader: asyncio.StreamReader) -> tuple[int, str]:
    """Status and body."""
    async with asyncio.timeout(DEADLINE_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = next(int(line.split(":")[1]) for line in head.splitlines() if line.startswith("Content-Length"))
        return int(head.split()[1]), (await reader.readexactly(size)).decode()


async def is_closed(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(DEADLINE_S):
        try:
            return await reader.read(1) == b""
        except ConnectionResetError:
            return True


async def test_connections_without_a_request_give_way_and_those_with_one_do_not() -> None:
    held = Held()
    async with serving(held, connections_max=2) as server, connected(server) as (first, busy):
        busy.write(GET)
        await held.asked.acquire()
        before = refusals("idle"), refusals("connections")
        async with connected(server) as (idle, half):
            half.write(b"GET / HTTP/1.1\r\nX: ")
            await until(lambda: server.count_connections() == 2)
            async with connected(server) as (second, another):
                another.write(GET)
                await held.asked.acquire()
                assert await is_closed(idle)
                async with connected(server) as (refused, _):
                    assert await is_closed(refused)
                assert (refusals("idle"), refusals("connections")) == (before[0] + 1, before[1] + 1)
                held.may_answer.set()
                assert await answered(first) == await answered(second) == (200, "0")


async def test_headers_that_never_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_receiver, "IDLE_S", 0.05)
    async with serving() as server, connected(server) as (reader, writer), connected(server) as (later, again):
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        again.write(GET)
        assert await answered(later) == (200, "0")
        again.write(b"GET / HTTP/1.1\r\nX: ")
        assert await is_closed(reader)
        assert await is_closed(later)


RUBBISH = {
    "many headers": GET[:-2] + b"X: y\r\n" * 100 + b"\r\n",
    "a long header": GET[:-2] + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "no number of bytes": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "no chunks": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("sent", RUBBISH.values(), ids=RUBBISH)
async def test_rubbish_is_counted_and_fills_no_log(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    before = refusals("protocol")
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(sent)
        assert (await answered(reader))[0] == 400
        assert refusals("protocol") == before + 1
    assert not caplog.records


async def test_what_a_handler_did_not_expect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(request: web.Request) -> web.Response:
        raise AssertionError("a bug")

    server = HttpServer("tests", "127.0.0.1:0", None, fail, connections_max=10, body_bytes_max=1)
    await server.start()
    async with connected(server) as (reader, writer):
        writer.write(GET)
        assert (await answered(reader))[0] == 500
    await server.stop()
    assert "a bug" in caplog.text


async def test_the_body_that_holds_most_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies that never become whole: each may be as large as the limit, but not all of them together."""
    monkeypatch.setattr(http_receiver, "_HELD_BYTES_MAX", 1_000_000)
    monkeypatch.setattr(http_receiver, "_HELD_BODIES", 1)
    before = refusals("memory")
    async with (
        serving() as server,
        connected(server) as (large_reader, large),
        connected(server) as (small_reader, small),
    ):
        small.write(post(400_001) + bytes(400_000))
        await until(lambda: server.held_bytes == 400_000)
        large.write(post(900_001) + bytes(900_000))
        status, text = await answered(large_reader)
        assert (status, "this request has most of it" in text) == (503, True)
        assert refusals("memory") == before + 1
        small.write(b"\0")
        assert await answered(small_reader) == (200, "400001")
        assert server.held_bytes == 0


@pytest.mark.parametrize(("body", "status"), [(b"", 200), (b"abcd", 200), (b"abcde", 413)])
async def test_a_body_that_comes_with_its_headers_has_the_same_limit(body: bytes, status: int) -> None:
    chunks = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    async with serving(body_bytes_max=4) as server, connected(server) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        found = await answered(reader)
        assert found[0] == status
        assert status == 413 or found[1] == str(len(body))


async def test_a_body_is_asked_for_where_its_client_waits_for_that() -> None:
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(post(3).replace(b"Host: a", b"Host: a\r\nExpect: 100-continue"))
        assert b"100 Continue" in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"abc")
        assert await answered(reader) == (200, "3")


async def test_a_stop_lets_requests_end_and_takes_no_more() -> None:
    held = Held()
    async with serving(held) as server, connected(server) as (reader, writer):
        writer.write(GET)
        await held.asked.acquire()
        stopping = asyncio.create_task(server.stop())
        await until(lambda: not server.listening.is_set())
        held.may_answer.set()
        assert await answered(reader) == (200, "0")
        await stopping
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)
