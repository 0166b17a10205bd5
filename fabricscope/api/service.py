"""The API as a stage: reads the bus, answers HTTP."""

import asyncio
import contextlib
import time
from collections.abc import Callable

import structlog
import uvicorn

from bus.base import Bus, Gap
from bus.quarantine.quarantine import Quarantine
from common.errors import ConfigError, Unavailable
from common.retry import retry
from common.tasks import first_failure
from common.units import to_ns
from fabricscope.api.access.audit import AuditLog
from fabricscope.api.access.connections import ConnectionLimits
from fabricscope.api.access.credentials import Credentials
from fabricscope.api.access.guard import Guard
from fabricscope.api.access.sessions import Sessions
from fabricscope.api.access.token_store import DAY_S, TokenStore
from fabricscope.api.app import create_app
from fabricscope.api.certificate import Certificate
from fabricscope.api.config import ApiConfig
from fabricscope.api.history import History
from fabricscope.api.metrics import GAPS
from fabricscope.api.paging_links import PagingLinks
from fabricscope.api.read_model import ReadModel
from fabricscope.api.replays import Replays
from fabricscope.api.routes.reload import Reloading
from fabricscope.api.server import Server, allow_open_files
from telemetry import topics

_RETRY_FIRST_S, _RETRY_MOST_S = 0.5, 30.0
log = structlog.get_logger(__name__)


class ApiService:
    """Serves until stopped. ``url`` is known once ``start`` has returned.

    clock: event time in nanoseconds. reload: None without a settings file. paging: None where nobody is paged.
    """

    def __init__(
        self,
        config: ApiConfig,
        bus: Bus,
        clock: Callable[[], int] = time.time_ns,
        limits: ConnectionLimits | None = None,
        reload: Reloading | None = None,
        paging: PagingLinks | None = None,
    ) -> None:
        self._config = config
        self._bus = bus
        self._clock = clock
        self._model = ReadModel(History(to_ns(config.history_s), config.history_bytes_max))
        self._reload, self._paging = reload, paging
        self._limits = limits or ConnectionLimits(config.connections_max)
        self._quarantine = Quarantine(config.state_dir / "crashes.json", bus)
        self._tokens, self._sessions = TokenStore(config.state_dir), Sessions(config.state_dir)
        self._replays = (
            None if config.recordings_dir is None else Replays(config.recordings_dir, config.state_dir / "replays")
        )
        self._server: Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.url = ""

    async def start(self) -> None:
        """Returns when it listens. ConfigError when it cannot, or when a certificate or a token cannot be read."""
        config = self._config
        allow_open_files()
        self._server = Server(self._settings(), self._limits)
        await asyncio.to_thread(self._tokens.ensure_local, time.time_ns())
        await asyncio.to_thread(self._sessions.load)
        log.info("token of local commands", file=str(self._tokens.local_file))
        if config.bearer_token_file is not None:
            log.warning("bearer_token_file allows everything, for ever", instead="fabricscope token create")
        self._quarantine.start()
        serving = asyncio.create_task(self._serve())
        self._tasks = [asyncio.create_task(self._consume()), asyncio.create_task(self._renew_token()), serving]
        context = self._server.config.ssl
        if context is not None and config.tls_cert_file is not None and config.tls_key_file is not None:
            certificate = Certificate(context, config.tls_cert_file, config.tls_key_file)
            self._tasks.insert(0, asyncio.create_task(certificate.follow()))
        while not self._server.started and not serving.done():  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)
        if serving.done():
            await serving
        self.url = f"{'https' if config.tls_cert_file else 'http'}://{config.host}:{self._server.port}"

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised."""
        await first_failure(self._tasks)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        for task in self._tasks[:-1]:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(asyncio.gather(*self._tasks, return_exceptions=True), 5)
        self._tasks = []
        if self._replays is not None:
            await self._replays.stop()
        self._quarantine.stop()

    def _settings(self) -> uvicorn.Config:
        config = self._config
        guard = Guard(config, Credentials(config, self._tokens, self._sessions), AuditLog(config.state_dir))
        application = create_app(
            *(config, self._model, self._bus, self._clock, guard, self._sessions, self._reload, self._replays),
            paging=self._paging,
        )
        settings = uvicorn.Config(
            application,
            host=config.host,
            port=config.port,
            ssl_certfile=config.tls_cert_file,
            ssl_keyfile=str(config.tls_key_file) if config.tls_key_file else None,
            http="h11",  # what BoundedConnection is made of
            ws="none",
            lifespan="off",  # the app has nothing to start, and waiting for its end would be a traceback in the log
            log_config=None,  # our own lines, like those of every other part
            log_level="error",  # a warning is what any client can cause
            proxy_headers=False,  # anybody on this machine could choose the address that limits count
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
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
        except OSError as error:
            raise ConfigError(f"api.host, api.port: {error}") from error

    async def _renew_token(self) -> None:
        """The file always holds a token that is good for a month."""
        while True:
            await asyncio.sleep(DAY_S)
            try:
                await asyncio.to_thread(self._tokens.ensure_local, time.time_ns())
            except ConfigError as error:
                log.error("token of local commands not renewed", error=str(error))

    async def _consume(self) -> None:
        since_ns = time.time_ns() - to_ns(self._config.history_s)
        start = await retry(
            lambda: self._bus.offsets_since([topics.SAMPLES], since_ns),
            on=Unavailable,
            first_s=_RETRY_FIRST_S,
            most_s=_RETRY_MOST_S,
            failed=lambda error: log.warning("bus does not answer", error=str(error)),
        )
        reader = self._quarantine.guard(self._bus.consume(ReadModel.TOPICS, start))
        try:
            while True:
                try:
                    records = await reader.poll(wait_s=0.5)
                except Gap as gap:
                    GAPS.inc()
                    self._model.skip_gap((gap.topic, gap.partition))
                    continue
                if records:
                    with self._quarantine.working_on(records):
                        await asyncio.to_thread(self._model.apply, records)
                    async with self._model.changed:
                        self._model.changed.notify_all()
        finally:
            await reader.stop()
