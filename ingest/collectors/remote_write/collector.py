"""The receiver: an HTTP server whose answers wait until the samples are queued."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Set

import structlog
from aiohttp import web

from common.errors import BadInput, ConfigError, Unavailable
from common.threads import OneThread
from common.units import to_ns
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.pushed_series import PushedSeries, warm_up
from ingest.collectors.remote_write import metrics
from ingest.collectors.remote_write.config import Config
from ingest.collectors.remote_write.credentials import asks_for, is_let_in
from ingest.collectors.remote_write.decode.body import TOO_LARGE, Message, ReadRequest, RequestReader
from ingest.collectors.remote_write.decode.body import warm_up as warm_up_decode
from ingest.collectors.remote_write.negotiation import message_of
from ingest.collectors.server_tls import follow, server_context

log = structlog.get_logger("ingest")
_RETRY_AFTER_S = 5
_BODY_S = 30.0  # for a whole body to come: senders give up after as long
_LOG_S = 60.0
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
        self._listening = asyncio.Event()
        self.port = 0

    @property
    def name(self) -> str:
        return self._config.job_name

    @property
    def unmapped(self) -> Set[str]:
        return self._reader.unmapped

    async def listening(self) -> int:
        """The port, once it listens."""
        await self._listening.wait()
        return self.port

    async def run(self, emit: Emit) -> None:
        """Listens until cancelled. ConfigError when the address is taken or a certificate is not usable."""
        decoding = OneThread("remote-write")
        try:
            await decoding(warm_up)
            await decoding(warm_up_decode)
            async with self._serving(decoding), asyncio.TaskGroup() as tasks:
                if self._config.tls is not None and self._tls is not None:
                    tasks.create_task(follow(self._tls, self._config.tls))
                tasks.create_task(self._queue_windows(decoding, emit))
                tasks.create_task(self._report_silence(decoding, emit))
        finally:
            self._listening.clear()
            decoding.stop()

    @contextlib.asynccontextmanager
    async def _serving(self, decoding: OneThread) -> AsyncIterator[None]:
        config = self._config
        self._tls = server_context(config.tls) if config.tls is not None else None
        app = web.Application(client_max_size=config.limits.body_bytes_max)

        async def write(request: web.Request) -> web.Response:
            answer = await self._answer(request, decoding)
            metrics.REQUESTS.labels(config.job_name, answer.status).inc()
            return answer

        app.router.add_post(config.path, write)
        # a body in another encoding than Snappy is refused, and so never unpacked
        runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, config.host, config.port, ssl_context=self._tls)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(f"{config.job_name}: {config.host}:{config.port}: {error.strerror}") from error
        self.port = runner.addresses[0][1]
        log.info("receiver listens", job=config.job_name, host=config.host, port=self.port)
        self._listening.set()
        try:
            yield
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request, decoding: OneThread) -> web.Response:
        config, limits = self._config, self._config.limits
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
            return await self._take(request, message, decoding)

    async def _take(self, request: web.Request, message: Message, decoding: OneThread) -> web.Response:
        try:
            async with asyncio.timeout(_BODY_S):
                body = await request.read()
            read = await decoding(self._reader.read, body, message)
        except TimeoutError:
            return web.Response(status=408)
        except web.HTTPRequestEntityTooLarge:
            return self._refused(413, f"more than {self._config.limits.body_bytes_max} bytes")
        except BadInput as error:
            return self._refused(413 if error.reason == TOO_LARGE else 400, str(error))
        metrics.RECEIVED_BYTES.labels(self.name).inc(len(body))
        metrics.NATIVE_UNMAPPED.labels(self.name).inc(read.histograms + read.exemplars)
        self._arrived.set()
        async with self._queued:
            await self._queued.wait_for(lambda: self._windows > read.window)
        if read.problem:
            return self._refused(400, read.problem, _written(read))
        return web.Response(status=204, headers=_written(read))

    async def _queue_windows(self, decoding: OneThread, emit: Emit) -> None:
        """Requests that come together become one batch for each device, as each batch names all its series."""
        ledger = self._context.ledger
        while True:
            await self._arrived.wait()
            await asyncio.sleep(self._config.gather_s)
            self._arrived.clear()
            admitted = await decoding(self._reader.admit, self._context.clock())
            admitted.count(ledger)
            for batch in admitted.batches:
                emit(batch)
            metrics.SAMPLES_UNMAPPED.labels(self.name).inc(admitted.unmapped)
            metrics.SERIES.labels(self.name).set(len(self._series))
            async with self._queued:
                self._windows = self._reader.window
                self._queued.notify_all()

    async def _report_silence(self, decoding: OneThread, emit: Emit) -> None:
        after_ns = to_ns(self._config.silence_s)
        while True:
            await asyncio.sleep(self._config.silence_s / 10)
            for batch in await decoding(self._series.silent, self._context.clock(), after_ns):
                emit(batch)

    @contextlib.contextmanager
    def _holding(self, size: int) -> Iterator[None]:
        gauge = metrics.WAITING_BYTES.labels(self.name)
        self._waiting_bytes += size
        gauge.set(self._waiting_bytes)
        try:
            yield
        finally:
            self._waiting_bytes -= size
            gauge.set(self._waiting_bytes)

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
