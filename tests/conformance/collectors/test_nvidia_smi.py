"""The collector of nvidia-smi with real programs, those that hang, fail or print too much among them, and files."""

import asyncio
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.nvidia_smi.collector import NvidiaSmiCollector, nvidia_smi_collectors
from ingest.collectors.nvidia_smi.config import Config
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.h100 import FOLDER
from tests.ledgers import assert_accounted
from tests.waiting import DEADLINE_S

PAGE = FOLDER / "nvidia-smi-train.xml"
POWER = 'gpu_power_watts{device="node1",gpu="GPU-00000000-0000-4000-8000-000000000001"}'


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), time.time_ns, workers)
    workers.shutdown()


def make(context: CollectorContext, target: dict[str, Any], **settings: Any) -> NvidiaSmiCollector:
    given = {"targets": [{"device": "node1", **target}], **settings}
    (made,) = nvidia_smi_collectors([Config.model_validate(given)], context)
    return made


async def collected(collector: NvidiaSmiCollector) -> SampleBatch:
    batch = await collector.collect(time.time_ns())
    assert isinstance(batch, SampleBatch)
    return batch


def power(batch: SampleBatch) -> float:
    values = dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))
    return float(values[POWER])


async def test_what_a_program_prints_is_collected_and_every_sample_counted(context: CollectorContext) -> None:
    collector = make(context, {"command": ["cat", str(PAGE)]})
    batches = [await collected(collector) for _ in range(2)]
    assert [power(batch) for batch in batches] == [689.54, 689.54]
    assert [batch.collection.seq for batch in batches] == [0, 1]
    assert batches[0].table is batches[1].table
    assert_accounted(context.ledger, batches)


@pytest.mark.parametrize(
    ("target", "settings", "reason"),
    [
        ({"command": ["/absent/nvidia-smi"]}, {}, DownReason.REFUSED),
        ({"command": ["sh", "-c", "echo 'Unable to determine the device handle'; exit 15"]}, {}, DownReason.CLOSED),
        ({"command": ["echo", "No devices were found"]}, {}, DownReason.BAD_FORMAT),
        ({"command": ["echo", "<nvidia_smi_log></nvidia_smi_log>"]}, {}, DownReason.NO_SAMPLES),
        ({"command": ["sleep", "1000"]}, {"timeout_s": 0.2}, DownReason.TIMEOUT),
        ({"command": ["yes"]}, {"body_bytes_max": 1000}, DownReason.TOO_LARGE),
        ({"file": "/absent/page.xml"}, {}, DownReason.REFUSED),
    ],
)
async def test_a_failure_has_a_reason(
    context: CollectorContext, target: dict[str, Any], settings: dict[str, Any], reason: DownReason
) -> None:
    collector = make(context, target, **settings)
    batches = [await collected(collector) for _ in range(2)]
    assert [(batch.collection.down, batch.collection.seq, len(batch)) for batch in batches] == [
        (reason, 0, 0),
        (reason, 1, 0),
    ]


async def test_a_program_that_is_ended_takes_with_it_what_it_started(context: CollectorContext, tmp_path: Path) -> None:
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    collector = make(context, {"command": ["sh", "-c", f"(echo begun; sleep 1000) >{fifo} & wait"]})
    collecting = asyncio.create_task(collector.collect(time.time_ns()))
    assert await said(reading) == b"begun\n"
    collecting.cancel()
    await asyncio.wait([collecting])
    assert await said(reading) == b"", "no writer is left"
    os.close(reading)


async def said(descriptor: int) -> bytes:
    """What comes next; b"" at the end."""
    ready = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, ready.set)
    async with asyncio.timeout(DEADLINE_S):
        await ready.wait()
    asyncio.get_running_loop().remove_reader(descriptor)
    return os.read(descriptor, 100)


async def test_a_file_is_read_while_somebody_writes_it(context: CollectorContext, tmp_path: Path) -> None:
    file = tmp_path / "node1.xml"
    await asyncio.to_thread(file.write_bytes, PAGE.read_bytes())
    collector = make(context, {"file": str(file)})
    assert power(await collected(collector)) == 689.54
    old_s = time.time() - 3600.0
    os.utime(file, (old_s, old_s))
    assert (await collected(collector)).collection.down is DownReason.SILENT
    os.utime(file)
    assert (await collected(collector)).collection.up
