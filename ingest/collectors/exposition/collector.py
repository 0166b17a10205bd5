"""One target over HTTP: fetch its body, decode it, count it."""

import asyncio
import contextlib
import ssl
from collections.abc import Iterator, Mapping, Set
from functools import partial
from typing import Protocol

import numpy as np
import structlog

from common.errors import BadInput, ConfigError, Unavailable
from common.tls import TlsConfig, client_context
from ingest.admission.line import Priority
from ingest.admission.reasons import OutOfDescriptors
from ingest.collectors.base import CollectorContext, SourceSeries
from ingest.collectors.command import NoAnswer, reason_of
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.decode.body import BodyReader, BodySamples
from ingest.collectors.exposition.decode.mapping import Entry, Mapper
from ingest.collectors.exposition.discovery import Target
from ingest.collectors.guid_names import PortNames
from ingest.metrics import CERTIFICATE_EXPIRY
from ingest.transport.http1 import FetchFailed, HttpClient, Response
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

log = structlog.get_logger("ingest")
_ACCEPT = "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"
_TURN_SHARE = 0.5  # of the timeout: how long to wait for other targets of the device
_OTHER_TYPES = ("text/html", "application/json", "application/xml")


class ExpositionCollector:
    """Scrapes one target.

    When it was created, with its sequence numbers, names its collections.
    """

    def __init__(self, job: ScrapeConfig, target: Target, context: CollectorContext) -> None:
        source = job.catalogue_source()
        self._job, self._target, self._ledger, self._epoch_ns = job, target, context.ledger, context.clock()
        self._workers, self._pages, self._pace, self._clock = (
            context.workers,
            context.pages,
            context.pace,
            context.clock,
        )
        self._mapper = Mapper(source, dict(target.identity), job.origins(), keep=job.unmapped == "keep")
        self._reader = _reader(job, target, self._mapper)
        self._guid_names = context.guid_names
        self._port_names: PortNames | None = None
        self._client = HttpClient(
            target.url,
            headers=self._headers,
            tls=lambda: _tls_context(job.tls_config),
            server_name=job.tls_config.server_name,
            connect_timeout_s=job.connect_timeout,
            raw_bytes_max=job.body_bytes_max,
            decoded_bytes_max=job.decoded_bytes_max,
            workers=context.workers,
        )
        self._table = SeriesTable(target.name, target.device, ())
        self._seq = 0
        self._down: DownReason | None = None
        self._failures = self._skips = 0
        self._logged_bug = False

    @property
    def name(self) -> str:
        return self._target.name

    @property
    def interval_s(self) -> float:
        return self._job.scrape_interval

    @property
    def priority(self) -> Priority:
        return self._job.priority

    @property
    def unmapped(self) -> Set[str]:
        return self._mapper.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """Of the last body."""
        return (self._mapper.source_series(*found) for found in self._reader.series())

    async def collect(self, now_ns: int) -> SampleBatch:
        if self._skips and self._down is not None:
            self._skips -= 1
            return self._down_batch(self._down, now_ns, 0.0)
        loop = asyncio.get_running_loop()
        started = loop.time()
        deadline, device = started + self._job.timeout_s, self._target.device
        if await self._pace.begin(device, started + _TURN_SHARE * self._job.timeout_s):
            started, now_ns = loop.time(), self._clock()
        try:
            return await self._collect(now_ns, started, deadline)
        except OutOfDescriptors:
            raise
        except Exception as error:
            return self._failed_by_bug(error, now_ns, loop.time() - started)
        finally:
            self._pace.end(device)

    async def _collect(self, now_ns: int, started: float, deadline: float) -> SampleBatch:
        """started, deadline: the loop's time."""
        loop = asyncio.get_running_loop()
        try:
            if self._job.guids_from:
                await self._follow_names(deadline)
            response = await self._client.fetch(deadline)
            if (expires_s := self._client.certificate_expires_s) is not None:
                CERTIFICATE_EXPIRY.labels(self.name).set(expires_s)
            found = await self._read(response, now_ns)
        except FetchFailed as failure:
            return self._failed(failure.reason, str(failure), now_ns, loop.time() - started)
        except BadInput as error:
            return self._failed(DownReason(error.reason), str(error), now_ns, loop.time() - started)
        self._count(found)
        if not found.values.size:
            return self._failed(DownReason.NO_SAMPLES, "no known series", now_ns, loop.time() - started)
        self._set_down(None, "")
        self._failures = 0
        self._table = found.table
        duration_s = loop.time() - started
        collection = Collection(
            self._epoch_ns,
            self._next_seq(),
            now_ns,
            duration_s,
            unmapped=found.unmapped,
            left_out=found.left_out,
        )
        return SampleBatch(found.table, collection, found.times_ns, found.series, found.values)

    async def _follow_names(self, deadline: float) -> None:
        """Of the fabric as it was read last. FetchFailed where it never was: a device must not change its name."""
        try:
            async with asyncio.timeout_at(deadline):
                names = await self._guid_names.of(self._job.guids_from)
        except (NoAnswer, BadInput, TimeoutError) as error:
            raise FetchFailed(reason_of(error), f"names of {self._job.guids_from}: {error}") from None
        if names is self._port_names:
            return
        if names != self._port_names:
            self._mapper.named = names.of_guid
            self._reader.forget()
        self._port_names = names

    def _count(self, found: BodySamples) -> None:
        self._ledger.received(found.received, self.name)
        self._ledger.unmapped(found.unmapped)
        for reason, count in found.dropped.items():
            self._ledger.dropped(reason, count, self.name)

    async def stop(self) -> None:
        await self._client.stop()
        with contextlib.suppress(KeyError):
            CERTIFICATE_EXPIRY.remove(self.name)

    async def _read(self, response: Response, now_ns: int) -> BodySamples:
        body = response.body
        openmetrics = response.content_type.startswith("application/openmetrics-text")
        if response.content_type.startswith(_OTHER_TYPES):
            raise BadInput(f"content type {response.content_type[:60]}", "not_exposition")
        if not response.framed and not body.endswith(b"\n"):
            raise BadInput("the connection closed in the middle of a line", "truncated")
        found = self._reader.read_known(body, now_ns, openmetrics=openmetrics)
        if found is not None:
            self._pages.saw(len(body))
            return found
        # A new layout costs milliseconds to seconds: not on the event loop.
        read = partial(self._reader.read, body, now_ns, openmetrics=openmetrics)
        with self._pages.holding(len(body)):
            return await asyncio.get_running_loop().run_in_executor(self._workers, read)

    def _failed_by_bug(self, error: Exception, now_ns: int, duration_s: float) -> SampleBatch:
        """Our own fault must not make the target vanish: it is down as any other. What was learned may be wrong."""
        if not self._logged_bug:  # the traceback once, then changes as for other reasons
            self._logged_bug = True
            log.exception("collector failed", target=self.name)
        self._reader.forget()
        return self._failed(DownReason.INTERNAL, f"{type(error).__name__}: {error}"[:200], now_ns, duration_s)

    def _failed(self, reason: DownReason, message: str, now_ns: int, duration_s: float) -> SampleBatch:
        """Also decides how many collections repeat this outcome before the next request."""
        self._set_down(reason, message)
        self._failures += 1
        self._skips = min(2 ** min(self._failures - 1, 10), self._job.backoff_intervals_max) - 1
        return self._down_batch(reason, now_ns, duration_s)

    def _down_batch(self, reason: DownReason, now_ns: int, duration_s: float) -> SampleBatch:
        return down_batch(self._table, Collection(self._epoch_ns, self._next_seq(), now_ns, duration_s, reason))

    def _set_down(self, down: DownReason | None, message: str) -> None:
        """Logs changes, not every collection."""
        if down is self._down:
            return
        self._down = down
        bound = log.bind(job=self._job.job_name, target=self.name, device=self._target.device)
        if down is None:
            bound.info("target is up")
        else:
            bound.info("target is down", reason=str(down), error=message)

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq - 1

    def _headers(self) -> Mapping[str, str]:
        job = self._job
        headers = {"User-Agent": "Fabricscope", "Accept": _ACCEPT}
        headers["Accept-Encoding"] = "gzip" if job.enable_compression else "identity"
        headers["X-Prometheus-Scrape-Timeout-Seconds"] = f"{job.timeout_s:g}"
        try:
            return headers | job.secret_headers()
        except Unavailable as error:
            raise FetchFailed(DownReason.AUTH, str(error)) from None


