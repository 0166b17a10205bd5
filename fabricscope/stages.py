"""The stages, and the service of each."""

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from bus.base import Bus, Offsets
from common.errors import ConfigError
from common.steady_clock import SteadyClock
from fabricscope.clock import event_clock
from fabricscope.settings import Settings
from fabricscope.version import VERSION
from recordings.config import RecordingConfig
from recordings.manifest import Manifest

if TYPE_CHECKING:
    from fabricscope.running.reload import Reload  # which builds stages itself


class Service(Protocol):
    """wait: returns when the work ends by itself; its error is raised."""

    async def start(self) -> None: ...
    async def wait(self) -> None: ...
    async def stop(self) -> None: ...


class Stage(StrEnum):
    INGEST = "ingest"
    ANALYTICS = "analytics"
    ALERTS = "alerts"
    EXPORT = "export"
    RECORDER = "recorder"
    API = "api"


def build(stage: Stage, settings: Settings, bus: Bus, reload: "Reload | None" = None) -> Service:
    """The service of one stage, which alone is imported: numba, Arrow and FastAPI cost a second each.

    reload: of this process, for the stage that people ask for it.
    """
    match stage:
        case Stage.INGEST:
            from ingest.service import IngestService

            return IngestService(settings.ingest, bus, event_clock(settings.general.simulated_time, SteadyClock()))
        case Stage.ANALYTICS:
            from analytics.service import AnalyticsService

            simulated = settings.general.simulated_time is not None
            return AnalyticsService(settings.analytics, bus, time.time_ns, bus_tells_time=not simulated)
        case Stage.ALERTS:
            from alerts.service import AlertsService

            return AlertsService(settings.alerting, bus, time.time_ns)
        case Stage.EXPORT:
            from export.remote_write.stage import ExportStage

            return ExportStage(settings.remote_write, bus, time.time_ns)
        case Stage.RECORDER:
            from recordings.service import RecorderService

            return RecorderService(_recording(settings), bus, new_manifest(settings, {}))
        case Stage.API:
            from fabricscope.api.paging_links import PagingLinks
            from fabricscope.api.service import ApiService

            clock, paging = event_clock(settings.general.simulated_time), PagingLinks.of(settings.alerting)
            return ApiService(settings.api, bus, clock, reload=reload, paging=paging)


def new_manifest(settings: Settings, since: Offsets) -> Manifest:
    """The manifest that a new recording begins with.

    since: from where it reads the bus; a partition that is missing from its beginning.
    """
    return Manifest(
        cluster=settings.general.cluster,
        program=VERSION,
        analytics=settings.analytics.engine.model_dump(mode="json"),
        bus_tells_time=settings.general.simulated_time is None,
        offsets={f"{topic}/{partition}": offset for (topic, partition), offset in since.items()},
    )


def _recording(settings: Settings) -> RecordingConfig:
    if settings.recording is None:
        raise ConfigError("recording: the recorder needs its path")
    return settings.recording
