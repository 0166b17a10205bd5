"""The API as a stage: reads the bus, answers HTTP."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

import structlog
import uvicorn

from bus.base import Bus, Gap
from common.errors import ConfigError, Unavailable
from common.retry import retry
from common.tasks import first_failure
from common.units import to_ns
from fabricscope.api.app import create_app
from fabricscope.api.config import ApiConfig
from fabricscope.api.history import History
from fabricscope.api.metrics import GAPS
from fabricscope.api.read_model import ReadModel
from telemetry import topics

_RETRY_FIRST_S, _RETRY_MOST_S = 0.5, 30.0
log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """Leaves signals to the program: uvicorn would take them over, and raise each again once it has stopped."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ApiService:
    """Serves until stopped. ``url`` is known once ``start`` has returned. clock: event time in nanoseconds."""

    def __init__(self, config: ApiConfig, bus: Bus, clock: Callable[[], int] = time.time_ns) -> None:
        self._config = config
        self._bus = bus
        self._clock = clock
        self._model = ReadModel(History(to_ns(config.history_s), config.history_bytes_max))
        self._server: _Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.url = ""

    async def start(self) -> None:
        """Returns when it listens. ConfigError when it cannot, or when a certificate or the token cannot be read."""
        config = self._config
        self._server = _Server(self._settings())
        self._tasks = [asyncio.create_task(self._consume()), asyncio.create_task(self._serve())]
        while not self._server.started and not self._tasks[1].done():  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)
        if self._tasks[1].done():
            await self._tasks[1]
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"{'https' if config.tls_cert_file else 'http'}://{config.host}:{port}"

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised."""
        await first_failure(self._tasks)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        for task in self._tasks[:1]:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(asyncio.gather(*self._tasks, return_exceptions=True), 5)
        self._tasks = []

    def _settings(self) -> uvicorn.Config:
        config = self._config
        settings = uvicorn.Config(
            create_app(config, self._model, self._bus, self._clock),
            host=config.host,
            port=config.port,
            ssl_certfile=config.tls_cert_file,
            ssl_keyfile=str(config.tls_key_file) if config.tls_key_file else None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            limit_concurrency=1000,
        )
        try:
            settings.load()
        except OSError as error:
            raise ConfigError(f"api.tls_cert_file, api.tls_key_file: {error}") from error
        return settings

    async def _serve(self) -> None:
        assert self._server is not None
        try:
            await self._server.serve()
        except SystemExit as error:  # uvicorn would end the whole program when it cannot listen
            raise ConfigError(f"api.host, api.port: {error.__context__}") from error

    async def _consume(self) -> None:
        since_ns = time.time_ns() - to_ns(self._config.history_s)
        start = await retry(
            lambda: self._bus.offsets_since([topics.SAMPLES], since_ns),
            on=Unavailable,
            first_s=_RETRY_FIRST_S,
            most_s=_RETRY_MOST_S,
            failed=lambda error: log.warning("bus does not answer", error=str(error)),
        )
        reader = self._bus.consume(ReadModel.TOPICS, start)
        try:
            while True:
                try:
                    records = await reader.poll(wait_s=0.5)
                except Gap:  # only the newest version of each record counts
                    GAPS.inc()
                    continue
                if records:
                    await asyncio.to_thread(self._model.apply, records)
                    async with self._model.changed:
                        self._model.changed.notify_all()
        finally:
            await reader.stop()
