"""The receiver: an HTTP server whose answers wait until the samples are queued."""

import asyncio
import contextlib
from collections.abc import Iterator, Set
from http import HTTPStatus

import structlog
from aiohttp import web

from common.errors import BadInput, Unavailable
from common.threads import OneThread
from common.units import to_ns
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.http_receiver import HttpRefused, HttpServer
from ingest.collectors.pushed_series import PushedSeries, warm_up
from ingest.collectors.remote_write import metrics
from ingest.collectors.remote_write.config import Config
from ingest.collectors.remote_write.credentials import asks_for, is_let_in
from ingest.collectors.remote_write.decode.body import TOO_LARGE, Message, ReadRequest, RequestReader
from ingest.collectors.remote_write.decode.body import warm_up as warm_up_decode
from ingest.collectors.remote_write.negotiation import message_of

log = structlog.get_logger("ingest")
_RETRY_AFTER_S = 5
_LOG_S = 60.0
_THREAD_BYTES = 2 * 1024
"""Compressed: what is larger is read in a thread. As much of series that are all new blocks the event loop for
some 10 ms, four times as much for 50; known ones cost less than a change of threads."""
_WRITTEN = "X-Prometheus-Remote-Write-{}-Written"


class RemoteWriteCollector:
    """One receiver. port: while it listens."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        self._config, self._context = config, context
        limits = config.limits
        series = PushedSeries(
            config.job_name,
            config.rules,
            context.clock(),
            series_max=limits.series_max,
            targets_max=limits.targets_max,
        )
        self._series, self._reader = series, RequestReader(series, limits.decoded_bytes_max)
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._queued = asyncio.Condition()
        self._windows = 0  # that are queued
        self._logged_s = -_LOG_S
        self._decoding: OneThread  # while it runs
        # Looked up once: that costs more than to count.
        self._received_bytes = metrics.RECEIVED_BYTES.labels(self.name)
        self._native_unmapped = metrics.NATIVE_UNMAPPED.labels(self.name)
        self._waiting_gauge = metrics.WAITING_BYTES.labels(self.name)
        self.server = HttpServer(
            config.job_name,
            config.listen,
            config.tls,
            self._counted,
            connections_max=limits.connections_max,
            body_bytes_max=limits.body_bytes_max,
        )

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def name(self) -> str:
        return self._config.job_name

    @property
    def unmapped(self) -> Set[str]:
        return self._reader.unmapped

    async def listening(self) -> int:
        """The port, once it listens."""
        await self.server.listening.wait()
        return self.port

    async def run(self, emit: Emit) -> None:
        """Listens until cancelled. ConfigError when the address is taken or a certificate is not usable."""
        self._decoding = OneThread("remote-write")
        try:
            await self._decoding(warm_up)
            await self._decoding(warm_up_decode)
            await self.server.start()
            log.info("receiver listens", job=self.name, listen=self._config.listen, port=self.port)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._queue_windows(emit))
                tasks.create_task(self._report_silence(emit))
        finally:
            await self.server.stop()
            self._decoding.stop()

    async def _counted(self, request: web.Request) -> web.Response:
        answer = await self._answer(request)
        metrics.REQUESTS.labels(self.name, answer.status).inc()
        return answer

    async def _answer(self, request: web.Request) -> web.Response:
        config, limits = self._config, self._config.limits
        if request.path != config.path:
            return self._refused(404, f"nothing at this path: expected {config.path}")
        if request.method != "POST":
            return self._refused(405, f"expected POST of {config.path}", {"Allow": "POST"})
        try:
            if not is_let_in(config, request.headers.get("Authorization", "")):
                return web.Response(status=401, headers={"WWW-Authenticate": asks_for(config)})
            message = message_of(request.headers)
        except Unavailable as error:
            return _busy(str(error))
        except ValueError as error:
            return self._refused(415, str(error))
        size = limits.body_bytes_max if request.content_length is None else request.content_length
        if size > limits.body_bytes_max:
            return self._refused(413, f"{size} bytes: at most {limits.body_bytes_max}")
        if self._context.is_full() or self._waiting_bytes + size > limits.waiting_bytes_max:
            return _busy("what was sent before is not queued yet")
        with self._holding(size):
            return await self._take(request, message)

    async def _take(self, request: web.Request, message: Message) -> web.Response:
        try:
            body = await self.server.read(request)
            read = await self._read(body, message)
        except HttpRefused as refused:
            if refused.status is HTTPStatus.SERVICE_UNAVAILABLE:
                return _busy(refused.message)
            return self._refused(refused.status, refused.message)
        except BadInput as error:
            return self._refused(413 if error.reason == TOO_LARGE else 400, str(error))
        self._received_bytes.inc(len(body))
        self._native_unmapped.inc(read.histograms + read.exemplars)
        self._arrived.set()
        async with self._queued:
            await self._queued.wait_for(lambda: self._windows > read.window)
        if read.problem:
            return self._refused(400, read.problem, _written(read))
        return web.Response(status=204, headers=_written(read))

    async def _read(self, body: bytes, message: Message) -> ReadRequest:
        if len(body) <= _THREAD_BYTES and self._decoding.is_idle:
            return self._reader.read(body, message)
        return await self._decoding(self._reader.read, body, message)

    async def _queue_windows(self, emit: Emit) -> None:
        """Requests that come together become one batch for each device, as each batch names all its series."""
        ledger = self._context.ledger
        while True:
            await self._arrived.wait()
            await asyncio.sleep(self._config.gather_s)
            self._arrived.clear()
            admitted = await self._decoding(self._reader.admit, self._context.clock())
            admitted.count(ledger)
            for batch in admitted.batches:
                emit(batch)
            metrics.SAMPLES_UNMAPPED.labels(self.name).inc(admitted.unmapped)
            metrics.SERIES.labels(self.name).set(len(self._series))
            async with self._queued:
                self._windows = self._reader.window
                self._queued.notify_all()

    async def _report_silence(self, emit: Emit) -> None:
        after_ns = to_ns(self._config.silence_s)
        while True:
            await asyncio.sleep(self._config.silence_s / 10)
            for batch in await self._decoding(self._series.silent, self._context.clock(), after_ns):
                emit(batch)

    @contextlib.contextmanager
    def _holding(self, size: int) -> Iterator[None]:
        self._waiting_bytes += size
        self._waiting_gauge.set(self._waiting_bytes)
        try:
            yield
        finally:
            self._waiting_bytes -= size
            self._waiting_gauge.set(self._waiting_bytes)

    def _refused(self, status: int, problem: str, headers: dict[str, str] | None = None) -> web.Response:
        """Logged now and then: a sender that is wrong is so with each request."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._logged_s >= _LOG_S:
            self._logged_s = now_s
            log.warning("request refused", job=self.name, status=status, error=problem)
        return web.Response(status=status, text=problem + "\n", headers=headers)


def _written(read: ReadRequest) -> dict[str, str]:
    """What was accepted. Histograms and exemplars are, though nothing is made of them, as of unmapped samples."""
    counts = {
        "Samples": read.samples - read.bad - read.refused,
        "Histograms": read.histograms,
        "Exemplars": read.exemplars,
    }
    return {_WRITTEN.format(what): str(count) for what, count in counts.items()}


def _busy(problem: str) -> web.Response:
    """503, as Prometheus drops what was answered with 429 unless it is set up otherwise."""
    return web.Response(status=503, text=problem + "\n", headers={"Retry-After": str(_RETRY_AFTER_S)})
