"""A process that runs one stage: its bus, its service, its own metrics, its end."""

import asyncio
import contextlib

import structlog
from prometheus_client import start_http_server

from bus.open import open_bus
from fabricscope.settings import Settings
from fabricscope.stages import Stage, build
from fabricscope.stopping import parent_is_gone, stop_on_signals
from fabricscope.version import VERSION

log = structlog.get_logger()

STOP_S = 25.0  # Kubernetes kills after 30


async def run_stage(stage: Stage, settings: Settings) -> None:
    """Until SIGTERM or SIGINT; a second one ends it at once."""
    structlog.contextvars.bind_contextvars(stage=stage.value)
    bus = open_bus(settings.bus)
    service = build(stage, settings, bus)
    stopping = stop_on_signals()
    port = getattr(settings.general.metrics_ports, stage.value, 0)
    if port:
        start_http_server(port, settings.general.metrics_host)
    await bus.start()
    try:
        await service.start()
        log.info("stage runs", version=VERSION)
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
        log.info("stage stopped")
