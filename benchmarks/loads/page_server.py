"""Many hosts on one port: a small HTTP server with a loopback address for each, in a process of its own.

It serves pages rendered in advance, keeps connections open, and compresses for clients that accept it, so that its own
cost hardly disturbs the measurement.
"""

import asyncio
import gzip
import time
from typing import Any

from benchmarks.loads.child import ServerProcess
from benchmarks.loads.moving_pages import gpu_pages, node_pages
from tests.servers.process import free_port

VARIANTS = 120
PATHS = {"/gpu": gpu_pages, "/node": node_pages}
Responses = dict[str, list[dict[bool, bytes]]]
"""By path: the responses in order of time, each plain (False) and compressed (True)."""


class PageServer(ServerProcess):
    """Serves ``hosts`` addresses; a page changes every ``change_s`` seconds."""

    def __init__(self, hosts: int, change_s: float) -> None:
        self.port = free_port()
        self.hosts = [f"127.9.{number // 250}.{number % 250 + 1}" for number in range(hosts)]
        super().__init__(_serve, self.hosts, self.port, change_s, start_s=60)


class _Connection(asyncio.Protocol):
    """One client. began_s: monotonic time of the first variant."""

    def __init__(self, responses: Responses, change_s: float, began_s: float) -> None:
        self._responses, self._change_s, self._began_s = responses, change_s, began_s
        self._pending = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        *heads, self._pending = (self._pending + data).split(b"\r\n\r\n")
        for head in heads:
            path = head.split(b" ", 2)[1].decode()
            variant = int((time.monotonic() - self._began_s) / self._change_s) % VARIANTS
            self._transport.write(self._responses[path][variant][b"gzip" in head])


def _serve(hosts: list[str], port: int, change_s: float, ready: Any) -> None:
    responses = {path: [_response(page) for page in render(VARIANTS)] for path, render in PATHS.items()}

    async def main() -> None:
        began_s = time.monotonic()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(responses, change_s, began_s), hosts, port, backlog=1000)
        ready.set()
        await server.serve_forever()

    asyncio.run(main())


def _response(page: bytes) -> dict[bool, bytes]:
    found = {}
    for compressed in (False, True):
        body = gzip.compress(page, 6) if compressed else page
        encoding = b"Content-Encoding: gzip\r\n" if compressed else b""
        kind = b"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        found[compressed] = b"HTTP/1.1 200 OK\r\n%b%bContent-Length: %d\r\n\r\n%b" % (kind, encoding, len(body), body)
    return found
