"""The bus into a recording."""

import asyncio
import time
from pathlib import Path

from rich.console import Console

from bus.open import open_bus
from common.units import to_ns
from fabricscope.running.stopping import stop_on_signals
from fabricscope.settings import Settings
from fabricscope.stages import new_manifest
from recordings.config import RecordingConfig
from recordings.service import RecorderService
from telemetry import topics


async def record_bus(settings: Settings, out: Path, *, past_s: float, lasts_s: float | None) -> None:
    """Until Ctrl-C, SIGTERM or for ``lasts_s``, from ``past_s`` before now."""
    console = Console(stderr=True)
    bus = open_bus(settings.bus)
    await bus.start()
    since = await bus.offsets_since([topics.SAMPLES], time.time_ns() - to_ns(past_s))
    recorder = RecorderService(RecordingConfig(path=out), bus, new_manifest(settings, since))
    await recorder.start()
    console.print(f"Recording into {out} (Ctrl-C ends it)")
    stopping = stop_on_signals()
    try:
        async with asyncio.timeout(lasts_s):
            await stopping.wait()
    except TimeoutError:
        pass
    finally:
        await recorder.stop()
        await bus.stop()
    console.print(f"{recorder.samples_recorded:,} samples recorded")
