"""``fabricscope collect``: do my targets answer, and with what?"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from fabricscope.clock import event_clock
from fabricscope.commands.options import ConfigFile
from fabricscope.settings import Settings, load_settings
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.samples import SampleBatch


def register(app: typer.Typer) -> None:
    app.command("collect")(run)


def run(
    config_file: ConfigFile = None,
    for_s: Annotated[float, typer.Option("--for", min=1, help="How long to listen, in seconds.")] = 20.0,
    samples: Annotated[int, typer.Option(min=0, help="Samples of each target that are printed.")] = 3,
) -> None:
    """Run the collectors for a moment and print what they bring. Exit status 1 when a target is down."""
    batches = asyncio.run(_collect(load_settings(config_file), for_s))
    Console().print(_table(batches, samples))
    if not batches or any(not batch.collection.up for batch in batches.values()):
        raise typer.Exit(1)


async def _collect(settings: Settings, for_s: float) -> dict[str, SampleBatch]:
    """The newest batch of each target after ``for_s``."""
    newest: dict[str, SampleBatch] = {}
    decoder = BatchDecoder()
    with tempfile.TemporaryDirectory() as folder:
        bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=Path(folder) / "bus.sqlite")))
        await bus.start()
        service = IngestService(settings.ingest, bus, event_clock(settings.general.simulated_time))
        await service.start()
        reader = bus.consume([topics.SAMPLES], {})
        deadline = time.monotonic() + for_s
        while time.monotonic() < deadline:
            for record in await reader.poll():
                batch = decoder.decode(record.value or b"", record.headers)
                newest[batch.table.target] = batch
        await reader.stop()
        await service.stop()
        await bus.stop()
    return newest


def _table(batches: dict[str, SampleBatch], samples: int) -> Table:
    drawn = Table(title=f"{len(batches)} targets")
    for heading in ("target", "device", "up", "series", "took", "for example"):
        drawn.add_column(heading, overflow="fold")
    for target, batch in sorted(batches.items()):
        rows = zip(batch.series[:samples], batch.values[:samples], strict=True)
        examples = "\n".join(f"{batch.table.keys[row]} {value:g}" for row, value in rows)
        up = "yes" if batch.collection.up else f"no: {batch.collection.down}"
        drawn.add_row(target, batch.table.device, up, str(len(batch)), f"{batch.collection.duration_s:.3f} s", examples)
    return drawn
