"""One document over HTTP, as collectors of lists read it: the whole of it within a deadline, or the reason why not."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from urllib.parse import urlsplit, urlunsplit

from common.errors import ConfigError
from common.tls import TlsConfig, client_context
from ingest.collectors.command import NoAnswer
from ingest.transport.http1 import FetchFailed, HttpClient, Response, Url
from telemetry.samples import DownReason


class HttpDocument:
    """Reads it again and again over one connection.

    headers: called for each new connection; FetchFailed where a secret cannot be read. workers: unpack large bodies.
    """

    def __init__(
        self,
        url: Url,
        headers: Callable[[], Mapping[str, str]],
        tls_config: TlsConfig,
        *,
        timeout_s: float,
        raw_bytes_max: int,
        decoded_bytes_max: int,
        workers: Executor | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._client = HttpClient(
            url,
            headers=headers,
            tls=lambda: client_context(tls_config),
            server_name=tls_config.server_name,
            connect_timeout_s=timeout_s,
            raw_bytes_max=raw_bytes_max,
            decoded_bytes_max=decoded_bytes_max,
            workers=workers,
        )

    async def read(self) -> Response:
        """NoAnswer with the reason; OutOfDescriptors before a connection."""
        try:
            return await self._client.fetch(asyncio.get_running_loop().time() + self._timeout_s)
        except FetchFailed as failure:
            raise NoAnswer(failure.reason, str(failure)) from failure
        except ConfigError as error:
            raise NoAnswer(DownReason.TLS, f"tls_config: {error}") from None

    async def stop(self) -> None:
        await self._client.stop()


def document_url(url: str, default_path: str = "/") -> Url:
    """default_path: of an address without one."""
    parts = urlsplit(url)
    return Url.build(parts.scheme, parts.netloc, urlunsplit(("", "", parts.path or default_path, parts.query, "")), {})
