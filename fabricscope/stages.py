"""One stage in one process: its bus, its service, its metrics, its signals."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import structlog
from export.service import ExportService
from prometheus_client import start_http_server

from alerts.service import AlertsService
from analytics.service import AnalyticsService
from fabricscope.api.service import ApiService
from fabricscope.settings import Settings
from fabricscope.supervisor import parent_is_gone
from fabricscope.version import VERSION
from ingest.service import IngestService
from recordings.service import RecorderService
from telemetry.bus.base import Bus
from telemetry.bus.open import open_bus

log = structlog.get_logger()

STOP_S = 25.0  # Kubernetes kills after 30


class Service(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Stage(StrEnum):
    INGEST = "ingest"
    ANALYTICS = "analytics"
    ALERTS = "alerts"
    EXPORT = "export"
    RECORDER = "recorder"
    API = "api"


_BUILD: dict[Stage, Callable[[Settings, Bus], Service]] = {
    Stage.INGEST: lambda settings, bus: IngestService(settings.ingest, bus, time.time_ns),
    Stage.ANALYTICS: lambda settings, bus: AnalyticsService(settings.analytics, bus, time.time_ns),
    Stage.ALERTS: lambda settings, bus: AlertsService(settings.alerting, bus, time.time_ns),
    Stage.EXPORT: lambda settings, bus: ExportService(settings.remote_write, bus, time.time_ns),
    Stage.RECORDER: lambda settings, bus: RecorderService(settings.recording, bus, time.time_ns),
    Stage.API: lambda settings, bus: ApiService(settings.api, bus),
}


async def run_stage(stage: Stage, settings: Settings) -> None:
    """Until SIGTERM or SIGINT; a second one ends it at once."""
    bus = open_bus(settings.bus)
    service = _BUILD[stage](settings, bus)
    stopping = _stop_on_signals()
    port = getattr(settings.general.metrics_ports, stage.value, 0)
    if port:
        start_http_server(port, settings.general.metrics_host)
    await bus.start()
    try:
        await service.start()
        log.info("stage runs", stage=stage.value, version=VERSION)
        orphaned = asyncio.create_task(parent_is_gone())
        await asyncio.wait({orphaned, asyncio.create_task(stopping.wait())}, return_when=asyncio.FIRST_COMPLETED)
        orphaned.cancel()
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
