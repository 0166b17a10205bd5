"""HTTP server of exporter pages: one listener a target, so that each can refuse or hang on its own."""

import asyncio
import socket
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from aiohttp import web

from simulator.servers.collection.polls import PollOutcome, Polls

Render = Callable[[], str]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_GZIP_FROM_BYTES = 1400  # less than one packet gains nothing
_CLOSE_S = 0.5
_SILENCE_CHECK_S = 0.1
_AT_ONCE: Final = struct.pack("ii", 1, 0)  # struct linger: on, 0 seconds


@dataclass(frozen=True, slots=True)
class Page:
    """One exporter: where it listens and what it serves at ``path``."""

    host: str
    port: int
    render: Render
    path: str = "/metrics"
    content_type: str = CONTENT_TYPE


class PageServer:
    """Serves one page. While ``silent``, requests are accepted and never answered.

    polls: how they end, None: all are answered.
    """

    def __init__(self, page: Page, polls: Polls | None = None) -> None:
        self.page, self._polls = page, polls
        self.silent = False
        self._http: web.Server | None = None
        self._listener: asyncio.Server | None = None

    @property
    def address(self) -> str:
        return f"{self.page.host}:{self.page.port}"

    @property
    def listening(self) -> bool:
        return self._listener is not None

    async def open(self) -> None:
        """Listens; OSError when the address is taken."""
        if self._listener is not None:
            return
        self._http = web.Server(self._answer, access_log=None)
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._http, self.page.host, self.page.port)

    async def close(self) -> None:
        """Stops listening and drops the open connections: the next client is refused."""
        listener, http = self._listener, self._http
        self._listener = self._http = None
        if listener is None or http is None:
            return
        listener.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await http.shutdown(_CLOSE_S / 2)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        while self.silent:  # noqa: ASYNC110  # rare, and ends with the connection
            await asyncio.sleep(_SILENCE_CHECK_S)
        if request.path != self.page.path:
            return web.Response(status=404, text="404 page not found\n")
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405)
        body = self.page.render().encode()  # as of the begin of the poll, however long that takes
        outcome = await self._polls.end() if self._polls is not None else PollOutcome.ANSWERED
        if outcome is PollOutcome.UNAVAILABLE:
            return web.Response(status=503, text="503 too many collections\n")
        if outcome is not PollOutcome.ANSWERED:
            _reset(request)
        headers = {"Content-Type": self.page.content_type}
        if len(body) >= _GZIP_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
            body = gzipped(body)
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=body, headers=headers)


def _reset(request: web.BaseRequest) -> NoReturn:
    """Ends the connection with a reset in place of an orderly end."""
    transport = request.transport
    if transport is not None:
        if (peer := transport.get_extra_info("socket")) is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        transport.abort()
    raise asyncio.CancelledError


def gzipped(body: bytes) -> bytes:
    """Gzip at the fastest level, without a time stamp."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()
