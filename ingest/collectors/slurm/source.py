"""Where the JSON of one Slurm cluster comes from: a command, slurmrestd, or a file."""

import asyncio

import aiohttp

from ingest.collectors.list_collector import NoList
from ingest.collectors.slurm.config import SourceConfig
from telemetry.samples import DownReason

_CHUNK = 64 * 1024


class Source:
    """Reads one document within a deadline, of at most ``body_bytes_max``."""

    def __init__(self, config: SourceConfig) -> None:
        self._config = config

    async def read(self) -> bytes:
        """NoList with the reason; TimeoutError after ``timeout_s``."""
        async with asyncio.timeout(self._config.timeout_s):
            return await self._body()

    async def _body(self) -> bytes:
        if self._config.command:
            return await self._run()
        if self._config.url:
            return await self._get()
        assert self._config.file is not None
        try:
            with self._config.file.open("rb") as file:
                body = file.read(self._config.body_bytes_max + 1)
        except OSError as error:
            raise NoList(DownReason.REFUSED, f"{self._config.file}: {error.strerror}") from error
        self._check_size(len(body))
        return body

    def _check_size(self, size: int) -> None:
        if size > self._config.body_bytes_max:
            raise NoList(DownReason.TOO_LARGE, f"more than {self._config.body_bytes_max} bytes")

    async def _run(self) -> bytes:
        program, *arguments = self._config.command
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                program, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
            )
        except OSError as error:
            raise NoList(DownReason.REFUSED, f"{program}: {error.strerror}") from error
        assert process.stdout is not None
        try:
            body = bytearray()
            while chunk := await process.stdout.read(_CHUNK):
                body += chunk
                self._check_size(len(body))
            if code := await process.wait():
                raise NoList(DownReason.CLOSED, f"{program} exited with {code}")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return bytes(body)

    async def _get(self) -> bytes:
        timeout = aiohttp.ClientTimeout(total=self._config.timeout_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(self._config.url, headers=self._headers(), allow_redirects=False) as response,
            ):
                if response.status in (401, 403):
                    raise NoList(DownReason.AUTH, f"status {response.status}")
                if 300 <= response.status < 400:
                    raise NoList(DownReason.REDIRECT, f"status {response.status}")
                if response.status != 200:
                    raise NoList(DownReason.HTTP_STATUS, f"status {response.status}")
                body = bytearray()
                async for chunk in response.content.iter_chunked(_CHUNK):
                    body += chunk
                    self._check_size(len(body))
                return bytes(body)
        except aiohttp.ClientConnectorDNSError as error:
            raise NoList(DownReason.DNS, str(error)) from error
        except aiohttp.ClientSSLError as error:
            raise NoList(DownReason.TLS, str(error)) from error
        except aiohttp.ClientConnectorError as error:
            raise NoList(DownReason.REFUSED, str(error)) from error
        except aiohttp.ClientPayloadError as error:
            raise NoList(DownReason.TRUNCATED, str(error)) from error
        except aiohttp.ClientError as error:
            raise NoList(DownReason.CLOSED, str(error)) from error

    def _headers(self) -> dict[str, str]:
        headers = {"X-SLURM-USER-NAME": self._config.user} if self._config.user else {}
        if self._config.token_file is not None:
            try:
                headers["X-SLURM-USER-TOKEN"] = self._config.token_file.read_text().strip()
            except OSError as error:
                raise NoList(DownReason.AUTH, f"{self._config.token_file}: {error.strerror}") from error
        return headers
