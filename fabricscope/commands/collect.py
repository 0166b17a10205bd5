"""The collectors for a moment, on a bus of their own, and a table of what they collected."""

import asyncio
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from common.printing import printable
from fabricscope.clock import event_clock
from fabricscope.settings import Settings, load_settings
from ingest.config import IngestConfig, SpoolConfig
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.samples import SampleBatch


def collect_and_print(config_file: Path | None, lasts_s: float, samples: int) -> bool:
    """Whether there are targets and all of them are up."""
    batches = asyncio.run(_collect(load_settings(config_file), lasts_s))
    Console().print(_table(batches, samples))
    return bool(batches) and all(batch.collection.up for batch in batches.values())


async def _collect(settings: Settings, lasts_s: float) -> dict[str, SampleBatch]:
    """The newest batch of each target after ``lasts_s``."""
    newest: dict[str, SampleBatch] = {}
    decoder = BatchDecoder()
    with tempfile.TemporaryDirectory() as folder:
        bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=Path(folder) / "bus.sqlite")))
        await bus.start()
        service = IngestService(_without_spool(settings.ingest), bus, event_clock(settings.general.simulated_time))
        await service.start()
        reader = bus.consume([topics.SAMPLES], {})
        deadline = time.monotonic() + lasts_s
        while time.monotonic() < deadline:
            for record in await reader.poll():
                batch = decoder.decode(record.value or b"", record.headers)
                newest[batch.table.target] = batch
        await reader.stop()
        await service.stop()
        await bus.stop()
    return newest


def _without_spool(config: IngestConfig) -> IngestConfig:
    """The spool belongs to the stage that runs: what waits there is for its bus."""
    return config.model_copy(update={"publish": config.publish.model_copy(update={"spool": SpoolConfig(folder=None)})})


def _table(batches: dict[str, SampleBatch], samples: int) -> Table:
    drawn = Table(title=f"{len(batches)} targets")
    for heading in ("target", "device", "up", "series", "duration", "examples"):
        drawn.add_column(heading, overflow="fold")
    for target, batch in sorted(batches.items()):
        rows = zip(batch.series[:samples], batch.values[:samples], strict=True)
        examples = "\n".join(f"{batch.table.keys[row]} {value:g}" for row, value in rows)
        up = "yes" if batch.collection.up else f"no: {batch.collection.down}"
        duration = f"{batch.collection.duration_s:.3f} s"
        cells = (target, batch.table.device, up, str(len(batch)), duration, examples)
        drawn.add_row(*(Text(printable(cell, keep_lines=True)) for cell in cells))
    return drawn
