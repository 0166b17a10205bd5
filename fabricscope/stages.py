"""One stage in one process: its bus, its service, its metrics, its signals."""

import asyncio
import signal
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import structlog
from prometheus_client import start_http_server

from alerts.service import AlertsService
from analytics.service import AnalyticsService
from export.service import ExportService
from fabricscope.api.service import ApiService
from fabricscope.settings import Settings
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
    RECORD = "record"
    API = "api"


_BUILD: dict[Stage, Callable[[Settings, Bus], Service]] = {
    Stage.INGEST: lambda settings, bus: IngestService(settings.ingest, bus, time.time_ns),
    Stage.ANALYTICS: lambda settings, bus: AnalyticsService(settings.analytics, bus, time.time_ns),
    Stage.ALERTS: lambda settings, bus: AlertsService(settings.alerting, bus, time.time_ns),
    Stage.EXPORT: lambda settings, bus: ExportService(settings.remote_write, bus, time.time_ns),
    Stage.RECORD: lambda settings, bus: RecorderService(settings.recording, bus, time.time_ns),
    Stage.API: lambda settings, bus: ApiService(settings.api, bus),
}
