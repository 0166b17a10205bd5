"""Where the JSON of one Slurm cluster comes from: a command, slurmrestd, or a file."""

import asyncio
import base64
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from common.errors import Unavailable
from common.secrets import read_secret_text
from ingest.collectors.command import Command, read_file
from ingest.collectors.http_document import HttpDocument, document_url
from ingest.collectors.slurm.config import SourceConfig
from ingest.transport.http1 import FetchFailed
from telemetry.samples import DownReason


class Source:
    """Reads one document within a deadline, of at most ``body_bytes_max``."""

    def __init__(self, config: SourceConfig) -> None:
        self._config = config
        self._command = Command(config.command, config.body_bytes_max)
        self._served: HttpDocument | None = None
        if config.url:
            self._served = HttpDocument(
                document_url(config.url),
                self._headers,
                config.tls_config,
                timeout_s=config.timeout_s,
                raw_bytes_max=config.body_bytes_max,
                decoded_bytes_max=config.body_bytes_max,
            )

    async def read(self) -> bytes:
        """NoAnswer with the reason; TimeoutError after ``timeout_s``."""
        if self._served is not None:
            try:
                return (await self._served.read()).body
            finally:
                await self._served.stop()  # the next request has the token of its time, as tokens live for minutes
        async with asyncio.timeout(self._config.timeout_s):
            if self._config.command:
                return await self._command.read()
            assert self._config.file is not None
            return await read_file(self._config.file, self._config.body_bytes_max)

    def _headers(self) -> Mapping[str, str]:
        headers = {"User-Agent": "Fabricscope", "Accept": "application/json", "Accept-Encoding": "gzip"}
        named = urlsplit(self._config.url)
        if named.username is not None:
            pair = f"{unquote(named.username)}:{unquote(named.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        if self._config.user:
            headers["X-SLURM-USER-NAME"] = self._config.user
        if self._config.token_file is not None:
            try:
                headers["X-SLURM-USER-TOKEN"] = read_secret_text(self._config.token_file)
            except Unavailable as error:
                raise FetchFailed(DownReason.AUTH, str(error)) from None
        return headers
