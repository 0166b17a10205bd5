"""One stage in one process: its bus, its service, its metrics, its signals."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import structlog
from prometheus_client import start_http_server

from bus.base import Bus, Offsets
from bus.open import open_bus
from common.errors import ConfigError
from common.tasks import first_failure
from fabricscope.clock import event_clock
from fabricscope.settings import Settings
from fabricscope.supervisor import parent_is_gone
from fabricscope.version import VERSION
from recordings.config import RecordingConfig
from recordings.format import Manifest

log = structlog.get_logger()

STOP_S = 25.0  # Kubernetes kills after 30


class Service(Protocol):
    """wait: for ever, or until the work ends by itself; then its error is raised."""

    async def start(self) -> None: ...
    async def wait(self) -> None: ...
    async def stop(self) -> None: ...


class Together:
    """Several services as one: started in order, stopped at once."""

    def __init__(self, services: Sequence[Service]) -> None:
        self._services = services

    async def start(self) -> None:
        for service in self._services:
            await service.start()

    async def wait(self) -> None:
        await first_failure([asyncio.create_task(service.wait()) for service in self._services])

    async def stop(self) -> None:
        await asyncio.gather(*(service.stop() for service in self._services))


class Stage(StrEnum):
    INGEST = "ingest"
    ANALYTICS = "analytics"
    ALERTS = "alerts"
    EXPORT = "export"
    RECORDER = "recorder"
    API = "api"


def build(stage: Stage, settings: Settings, bus: Bus) -> Service:
    """The service of one stage. Each process imports its own stage alone: numba and Arrow take a while to import."""
    match stage:
        case Stage.INGEST:
            from ingest.service import IngestService

            return IngestService(settings.ingest, bus, event_clock(settings.general.simulated_time))
        case Stage.ANALYTICS:
            from analytics.service import AnalyticsService

            return AnalyticsService(settings.analytics, bus, time.time_ns)
        case Stage.ALERTS:
            from alerts.service import AlertsService

            return AlertsService(settings.alerting, bus, time.time_ns)
        case Stage.EXPORT:
            from export.remote_write.service import RemoteWriteService

            return Together([RemoteWriteService(target, bus, time.time_ns) for target in settings.remote_write])
        case Stage.RECORDER:
            from recordings.service import RecorderService

            return RecorderService(_recording(settings), bus, new_manifest(settings, {}))
        case Stage.API:
            from fabricscope.api.service import ApiService

            return ApiService(settings.api, bus, event_clock(settings.general.simulated_time))


def new_manifest(settings: Settings, since: Offsets) -> Manifest:
    """What a new recording says of itself.

    since: from where it reads the bus; a partition that is missing from its beginning.
    """
    return Manifest(
        cluster=settings.general.cluster,
        program=VERSION,
        analytics=settings.analytics.engine.model_dump(mode="json"),
        offsets={f"{topic}/{partition}": offset for (topic, partition), offset in since.items()},
    )


def _recording(settings: Settings) -> RecordingConfig:
    if settings.recording is None:
        raise ConfigError("recording: the recorder needs its path")
    return settings.recording


async def run_stage(stage: Stage, settings: Settings) -> None:
    """Until SIGTERM or SIGINT; a second one ends it at once."""
    bus = open_bus(settings.bus)
    service = build(stage, settings, bus)
    stopping = _stop_on_signals()
    port = getattr(settings.general.metrics_ports, stage.value, 0)
    if port:
        start_http_server(port, settings.general.metrics_host)
    await bus.start()
    try:
        await service.start()
        log.info("stage runs", stage=stage.value, version=VERSION)
        ends = [asyncio.create_task(each) for each in (stopping.wait(), parent_is_gone(), service.wait())]
        done, rest = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        for task in done:
            task.result()  # an error of the service ends the process, and its supervisor starts it again
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await service.stop()
                await bus.stop()
        log.info("stage stopped", stage=stage.value)


def _stop_on_signals() -> asyncio.Event:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            raise SystemExit(1)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    return stopping
