"""Where the JSON of one Slurm cluster comes from: a command, slurmrestd, or a file."""

import asyncio

import aiohttp

from ingest.collectors.command import Command, NoAnswer, check_size, read_file
from ingest.collectors.slurm.config import SourceConfig
from telemetry.samples import DownReason

_CHUNK = 64 * 1024


class Source:
    """Reads one document within a deadline, of at most ``body_bytes_max``."""

    def __init__(self, config: SourceConfig) -> None:
        self._config = config
        self._command = Command(config.command, config.body_bytes_max)

    async def read(self) -> bytes:
        """NoAnswer with the reason; TimeoutError after ``timeout_s``."""
        async with asyncio.timeout(self._config.timeout_s):
            return await self._body()

    async def _body(self) -> bytes:
        if self._config.command:
            return await self._command.read()
        if self._config.url:
            return await self._get()
        assert self._config.file is not None
        return await read_file(self._config.file, self._config.body_bytes_max)

    async def _get(self) -> bytes:
        timeout = aiohttp.ClientTimeout(total=self._config.timeout_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(self._config.url, headers=self._headers(), allow_redirects=False) as response,
            ):
                if response.status in (401, 403):
                    raise NoAnswer(DownReason.AUTH, f"status {response.status}")
                if 300 <= response.status < 400:
                    raise NoAnswer(DownReason.REDIRECT, f"status {response.status}")
                if response.status != 200:
                    raise NoAnswer(DownReason.HTTP_STATUS, f"status {response.status}")
                body = bytearray()
                async for chunk in response.content.iter_chunked(_CHUNK):
                    body += chunk
                    check_size(len(body), self._config.body_bytes_max)
                return bytes(body)
        except aiohttp.ClientConnectorDNSError as error:
            raise NoAnswer(DownReason.DNS, str(error)) from error
        except aiohttp.ClientSSLError as error:
            raise NoAnswer(DownReason.TLS, str(error)) from error
        except aiohttp.ClientConnectorError as error:
            raise NoAnswer(DownReason.REFUSED, str(error)) from error
        except aiohttp.ClientPayloadError as error:
            raise NoAnswer(DownReason.TRUNCATED, str(error)) from error
        except aiohttp.ClientError as error:
            raise NoAnswer(DownReason.CLOSED, str(error)) from error

    def _headers(self) -> dict[str, str]:
        headers = {"X-SLURM-USER-NAME": self._config.user} if self._config.user else {}
        if self._config.token_file is not None:
            try:
                headers["X-SLURM-USER-TOKEN"] = self._config.token_file.read_text().strip()
            except OSError as error:
                raise NoAnswer(DownReason.AUTH, f"{self._config.token_file}: {error.strerror}") from error
        return headers
