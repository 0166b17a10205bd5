"""HTTP requests to one peer: a total deadline, bounded answers, no redirects, and no address or secret in a message.

Sources are scraped by a reader of their own (``ingest/transport``), which costs a third of the CPU.
"""

import asyncio
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.connector import AddrInfoType

from common.errors import ConfigError, Unavailable
from common.retry import retry_after_s
from common.tls import TlsConfig, client_context

RETRY_AFTER_S_MAX = 300.0
EXPLANATION_BYTES_MAX = 4096
_CHUNK_BYTES = 64 * 1024
# 408 and 425 ask for a repetition by their own definition
_BUSY = frozenset({408, 425, 429})


_METADATA = tuple(map(ipaddress.ip_network, ("169.254.0.0/16", "fe80::/10", "100.100.100.200/32", "fd00:ec2::254/128")))
"""Link-local addresses, where clouds give credentials to whoever asks, and the two that clouds have elsewhere."""


class FailureReason(StrEnum):
    """Why there is no answer."""

    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    CLOSED = "closed"


class _Refused(OSError):
    """An address that is never connected to."""


class NoAnswer(Unavailable):
    """The peer did not answer. detail: what happened, in the library's words, which may show the address."""

    def __init__(self, message: str, reason: FailureReason, detail: str = "") -> None:
        super().__init__(message)
        self.reason, self.detail = reason, detail or message


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back. body: as much of it as was asked for. retry_after, link: headers, None without one.

    headers: all of them; names in any case find them.
    """

    status: int
    body: bytes
    retry_after: str | None = None
    link: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_busy(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _BUSY or self.status >= 500

    @property
    def after_s(self) -> float | None:
        """How long the peer asked us to wait, at most ``RETRY_AFTER_S_MAX``; None when it did not say."""
        return retry_after_s(self.retry_after, time.time(), most_s=RETRY_AFTER_S_MAX)

    def explanation(self, chars_max: int) -> str:
        """The beginning of the body as one harmless line, for a message.

        >>> HttpAnswer(400, b"no\\x1b[31m\\r\\nway").explanation(7)
        'no [31m'
        """
        text = self.body.decode("utf-8", "replace")[:chars_max]
        return "".join(c if c.isprintable() else " " for c in text).strip()


class HttpClient:
    """Requests over connections that are kept from ``start`` to ``stop``; proxies of the environment are ignored.

    No connection is made to an address of ``is_metadata``, whatever name leads there.
    timeout_s: deadline of one request, all of it. connections_max: at a time; further requests wait, within theirs.
    """

    def __init__(self, *, timeout_s: float, tls: TlsConfig | None = None, connections_max: int = 1) -> None:
        self._timeout_s, self._tls, self._connections_max = timeout_s, tls or TlsConfig(), connections_max
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """ConfigError when a certificate is not usable."""
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._timeout_s),
            connector=aiohttp.TCPConnector(
                limit=self._connections_max, ssl=client_context(self._tls), socket_factory=_socket
            ),
            headers={"User-Agent": "fabricscope"},
            trust_env=False,
        )

    async def stop(self) -> None:
        """Idempotent, safe before ``start``."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, body_bytes_max: int = EXPLANATION_BYTES_MAX
    ) -> HttpAnswer:
        """The answer with the beginning of its body, at most ``body_bytes_max``.

        Raises NoAnswer, and ConfigError when the address or a header is not usable.
        """
        return await self._request("POST", url, body, headers, partial(_beginning, bytes_max=body_bytes_max))

    async def get(self, url: str, headers: Mapping[str, str], *, body_bytes_max: int) -> HttpAnswer:
        """The answer with its whole body; a larger one is NoAnswer. Raises as ``post``."""
        return await self._request("GET", url, None, headers, partial(_whole, bytes_max=body_bytes_max))

    async def delete(self, url: str, headers: Mapping[str, str]) -> HttpAnswer:
        """The answer with the beginning of its body. Raises as ``post``."""
        return await self._request("DELETE", url, None, headers, partial(_beginning, bytes_max=EXPLANATION_BYTES_MAX))

    async def _request(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        read: Callable[[aiohttp.ClientResponse], Awaitable[bytes]],
    ) -> HttpAnswer:
        assert self._session is not None, "start it first"
        try:
            async with self._session.request(
                method,
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                server_hostname=self._tls.server_name or None,
            ) as answer:
                sent = answer.headers
                return HttpAnswer(answer.status, await read(answer), sent.get("Retry-After"), sent.get("Link"), sent)
        except TimeoutError as error:
            raise NoAnswer(f"no answer within {self._timeout_s:g} s", FailureReason.TIMEOUT) from error
        except aiohttp.ClientSSLError as error:  # one for a certificate is a ValueError too
            raise NoAnswer(type(error).__name__, FailureReason.TLS, str(error)) from error
        except (aiohttp.InvalidURL, ValueError) as error:
            raise ConfigError("the address or a header is not usable") from error
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, _Refused):
                raise NoAnswer(str(error.os_error), FailureReason.REFUSED, str(error)) from error
            # the class says what happened; the text may hold the address
            raise NoAnswer(type(error).__name__, _reason(error), str(error)) from error


def is_metadata(address: str) -> bool:
    """Whether an IP address is link-local or of a cloud's metadata service.

    >>> is_metadata("169.254.169.254"), is_metadata("::ffff:169.254.169.254"), is_metadata("10.0.0.1")
    (True, True, False)
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in _METADATA)


def _socket(address: AddrInfoType) -> socket.socket:
    """For the address that is connected to: what a name meant when it was looked at before may have changed."""
    family, kind, protocol, _, where = address
    if is_metadata(str(where[0])):
        raise _Refused("the address is link-local or of a metadata service, which is refused")
    return socket.socket(family, kind, protocol)


async def _beginning(answer: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    body = bytearray()
    while len(body) < bytes_max and (part := await answer.content.read(bytes_max - len(body))):
        body += part
    return bytes(body)


async def _whole(answer: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    body = bytearray()
    too_large = NoAnswer(f"body of more than {bytes_max} bytes", FailureReason.TOO_LARGE)
    if (answer.content_length or 0) > bytes_max:
        raise too_large
    async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
        body += chunk
        if len(body) > bytes_max:
            raise too_large
    return bytes(body)


def _reason(error: Exception) -> FailureReason:
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    return FailureReason.CLOSED


# in order: a name that is not found is a connector error too
_REASONS: dict[type[Exception], FailureReason] = {
    aiohttp.ClientConnectorDNSError: FailureReason.DNS,
    aiohttp.ClientConnectorError: FailureReason.REFUSED,
    aiohttp.ClientPayloadError: FailureReason.TRUNCATED,
}
