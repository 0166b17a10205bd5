"""``fabricscope record``: the bus into a recording, until Ctrl-C or for a while."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bus.open import open_bus
from common.units import to_ns
from fabricscope.commands.options import ConfigFile
from fabricscope.settings import Settings, load_settings
from fabricscope.stages import new_manifest
from recordings.config import RecordingConfig
from recordings.service import RecorderService
from telemetry import topics


def register(app: typer.Typer) -> None:
    app.command("record")(run)


def run(
    out: Annotated[Path, typer.Argument(help="Folder of the recording; continued when it holds one.")],
    config_file: ConfigFile = None,
    last_s: Annotated[float, typer.Option("--last", min=0, help="Seconds of the past that the bus still has.")] = 0.0,
    for_s: Annotated[float | None, typer.Option("--for", min=0, help="Stop after so many seconds.")] = None,
) -> None:
    """Record telemetry, topology and changes as Parquet with a manifest of hashes."""
    asyncio.run(_record(load_settings(config_file), out, last_s, for_s))


async def _record(settings: Settings, out: Path, last_s: float, for_s: float | None) -> None:
    console = Console(stderr=True)
    bus = open_bus(settings.bus)
    await bus.start()
    since = await bus.offsets_since([topics.SAMPLES], time.time_ns() - to_ns(last_s))
    recorder = RecorderService(RecordingConfig(path=out), bus, new_manifest(settings, since))
    await recorder.start()
    console.print(f"Recording into {out} (Ctrl-C ends it)")
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        async with asyncio.timeout(for_s):
            await ended.wait()
    except TimeoutError:
        pass
    finally:
        await recorder.stop()
        await bus.stop()
    console.print(f"{recorder.samples_recorded:,} samples recorded")
