"""Bodies that unpack to a lot: a thread unpacks them, and the event loop goes on meanwhile."""

import asyncio
import gzip
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from ingest.transport.http1 import HttpClient, Url
from ingest.transport.http1_response import UNPACKED_AT_ONCE_BYTES, FetchFailed
from telemetry.samples import DownReason
from tests.servers.answers import bomb, respond
from tests.waiting import until

SMALL = b"node_load1 1\n"
LARGE = b"# a page\n" * (UNPACKED_AT_ONCE_BYTES // 8)
BOMB = bomb(65 * 2**20)


@asynccontextmanager
async def client(packed: bytes, workers: ThreadPoolExecutor) -> AsyncIterator[HttpClient]:
    """Of a server that answers with this body."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await respond(packed, "Content-Encoding: gzip", "Connection: close")(writer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        made = HttpClient(Url("http", "127.0.0.1", server.sockets[0].getsockname()[1], "/metrics"), workers=workers)
        yield made
        await made.stop()


async def fetched(made: HttpClient) -> bytes:
    return (await made.fetch(asyncio.get_running_loop().time() + 60)).body


async def test_while_threads_are_busy_small_bodies_are_read_and_large_ones_wait() -> None:
    go = threading.Event()
    with ThreadPoolExecutor(1) as workers:
        busy = workers.submit(go.wait, 60)
        await until(busy.running)
        async with (
            client(gzip.compress(SMALL), workers) as small,
            client(gzip.compress(LARGE), workers) as large,
            client(BOMB, workers) as hostile,
        ):
            waiting = [asyncio.create_task(fetched(large)), asyncio.create_task(fetched(hostile))]
            await until(lambda: workers._work_queue.qsize() == 2)
            assert await fetched(small) == SMALL
            assert not any(task.done() for task in waiting)
            go.set()
            assert await waiting[0] == LARGE
            with pytest.raises(FetchFailed, match="unpacked") as caught:
                await waiting[1]
            assert caught.value.reason is DownReason.TOO_LARGE


async def test_a_body_that_is_not_unpacked_by_the_deadline_has_timed_out() -> None:
    go = threading.Event()
    with ThreadPoolExecutor(1) as workers:
        workers.submit(go.wait, 60)
        async with client(BOMB, workers) as hostile:
            with pytest.raises(FetchFailed) as caught:
                await hostile.fetch(asyncio.get_running_loop().time() + 0.2)
            assert caught.value.reason is DownReason.TIMEOUT
        go.set()
