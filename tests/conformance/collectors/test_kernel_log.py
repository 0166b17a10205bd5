"""The collector of kernel logs on real files and fifos, up to the finding."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from analytics.config import EngineConfig
from analytics.worker import build_engine
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.kernel_log.collector import KernelLog
from ingest.collectors.kernel_log.config import Config
from ingest.ledger import DropReason, Ledger
from telemetry.events import EventKind
from telemetry.findings import Finding, FindingKind
from telemetry.samples import DownReason, SampleBatch
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, run, table
from tests.waiting import DEADLINE_S

UUID = "GPU-509665ad-b600-ac93-3616-d754b23d636d"
BURST = (SAMPLES / "gpu_events" / "dmesg_xid_119.log").read_text()
XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.\n"
LAST = f'gpu_xid_last{{device="node1",gpu="{UUID}",source="kernel_log"}}'
READ = {'node_kernel_log_readable{device="node1"}': 1.0}
COUNT = f'gpu_xid_errors_total{{device="node1",gpu="{UUID}",source="kernel_log",xid="119"}}'


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), lambda: START_NS, workers)
    workers.shutdown()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "kern.log").touch()
    return tmp_path / "kern.log"


def make(context: CollectorContext, file: Path, **settings: Any) -> KernelLog:
    given = {"file": str(file), "format": "dmesg", "device": "node1", "driver_folder": str(file.parent), **settings}
    return KernelLog(Config.model_validate(given), context, boot_ns=START_NS - 3600 * SECOND)


def append(file: Path, text: str) -> None:
    with file.open("a") as log:
        log.write(text)


def replace(file: Path, text: str) -> None:
    file.rename(file.with_suffix(".1"))
    file.write_text(text)


def truncate(file: Path) -> None:
    file.write_text("")


def values(of: SampleBatch) -> dict[str, float]:
    return dict(zip((of.table.keys[row] for row in of.series), of.values.tolist(), strict=True))


async def collected(log: KernelLog, at: int = 0) -> list[dict[str, float]]:
    return [values(one) for one in await log.collect(START_NS + at * SECOND)]


async def test_a_burst_is_one_event_of_the_gpu_that_the_log_names_and_every_record_is_counted(
    context: CollectorContext, file: Path
) -> None:
    log = make(context, file)
    assert await collected(log) == [READ]
    append(file, BURST)
    assert await collected(log) == [READ | {LAST: 0.0, COUNT: 0.0}]
    assert await collected(log) == [READ | {LAST: 119.0, COUNT: 5.0}]
    assert context.ledger.samples_in == 7
    assert not context.ledger.drops


async def test_an_xid_becomes_a_finding_about_the_gpu_and_one_that_was_there_before_does_not(
    context: CollectorContext, file: Path
) -> None:
    append(file, XID.replace("9b", "1b"))  # history
    log = make(context, file, gpus={"0000:9b:00.0": UUID, "0000:1b:00.0": "GPU-2"})
    batches: list[SampleBatch] = []
    for tick in range(12):
        if tick == 5:
            append(file, XID)
        batches += await log.collect(START_NS + round(tick * INTERVAL_S * SECOND))
    found = [one for one in run(build_engine(EngineConfig(interval_s=INTERVAL_S)), batches) if isinstance(one, Finding)]
    assert {(one.kind, one.object.name) for one in found} == {(FindingKind.GPU_XID, f"node1/{UUID}")}


async def test_dcgm_beside_it_makes_no_second_finding_of_one_gpu(context: CollectorContext, file: Path) -> None:
    """dcgm-exporter says later what the log said, and its own last code, which is older, is no event."""
    log = make(context, file, gpus={"0000:9b:00.0": UUID})
    exporter = table("node1", [LAST.replace(',source="kernel_log"', "")], "dcgm")
    batches: list[SampleBatch] = []
    for tick in range(12):
        if tick == 5:
            append(file, XID)
        batches += await log.collect(START_NS + round(tick * INTERVAL_S * SECOND))
        batches.append(batch(exporter, tick, [48.0 if tick < 7 else 79.0]))
    found = [one for one in run(build_engine(EngineConfig(interval_s=INTERVAL_S)), batches) if isinstance(one, Finding)]
    assert {one.kind for one in found} == {FindingKind.GPU_XID}
    assert len({one.id for one in found}) == 1


async def test_kmsg_is_read_from_the_boot_on_and_with_the_times_of_its_records(
    context: CollectorContext, tmp_path: Path
) -> None:
    gpu = tmp_path / "driver" / "0000:9b:00.0"
    gpu.mkdir(parents=True)
    (gpu / "information").write_text(f"GPU UUID: \t {UUID}\nBus Location: \t 0000:9b:00.0\n")
    fifo = tmp_path / "kmsg"
    os.mkfifo(fifo)
    log = make(context, fifo, format="kmsg", driver_folder=str(tmp_path / "driver"))
    assert await collected(log) == [READ | {LAST: 0.0}]
    writer = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    # an hour after the boot the collector started: the first record is of 30 minutes before, the second of now
    os.write(writer, b"3,7,1800000000,-;" + XID.replace("79", "48").encode())
    assert await collected(log) == [READ | {LAST: 0.0, COUNT.replace("119", "48"): 1.0}]
    os.write(writer, b"11,8,3600000000,-;" + XID.encode())  # a program's own
    os.write(writer, b"3,12,3600000000,-;" + XID.replace("79", "119").encode())
    await log.collect(START_NS)
    assert (await collected(log))[0] == READ | {LAST: 119.0, COUNT: 1.0, COUNT.replace("119", "48"): 1.0}
    os.close(writer)


async def test_one_log_of_many_hosts(context: CollectorContext, file: Path) -> None:
    log = make(context, file, format="syslog", device="", hosts_max=2)
    emitted = list(await log.collect(START_NS))
    append(file, "".join(f"Feb 23 16:24:18 node{n} kernel: {XID}" for n in range(3)))
    batches = await log.collect(START_NS)
    emitted += batches
    assert [one.table.device for one in batches] == ["node0", "node1"]
    assert context.ledger.drops == {DropReason.QUOTA: 1}
    append(file, XID)  # no host
    emitted += await log.collect(START_NS)
    assert context.ledger.drops == {DropReason.QUOTA: 1}
    append(file, f"Feb 23 16:24:18 node1 kernel: {XID.replace(': 79', ': x')}")
    emitted += await log.collect(START_NS)
    assert context.ledger.drops == {DropReason.QUOTA: 1, DropReason.BAD_FORMAT: 1}
    assert_accounted(context.ledger, emitted, nobodys=2)
    assert context.ledger.samples_in == 2 * 3 * 3 + 2, "every sample and every record without room is counted"


async def test_a_log_that_is_rotated_truncated_or_away_is_followed(context: CollectorContext, file: Path) -> None:
    log = make(context, file, gpus={"0000:9b:00": UUID})
    await log.collect(START_NS)
    append(file, XID)
    replace(file, XID.replace("79", "119"))
    await log.collect(START_NS)
    truncate(file)
    await log.collect(START_NS)
    append(file, XID.replace("79", "119"))
    await log.collect(START_NS)
    assert (await collected(log))[0][COUNT] == 2.0
    assert (await collected(log))[0][COUNT.replace("119", "79")] == 1.0


async def test_a_log_that_cannot_be_read_is_down_and_read_from_its_first_line_when_it_comes(
    context: CollectorContext, tmp_path: Path
) -> None:
    file = tmp_path / "later.log"
    log = make(context, file, gpus={"0000:9b:00": UUID})
    (down,) = await log.collect(START_NS)
    assert down.collection.down is DownReason.REFUSED
    file.write_text(XID)
    assert (await collected(log))[0][LAST] == 79.0


async def test_halves_of_lines_are_joined_and_endless_ones_left_out(context: CollectorContext, file: Path) -> None:
    log = make(context, file, gpus={"0000:9b:00": UUID}, read_bytes_max=1 << 20)
    await log.collect(START_NS)
    append(file, "x" * 500_000)
    await log.collect(START_NS)
    append(file, XID + XID[:20])
    assert (await collected(log))[0][LAST] == 0.0, "the end of an endless line is none"
    append(file, XID[20:])
    assert (await collected(log))[0][LAST] == 79.0


async def test_it_reads_until_it_is_cancelled(context: CollectorContext, file: Path) -> None:
    log = make(context, file, gpus={"0000:9b:00": UUID}, interval_s=0.01)
    emitted: asyncio.Queue[CollectorOutput] = asyncio.Queue()
    running = asyncio.create_task(log.run(emitted.put_nowait))
    await emitted.get()
    append(file, XID)
    async with asyncio.timeout(DEADLINE_S):
        while True:
            one = await emitted.get()
            assert isinstance(one, SampleBatch)
            if values(one)[LAST] == 79.0:
                break
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()


SXID = "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, {}\n"
SXID_PARTS = ("Non-fatal, Link 32 egress non-posted PRIV error (First)", "Severity 0 Engine instance 32", "Data {0x00}")
SXID_COUNT = (
    'nvswitch_sxid_errors_total{device="node1",link="32",nvswitch="nvswitch3",severity="non_fatal",sxid="12028"}'
)


async def test_sxids_of_nvswitches_are_counted_once_a_record(context: CollectorContext, file: Path) -> None:
    log = make(context, file)
    emitted = list(await log.collect(START_NS))
    append(file, "".join(SXID.format(part) for part in SXID_PARTS) * 2)
    for expected in (0.0, 2.0, 2.0):
        batches = await log.collect(START_NS)
        assert values(batches[0]) == READ | {SXID_COUNT: expected}
        emitted += batches
    append(file, SXID.format("Whatever, Link 32"))
    emitted += await log.collect(START_NS)
    assert context.ledger.drops == {DropReason.BAD_FORMAT: 1}
    assert_accounted(context.ledger, emitted, nobodys=1)


async def test_an_sxid_becomes_an_event_of_the_host(context: CollectorContext, file: Path) -> None:
    log = make(context, file)
    batches: list[SampleBatch] = []
    for tick in range(16):
        if tick == 5:
            append(file, SXID.format(SXID_PARTS[0]))
        batches += await log.collect(START_NS + round(tick * INTERVAL_S * SECOND))
    engine = build_engine(EngineConfig(interval_s=INTERVAL_S))
    run(engine, batches)
    *_, last = engine.events.pop_due()
    assert (last.kind, last.count, str(last.object)) == (EventKind.SXID, 1, "device:node1")
    assert last.detail == "SXid 12028 on nvswitch3 link 32, non-fatal"


MANAGER_LOG = (SAMPLES / "gpu_events" / "fabricmanager.log").read_text()


async def test_sxids_of_the_fabric_managers_log_are_counted_and_named_so(context: CollectorContext, file: Path) -> None:
    append(file, MANAGER_LOG)  # history
    log = make(context, file, format="fabric_manager")
    read = {'node_kernel_log_readable{device="node1",source="fabric_manager"}': 1.0}
    labels = 'device="node1",link="61",nvswitch="nvswitch3",severity="non_fatal",source="fabric_manager",sxid="12028"'
    emitted = list(await log.collect(START_NS))
    assert values(emitted[0]) == read
    append(file, MANAGER_LOG)
    for expected in (0.0, 1.0):
        batches = await log.collect(START_NS)
        assert values(batches[0]) == read | {f"nvswitch_sxid_errors_total{{{labels}}}": expected}
        emitted += batches
    append(file, MANAGER_LOG.replace(" 12028 ", " many "))
    emitted += await log.collect(START_NS)
    assert context.ledger.drops == {DropReason.BAD_FORMAT: 1}
    assert_accounted(context.ledger, emitted, nobodys=1)
