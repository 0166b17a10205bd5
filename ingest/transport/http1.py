"""A small HTTP/1.1 client for scrapes: keep-alive, one request at a time, one deadline, hard limits, no redirects.

Why not aiohttp: a scrape through it costs three times the CPU; see docs/decisions.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import cast
from urllib.parse import quote, urlencode, urlsplit

from common.tls import TlsConfig, client_context, peer_expiry_s
from ingest.admission.descriptors import is_reserved
from ingest.admission.reasons import OutOfDescriptors
from ingest.transport.http1_response import FetchFailed, Response, ResponseReader, gunzip
from telemetry.samples import DownReason

__all__ = ["FetchFailed", "HttpClient", "Response", "Url"]

_PORTS = {"http": 80, "https": 443}
_DEFAULT_TLS = partial(client_context, TlsConfig())


@dataclass(frozen=True, slots=True)
class Url:
    """Where a target is scraped. path includes the query."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def build(cls, scheme: str, address: str, path: str, params: Mapping[str, tuple[str, ...]]) -> "Url":
        """From a target's ``host:port`` (or ``host``, ``[v6]:port``). ValueError says what is wrong."""
        if scheme not in _PORTS:
            raise ValueError(f"scheme {scheme[:80]!r}: expected {' or '.join(_PORTS)}")
        try:
            parts = urlsplit(f"//{address}")
            host, port = parts.hostname or "", parts.port or _PORTS[scheme]
        except ValueError as error:
            raise ValueError(f"address {address[:80]!r}: expected host:port: {error}") from None
        if not host or not host.isprintable() or " " in host or parts.path:
            raise ValueError(f"address {address[:80]!r}: expected host:port")
        query = urlencode(params, doseq=True)
        path = quote(path, safe="/?&=%:;,@+~!$'()*")
        return cls(scheme, host, port, f"{path}?{query}" if query else path)

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class HttpClient:
    """Fetches one URL again and again over one connection.

    headers: sent as they are; a callable is called for each new connection (secrets from files).
    tls:     makes the context for each new connection, so that renewed certificates take effect.
    workers: threads that unpack large bodies; None for the loop's own.
    """

    def __init__(
        self,
        url: Url,
        *,
        headers: Mapping[str, str] | Callable[[], Mapping[str, str]] = {},  # noqa: B006 (never written)
        tls: Callable[[], ssl.SSLContext] = _DEFAULT_TLS,
        server_name: str | None = None,
        connect_timeout_s: float = 10.0,
        raw_bytes_max: int = 16 * 1024 * 1024,
        decoded_bytes_max: int = 64 * 1024 * 1024,
        workers: Executor | None = None,
    ) -> None:
        self._url, self._headers, self._tls, self._server_name = url, headers, tls, server_name
        self._connect_timeout_s = connect_timeout_s
        self._raw_bytes_max, self._decoded_bytes_max = raw_bytes_max, decoded_bytes_max
        self._workers = workers
        self._connection: _Connection | None = None
        self._request = b""
        self.certificate_expires_s: float | None = None

    async def fetch(self, deadline: float) -> Response:
        """One GET, finished by ``deadline`` (the loop's time) or FetchFailed; OutOfDescriptors before a connection."""
        connection = self._connection
        if connection is not None and connection.usable:
            try:
                return await self._get(connection, deadline)
            except FetchFailed as failure:
                # A server may close an idle connection just as the request is sent: that is no failure of the target.
                if not (failure.reason is DownReason.CLOSED and connection.reused):
                    raise
        connection = await self._connect(deadline)
        return await self._get(connection, deadline)

    async def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _get(self, connection: "_Connection", deadline: float) -> Response:
        try:
            response = await connection.request(self._request, deadline)
        except (FetchFailed, asyncio.CancelledError):  # what comes on it later would answer another request
            connection.close()
            self._connection = None
            raise
        if not connection.usable:
            connection.close()
            self._connection = None
        return await self._unpacked(response, deadline) if response.packed else response

    async def _unpacked(self, response: Response, deadline: float) -> Response:
        unpacking = asyncio.get_running_loop().run_in_executor(
            self._workers, gunzip, response.body, self._decoded_bytes_max
        )
        try:
            async with asyncio.timeout_at(deadline):
                body = await unpacking
        except TimeoutError:
            raise FetchFailed(DownReason.TIMEOUT, "not unpacked in time") from None
        return Response(response.content_type, body, response.framed)

    async def _connect(self, deadline: float) -> "_Connection":
        url = self._url
        loop = asyncio.get_running_loop()
        try:
            self._request = self._build_request()
            context = self._tls() if url.scheme == "https" else None
            name = (self._server_name or url.host) if context else None
            async with asyncio.timeout_at(min(deadline, loop.time() + self._connect_timeout_s)):
                transport, connection = await loop.create_connection(
                    lambda: _Connection(loop, self._raw_bytes_max, self._decoded_bytes_max),
                    url.host,
                    url.port,
                    ssl=context,
                    server_hostname=name,
                )
        except (TimeoutError, OSError, UnicodeError) as error:
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                raise OutOfDescriptors from None
            raise FetchFailed(_reason(error), _message(error)) from None
        if is_reserved(connection.descriptor):
            connection.close()
            raise OutOfDescriptors
        self._connection = connection
        self.certificate_expires_s = peer_expiry_s(transport)
        return connection

    def _build_request(self) -> bytes:
        headers = self._headers() if callable(self._headers) else self._headers
        lines = [f"GET {self._url.path} HTTP/1.1", f"Host: {self._url.authority}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise FetchFailed(DownReason.AUTH, "a header holds a line feed")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


class _Connection(asyncio.Protocol):
    """One TCP connection with at most one request in flight."""

    def __init__(self, loop: asyncio.AbstractEventLoop, raw_bytes_max: int, decoded_bytes_max: int) -> None:
        self._loop, self._limits = loop, (raw_bytes_max, decoded_bytes_max)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._reader: ResponseReader | None = None
        self._requests = 0

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def reused(self) -> bool:
        return self._requests > 1

    @property
    def descriptor(self) -> int:
        """-1 when it is closed already."""
        return -1 if self._transport is None else self._transport.get_extra_info("socket").fileno()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    async def request(self, request: bytes, deadline: float) -> Response:
        assert self._transport is not None
        assert self._waiter is None, "one request at a time"
        self._requests += 1
        self._waiter = self._loop.create_future()
        self._reader = ResponseReader(*self._limits)
        timer = self._loop.call_at(deadline, self._fail, DownReason.TIMEOUT, "no whole response in time")
        self._transport.write(request)
        try:
            return await self._waiter
        finally:
            timer.cancel()
            self._waiter = self._reader = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        if reader is None or self._waiter is None or self._waiter.done():
            self.close()  # bytes without a request: the framing is lost
            return
        try:
            response = reader.feed(data)
        except FetchFailed as failure:
            self._fail(failure.reason, str(failure))
            return
        if response is not None:
            if reader.closes:
                self.close()
            self._waiter.set_result(response)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._reader is None:
            return
        if error is not None:
            self._fail(_reason(error), _message(error))
            return
        try:
            response = self._reader.finish()
        except FetchFailed as failure:
            self._fail(failure.reason, str(failure))
            return
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(response)

    def _fail(self, reason: DownReason, message: str) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(FetchFailed(reason, message))


def _reason(error: BaseException) -> DownReason:
    if isinstance(error, TimeoutError):
        return DownReason.TIMEOUT
    if isinstance(error, socket.gaierror | UnicodeError):
        return DownReason.DNS
    if isinstance(error, ssl.SSLError | ssl.CertificateError):
        return DownReason.TLS
    if isinstance(error, ConnectionResetError | BrokenPipeError | ConnectionAbortedError):
        return DownReason.RESET
    return DownReason.REFUSED


def _message(error: BaseException) -> str:
    return str(error) or type(error).__name__
