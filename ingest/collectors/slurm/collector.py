"""The collector of one Slurm cluster's running jobs."""

import asyncio
import time
from collections.abc import Mapping

import aiohttp
import numpy as np
import structlog

from common.errors import BadInput
from ingest.admission.line import Priority
from ingest.collectors.base import ClusterEvent, CollectorOutput
from ingest.collectors.slurm.config import Config
from ingest.collectors.slurm.jobs import changes, facts, parse_jobs
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import Job

_CHUNK = 64 * 1024

log = structlog.get_logger("ingest")


class _Failed(Exception):
    """A collection without a job list."""

    def __init__(self, reason: DownReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class SlurmCollector:
    """Jobs that started, changed or ended since the last collection, as facts and as changes of the cluster."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._table = SeriesTable(config.name, config.name, ())
        self._jobs: Mapping[str, Job] | None = None
        self._epoch_ns, self._seq = time.time_ns(), 0

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def priority(self) -> Priority:
        return Priority.HIGH  # little work, and all else is understood by it

    async def collect(self, now_ns: int) -> CollectorOutput:
        """The events since the last collection, or a batch with the reason of a failure, which ends no job."""
        began_s = time.monotonic()
        self._seq += 1
        try:
            async with asyncio.timeout(self._config.timeout_s):
                body = await self._body()
            found = await asyncio.to_thread(parse_jobs, body, gpu_jobs_only=self._config.gpu_jobs_only)
        except (_Failed, TimeoutError, BadInput) as error:
            reason = error.reason if isinstance(error, _Failed) else _reason(error)
            log.warning("job list not collected", target=self.name, reason=str(reason), error=str(error)[:200])
            collection = Collection(self._epoch_ns, self._seq - 1, now_ns, time.monotonic() - began_s, reason)
            none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
            return SampleBatch(self._table, collection, *none)
        if found.malformed:
            log.warning("job list has malformed entries", target=self.name, entries=found.malformed)
        events: list[ClusterEvent] = [*facts(self._jobs, found, now_ns, self.name), *changes(self._jobs, found, now_ns)]
        self._jobs = found.running
        return events

    async def stop(self) -> None:
        """Nothing is open between collections."""

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
            raise _Failed(DownReason.REFUSED, f"{self._config.file}: {error.strerror}") from error
        self._check_size(len(body))
        return body

    def _check_size(self, size: int) -> None:
        if size > self._config.body_bytes_max:
            raise _Failed(DownReason.TOO_LARGE, f"more than {self._config.body_bytes_max} bytes")

    async def _run(self) -> bytes:
        program, *arguments = self._config.command
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                program, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
            )
        except OSError as error:
            raise _Failed(DownReason.REFUSED, f"{program}: {error.strerror}") from error
        assert process.stdout is not None
        try:
            body = bytearray()
            while chunk := await process.stdout.read(_CHUNK):
                body += chunk
                self._check_size(len(body))
            if code := await process.wait():
                raise _Failed(DownReason.CLOSED, f"{program} exited with {code}")
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
                    raise _Failed(DownReason.AUTH, f"status {response.status}")
                if 300 <= response.status < 400:
                    raise _Failed(DownReason.REDIRECT, f"status {response.status}")
                if response.status != 200:
                    raise _Failed(DownReason.HTTP_STATUS, f"status {response.status}")
                body = bytearray()
                async for chunk in response.content.iter_chunked(_CHUNK):
                    body += chunk
                    self._check_size(len(body))
                return bytes(body)
        except aiohttp.ClientConnectorDNSError as error:
            raise _Failed(DownReason.DNS, str(error)) from error
        except aiohttp.ClientSSLError as error:
            raise _Failed(DownReason.TLS, str(error)) from error
        except aiohttp.ClientConnectorError as error:
            raise _Failed(DownReason.REFUSED, str(error)) from error
        except aiohttp.ClientPayloadError as error:
            raise _Failed(DownReason.TRUNCATED, str(error)) from error
        except aiohttp.ClientError as error:
            raise _Failed(DownReason.CLOSED, str(error)) from error

    def _headers(self) -> dict[str, str]:
        headers = {"X-SLURM-USER-NAME": self._config.user} if self._config.user else {}
        if self._config.token_file is not None:
            try:
                headers["X-SLURM-USER-TOKEN"] = self._config.token_file.read_text().strip()
            except OSError as error:
                raise _Failed(DownReason.AUTH, f"{self._config.token_file}: {error.strerror}") from error
        return headers


def _reason(error: Exception) -> DownReason:
    if isinstance(error, BadInput):
        return DownReason.TOO_LARGE if error.reason == "too_large" else DownReason.BAD_FORMAT
    return DownReason.TIMEOUT