class PageReader(Protocol):
    """Turns the pages of one target into samples; ``read`` is for a worker thread."""

    def read_known(self, body: bytes, now_ns: int, *, openmetrics: bool = False) -> BodySamples | None: ...

    def read(self, body: bytes, now_ns: int, *, openmetrics: bool = False) -> BodySamples: ...

    def forget(self) -> None: ...

    def series(self) -> Iterator[tuple[str, Mapping[str, str], tuple[Entry, ...] | None]]:
        """Each series of the last pages, with what it feeds: () for nothing, None where it is left out."""
        ...


def _reader(job: ScrapeConfig, target: Target, mapper: Mapper) -> PageReader:
    source = job.catalogue_source()
    if job.format == "csv":
        from ingest.collectors.exposition.decode.csv_page import CsvReader  # loads polars

        return CsvReader(
            target.name,
            target.device,
            mapper,
            source,
            job.origins(),
            series_max=job.series_max,
            kept_max=job.unmapped_series_max,
        )
    return BodyReader(
        target.name,
        target.device,
        mapper,
        series_max=job.series_max,
        kept_max=job.unmapped_series_max,
        sentinels=source.sentinels,
    )


def down_batch(table: SeriesTable, collection: Collection) -> SampleBatch:
    """A collection without samples."""
    return SampleBatch(
        table, collection, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float64)
    )


def _tls_context(config: TlsConfig) -> ssl.SSLContext:
    try:
        return client_context(config)
    except ConfigError as error:
        raise FetchFailed(DownReason.TLS, f"tls_config: {error}") from None


def check_files(job: ScrapeConfig) -> None:
    """ConfigError for secrets and certificates that cannot be read at start."""
    named = job.files
    for number, http in enumerate(job.http_sd_configs):
        named |= {f"http_sd_configs.{number}.{key}": file for key, file in http.files.items()}
    for key, path in named.items():
        if not path.is_file():
            raise ConfigError(f"scrape_configs: {job.job_name}: {key}: {path} is not a readable file")
