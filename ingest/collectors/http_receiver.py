"""An HTTP server for collectors that senders push to: transport security, connections, and bodies that are bounded."""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from common.errors import ConfigError
from ingest.collectors.receiver_config import ServerTlsConfig
from ingest.collectors.server_tls import ServerTls
from ingest.metrics import RECEIVER_REFUSALS
from ingest.transport.listener import Listener
from ingest.transport.refusals import RefusalReason

IDLE_S = 300.0
"""A client without a request for so long is sent away, one that has not ended its headers too."""
BODY_S = 30.0
"""For a whole body to come: senders give up after as long."""
_HELD_BYTES_MAX, _HELD_BODIES = 256 * 2**20, 4
"""Of all bodies that are on their way: that much, or that many of the largest size."""
_HEADERS_MAX = 64
_STOP_S = 1.0
_RETRY_AFTER_S = "1"

Answer = Callable[[web.Request], Awaitable[web.Response]]


class HttpRefused(Exception):
    """A request that is not taken, and what its answer says."""

    def __init__(self, status: HTTPStatus, message: str, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


@dataclass(slots=True, eq=False)
class _Body:
    """One that is on its way. waiting: until when it is waited for."""

    waiting: asyncio.Timeout
    data: bytearray = field(default_factory=bytearray)
    is_shed: bool = False


class HttpServer:
    """One listening server of HTTP/1.1. answer: of each request, whatever its path and method.

    listen: ``host:port``. connections_max: at a time; beyond them one without a request gives way, else the new one is
    closed. body_bytes_max: of one request as sent. port: once it is ``listening``. held_bytes: of bodies on their way.
    """

    def __init__(
        self,
        job_name: str,
        listen: str,
        tls: ServerTlsConfig | None,
        answer: Answer,
        *,
        connections_max: int,
        body_bytes_max: int,
    ) -> None:
        self._job, self._listen, self._answer = job_name, listen, answer
        self._tls = None if tls is None else ServerTls(tls, "http/1.1")
        self._bytes_max, self._held_max = body_bytes_max, max(_HELD_BYTES_MAX, _HELD_BODIES * body_bytes_max)
        self.held_bytes = 0
        self._listener = Listener(self, connections_max, self._context)
        self._runner: web.AppRunner | None = None
        self._bodies: set[_Body] = set()
        self._busy: set[RequestHandler] = set()
        self.port = 0
        self.listening = asyncio.Event()

    async def start(self) -> None:
        """ConfigError when the address is taken, or a file of ours cannot be read."""
        if self._tls is not None:
            self._tls.load()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answered)
        # what is packed is unpacked by who knows how large it may become
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_FaultsOfOurs(logging.getLogger("aiohttp.server"), self.refused),
            auto_decompress=False,
            keepalive_timeout=IDLE_S,
            max_headers=_HEADERS_MAX,
            shutdown_timeout=_STOP_S,
        )
        await self._runner.setup()
        host, _, port = self._listen.rpartition(":")
        try:
            self.port = await self._listener.start(host.strip("[]"), int(port))
        except OSError as error:
            await self.stop()
            raise ConfigError(f"{self._job}: {self._listen}: {error.strerror or error}") from error
        self.listening.set()

    async def stop(self) -> None:
        """Ends all connections, those that are answered within a second with their answer. Idempotent."""
        self.listening.clear()
        await self._listener.stop()
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def read(self, request: web.Request) -> bytes:
        """The body of a request. HttpRefused for one that is too large, too slow, or too much beside all others."""
        if (request.content_length or 0) > self._bytes_max:
            raise self._too_large(request.content_length)
        try:
            if request.content.is_eof():  # it came with its headers, as a small one does
                return self._whole(request.content.read_nowait())
            async with asyncio.timeout(BODY_S) as waiting:
                body = _Body(waiting)
                with self._holding(body):
                    async for part in request.content.iter_any():
                        body.data += part
                        self._hold(body, len(part))
                    return bytes(body.data)
        except web.RequestPayloadError:
            raise self.refuse(HTTPStatus.BAD_REQUEST, "a damaged body", RefusalReason.PROTOCOL) from None
        except TimeoutError:
            if body.is_shed:
                message = "the receiver holds more than it may, and this request has most of it"
                again = {"Retry-After": _RETRY_AFTER_S}
                raise self.refuse(HTTPStatus.SERVICE_UNAVAILABLE, message, RefusalReason.MEMORY, again) from None
            message = f"a body that was not whole after {BODY_S:g} s"
            raise self.refuse(HTTPStatus.REQUEST_TIMEOUT, message, RefusalReason.SLOW) from None

    def refuse(
        self, status: HTTPStatus, message: str, reason: RefusalReason, headers: Mapping[str, str] | None = None
    ) -> HttpRefused:
        """Counts what the caller raises."""
        self.refused(reason)
        return HttpRefused(status, message, headers or {})

    def refused(self, reason: RefusalReason) -> None:
        RECEIVER_REFUSALS.labels(self._job, reason).inc()

    def connection(self, address: str) -> asyncio.BaseProtocol:
        return self._server()()

    def count_connections(self) -> int:
        return len(self._server().connections)

    def make_room(self) -> bool:
        """The one that is open for longest gives way, of those without a request."""
        for each in self._server().connections:
            if each not in self._busy and each.transport is not None:
                each.force_close()
                self.refused(RefusalReason.IDLE)
                return True
        return False

    def _server(self) -> web.Server:
        assert self._runner is not None, "it listens"
        assert self._runner.server is not None, "it is set up"
        return self._runner.server

    def _context(self) -> ssl.SSLContext | None:
        return None if self._tls is None else self._tls.current()

    async def _answered(self, request: web.Request) -> web.Response:
        self._busy.add(request.protocol)
        try:
            return await self._answer(request)
        except ConnectionError:
            return web.Response(status=HTTPStatus.BAD_REQUEST)  # nobody reads it: the client has gone
        finally:
            self._busy.discard(request.protocol)

    @contextlib.contextmanager
    def _holding(self, body: _Body) -> Iterator[None]:
        self._bodies.add(body)
        try:
            yield
        finally:
            self._bodies.discard(body)
            self.held_bytes -= len(body.data)

    def _whole(self, data: bytes) -> bytes:
        if len(data) > self._bytes_max:
            raise self._too_large(None)
        return data

    def _hold(self, body: _Body, size: int) -> None:
        """The largest one gives way when all together are too much, so that those of others go on."""
        self.held_bytes += size
        if len(body.data) > self._bytes_max:
            raise self._too_large(None)
        if self.held_bytes > self._held_max:
            open_bodies = (each for each in self._bodies if not each.waiting.expired())
            if (largest := max(open_bodies, key=lambda each: len(each.data), default=None)) is not None:
                largest.is_shed = True
                largest.waiting.reschedule(0.0)

    def _too_large(self, size: int | None) -> HttpRefused:
        said = f"{size} bytes" if size is not None else "a body of more bytes"
        message = f"{said}: at most {self._bytes_max}"
        return self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, RefusalReason.TOO_LARGE)


class _FaultsOfOurs(logging.LoggerAdapter[logging.Logger]):
    """aiohttp's log without a traceback for each client that sends no HTTP: these are counted."""

    def __init__(self, logger: logging.Logger, refused: Callable[[RefusalReason], None]) -> None:
        super().__init__(logger)
        self._refused = refused

    def log(self, level: int, msg: object, *args: object, **options: Any) -> None:
        if isinstance(options.get("exc_info"), HttpProcessingError):
            self._refused(RefusalReason.PROTOCOL)
        else:
            super().log(level, msg, *args, **options)
