"""A process that runs one stage: its bus, its service, its own metrics, its end."""

import asyncio
import contextlib
from collections.abc import Callable

import structlog

from bus.base import Bus
from bus.open import open_bus, require_place
from common.garbage import collect_less_often
from fabricscope.running.loop_watchdog import LoopWatchdog
from fabricscope.running.reload import Reload
from fabricscope.running.status_pages import StatusPages
from fabricscope.running.stopping import parent_is_gone, stop_on_signals
from fabricscope.settings import Settings
from fabricscope.stages import Stage, build
from fabricscope.version import VERSION

log = structlog.get_logger()

STOP_S = 25.0  # Kubernetes kills after 30


class Readiness:
    """Why a stage cannot work now. phase: what it does instead, None while it works."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.phase: str | None = "the stage starts"

    def problem(self) -> str | None:
        """In words; None when it can."""
        bus = self._bus.problem()
        return self.phase if bus is None else f"bus: {bus}"


async def run_stage(stage: Stage, settings: Settings, load: Callable[[], Settings]) -> bool:
    """Until SIGTERM or SIGINT; a second one ends it at once. Whether it ended to start again with other settings.

    load: reads the settings again, for SIGHUP. ConfigError where the bus can have no file.
    """
    structlog.contextvars.bind_contextvars(stage=stage.value)
    collect_less_often()
    require_place(settings.bus)
    reload = Reload(stage, settings, load)
    bus = open_bus(settings.bus)
    service = build(stage, settings, bus, reload)
    stopping = stop_on_signals()
    reload.on_signal()
    readiness = Readiness(bus)
    port = getattr(settings.general.metrics_ports, stage.value, 0)
    if port:
        StatusPages(settings.general.metrics_host, port, readiness.problem).start()
    watchdog = LoopWatchdog()
    watchdog.start()
    await bus.start()
    try:
        await service.start()
        readiness.phase = None
        log.info("stage runs", version=VERSION)
        changed = asyncio.create_task(reload.due())
        ends = [changed, *map(asyncio.create_task, (stopping.wait(), parent_is_gone(), service.wait()))]
        done, rest = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        for task in done:
            task.result()  # an error of the service ends the process, and its supervisor starts it again
        return done == {changed}
    finally:
        readiness.phase = "the stage stops"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await service.stop()
                await bus.stop()
        watchdog.stop()
        log.info("stage stopped")
