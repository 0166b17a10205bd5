"""The collector of NCCL Inspector's records, on a real folder whose files grow, rotate, are cut and go."""

import math
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from prometheus_client import REGISTRY

from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.nccl_inspector.collector import NcclInspectorCollector, nccl_inspector_collectors
from ingest.collectors.nccl_inspector.config import Config
from ingest.ledger import DropReason, Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.ledgers import assert_accounted
from tests.unit.ingest.nccl_inspector.written import append, collective, dump, transfer, verbose

WINDOW_NS = 30 * NS_PER_S
T_NS = time.time_ns() // WINDOW_NS * WINDOW_NS  # a window begins
LATER_NS = T_NS + WINDOW_NS + 10 * NS_PER_S  # it is over
S = NS_PER_S
COLLECTIVES = 'device="node1",job_id="77",nodes="2",op="AllReduce",rank="0",ranks="4",size="1-2GB"}'
BUSBW = 'nccl_bus_bandwidth_bytes_per_second{algorithm="RING_SIMPLE",communicator="DP",' + COLLECTIVES
DURATION = 'nccl_collective_duration_seconds{algorithm="RING_SIMPLE",communicator="DP",' + COLLECTIVES
P2P = COLLECTIVES.replace("AllReduce", "Send").replace("1-2GB", "64-65MB")
OPERATIONS = 'nccl_inspector_operations_total{device="node1",job_id="77",kind="collective"}'
LOST = OPERATIONS.replace("operations", "lost_operations")


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), time.time_ns, workers)
    workers.shutdown()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """That of one process, which does not exist yet."""
    return tmp_path / "nccl-inspector-77" / "node1-pid4100.log"


def make(folder: Path, context: CollectorContext, **settings: Any) -> NcclInspectorCollector:
    (made,) = nccl_inspector_collectors([Config(folder=folder, device="login1", **settings)], context)
    return made


def samples(batch: SampleBatch) -> list[Any]:
    """Of operations: series, event time in seconds since T_NS, value."""
    columns = (batch.table.keys[row] for row in batch.series), batch.times_ns.tolist(), batch.values.tolist()
    rows = zip(*columns, strict=True)
    return [(key, (at - T_NS) // S, value) for key, at, value in rows if not key.startswith("nccl_inspector_")]


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def bandwidths(batches: Iterable[SampleBatch]) -> list[Any]:
    """Of the first rank's all-reduces: event time, and GB/s."""
    found = [one for batch in batches for one in samples(batch)]
    return [(at, pytest.approx(value / 1e9)) for key, at, value in found if key == BUSBW]


def states(batch: SampleBatch) -> dict[str, float]:
    found = values(batch)
    return {
        state: found[f'nccl_inspector_files{{device="login1",state="{state}"}}']
        for state in ("followed", "idle", "refused", "left_out")
    }


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"fabricscope_ingest_nccl_inspector_{name}", {"job": JOB, **labels}) or 0.0


JOB = "nccl-inspector"


@pytest.mark.parametrize("version", ["v4.2", "v4.3"])
async def test_operations_of_a_window_are_one_sample_of_each_series(
    file: Path, context: CollectorContext, version: str
) -> None:
    collector = make(file.parent.parent, context)
    bodies = collective(100.0, 10_000), collective(400.0, 30_000), transfer(40.0, 2_000)
    append(file, dump(T_NS + 5 * S, *bodies, version=version, lost=3), T_NS)
    early, batch = await collector.collect(T_NS + 20 * S), await collector.collect(LATER_NS)
    assert samples(early) == []
    p2p = P2P.replace('device="node1"', 'communicator="DP",device="node1"')
    assert samples(batch) == [
        (BUSBW, 5, pytest.approx(200e9)),  # the geometric mean, as in Inspector's textfile
        (f"nccl_p2p_bandwidth_bytes_per_second{{{p2p}", 5, pytest.approx(40e9)),
        (DURATION, 5, pytest.approx(0.02)),
        (f"nccl_p2p_duration_seconds{{{p2p}", 5, pytest.approx(0.002)),
    ]
    assert (values(early)[OPERATIONS], values(early)[LOST]) == (5, 3)
    assert OPERATIONS not in values(batch)  # what does not grow is not stated again
    assert batch.collection.unmapped == 0
    assert batch.collection.left_out == 0
    assert early.collection.left_out > 0
    assert not collector.unmapped
    assert_accounted(context.ledger, [early, batch])


async def test_the_first_form_names_no_communicator_and_no_algorithm(file: Path, context: CollectorContext) -> None:
    collector = make(file.parent.parent, context)
    body = {name: value for name, value in collective().items() if name not in ("coll_algo", "coll_proto")}
    append(file, dump(T_NS, body, version="v4.0"), T_NS)
    found = samples(await collector.collect(LATER_NS))
    assert found[0] == ("nccl_bus_bandwidth_bytes_per_second{" + COLLECTIVES, 0, pytest.approx(400e9))


async def test_verbose_records_are_of_when_their_kernels_ended(file: Path, context: CollectorContext) -> None:
    collector = make(file.parent.parent, context)
    ended_us = (T_NS - 7 * S) // 1000
    append(file, dump(T_NS, verbose(collective(), ended_us - 5, ended_us)), T_NS)
    assert [at for _, at, _ in samples(await collector.collect(LATER_NS))] == [-7, -7]


async def test_a_line_and_a_dump_may_be_seen_in_pieces(file: Path, context: CollectorContext) -> None:
    """The process writes its buffer whenever it is full."""
    collector = make(file.parent.parent, context)
    data = dump(T_NS + S, collective(100.0), collective(400.0)) + dump(T_NS + 2 * S, collective(200.0))
    batches = []
    for at in range(0, len(data), 97):
        append(file, data[at : at + 97], T_NS)
        batches.append(await collector.collect(T_NS + 2 * S + at))
    batches.append(await collector.collect(LATER_NS))
    assert bandwidths(batches) == [(2, 200.0)]
    assert [found[OPERATIONS] for found in map(values, batches) if OPERATIONS in found] == [1, 2, 3]
    assert not context.ledger.drops


async def test_many_processes_are_read_and_each_rank_has_its_series(tmp_path: Path, context: CollectorContext) -> None:
    collector = make(tmp_path, context, hosts={"node1": "gpu-a01"})
    for rank in range(40):
        file = tmp_path / "77" / f"node1-pid{rank}.log"
        append(file, dump(T_NS, collective(100.0 + rank), rank=rank, ranks=40), T_NS)
    found = values(await collector.collect(LATER_NS))
    of_rank = BUSBW.replace('"node1"', '"gpu-a01"').replace('ranks="4"', 'ranks="40"')
    for rank in range(40):
        assert found[of_rank.replace('rank="0"', f'rank="{rank}"')] == pytest.approx((100 + rank) * 1e9)


async def test_what_was_written_long_ago_is_no_news(tmp_path: Path, context: CollectorContext) -> None:
    """Last week's job, and the beginning of a job that runs still."""
    week_ns = T_NS - 7 * 86400 * S
    append(tmp_path / "1" / "node1-pid1.log", dump(week_ns, collective(1.0)), week_ns)
    running = tmp_path / "77" / "node1-pid4100.log"
    append(running, dump(week_ns, collective(2.0)) + dump(T_NS, collective(400.0)), T_NS)
    before = counted("records_refused_total", reason="history")
    collector = make(tmp_path, context)
    batch = await collector.collect(LATER_NS)
    assert bandwidths([batch]) == [(0, 400.0)]
    assert states(batch) == {"followed": 1, "idle": 1, "refused": 0, "left_out": 0}
    assert counted("records_refused_total", reason="history") == before + 1
    assert not context.ledger.drops


async def test_an_idle_job_that_writes_again_is_news_and_an_old_file_that_comes_is_none(
    tmp_path: Path, context: CollectorContext
) -> None:
    week_ns = T_NS - 7 * 86400 * S
    idle, brought = tmp_path / "77" / "node1-pid4100.log", tmp_path / "2" / "node1-pid2.log"
    append(idle, dump(week_ns, collective(1.0)), week_ns)
    collector = make(tmp_path, context)
    before = counted("history_bytes_total")
    first = await collector.collect(T_NS)
    append(idle, dump(T_NS, collective(400.0)), T_NS)
    append(brought, dump(week_ns, collective(2.0)), week_ns)
    second = await collector.collect(LATER_NS)
    assert bandwidths([first, second]) == [(0, 400.0)]
    history = len(dump(week_ns, collective(1.0))) + brought.stat().st_size
    assert counted("history_bytes_total") - before == pytest.approx(history, abs=10)


async def test_a_large_file_that_is_there_at_the_start_is_read_from_near_its_end(
    file: Path, context: CollectorContext
) -> None:
    old = dump(T_NS - 3600 * S, *(collective(1.0) for _ in range(8000)))
    append(file, old + dump(T_NS, collective(400.0)), T_NS)
    before, collector = counted("history_bytes_total"), make(file.parent.parent, context)
    assert len(old) > 1 << 20
    batch = await collector.collect(LATER_NS)
    assert bandwidths([batch]) == [(0, 400.0)]
    assert counted("history_bytes_total") - before == os.stat(file).st_size - (1 << 20)
    assert not context.ledger.drops


async def test_records_that_are_read_too_late_are_counted(file: Path, context: CollectorContext) -> None:
    collector = make(file.parent.parent, context)
    first = await collector.collect(T_NS)
    append(file, dump(T_NS - 250 * S, collective()) + dump(T_NS + 3600 * S, collective()), T_NS)
    second = await collector.collect(T_NS + 100 * S)
    assert context.ledger.drops == {DropReason.EVENT_TIME: 2}
    assert_accounted(context.ledger, [first, second])


async def test_a_rotated_file_is_read_to_its_end_and_its_successor_from_its_start(
    file: Path, context: CollectorContext
) -> None:
    collector = make(file.parent.parent, context)
    append(file, dump(T_NS, collective(100.0)), T_NS)
    batches = [await collector.collect(T_NS + S)]
    append(file, dump(T_NS + 2 * S, collective(100.0)), T_NS)
    os.rename(file, f"{file}.1")
    append(file, dump(T_NS + 3 * S, collective(100.0)), T_NS)
    batches.append(await collector.collect(LATER_NS))
    assert bandwidths(batches) == [(3, 100.0)]
    assert values(batches[-1])[OPERATIONS] == 3
    assert not context.ledger.drops


@pytest.mark.parametrize("longer", [False, True])
async def test_a_file_that_is_written_anew_in_its_place_is_read_from_its_start(
    file: Path, context: CollectorContext, longer: bool
) -> None:
    """As by a process that has the number of an earlier one, whether it has written more by now or less."""
    collector = make(file.parent.parent, context)
    append(file, dump(T_NS, *[collective(100.0)] * 5), T_NS)
    batches = [await collector.collect(LATER_NS)]
    os.truncate(file, 0)
    append(file, dump(T_NS + 40 * S, *[collective(300.0)] * (50 if longer else 1)), T_NS)
    batches.append(await collector.collect(LATER_NS + WINDOW_NS))
    assert bandwidths(batches) == [(0, 100.0), (40, 300.0)]
    assert not context.ledger.drops


async def test_a_file_that_is_cut_off_and_goes_is_counted(file: Path, context: CollectorContext) -> None:
    collector = make(file.parent.parent, context)
    whole = dump(T_NS, collective(100.0), collective(100.0), collective(100.0))
    append(file, whole[:-30], T_NS)
    batches = [await collector.collect(T_NS)]
    bytes_before, missing = counted("bytes_lost_total"), counted("records_refused_total", reason="missing")
    os.unlink(file)
    batches.append(await collector.collect(LATER_NS))
    assert bandwidths(batches) == [(0, 100.0)]
    assert context.ledger.drops == {DropReason.BAD_FORMAT: 1}
    assert counted("bytes_lost_total") > bytes_before
    assert counted("records_refused_total", reason="missing") == missing + 1
    assert_accounted(context.ledger, batches)


async def test_lines_of_no_use_are_counted_and_the_next_ones_read(file: Path, context: CollectorContext) -> None:
    collector = make(file.parent.parent, context)
    batches = [await collector.collect(T_NS)]
    append(file, dump(T_NS, collective()) + b"{}\n{torn\n" + b"{" * (3 << 20), T_NS)
    batches.append(await collector.collect(T_NS))
    append(file, b"\n" + dump(T_NS + S, collective(300.0)), T_NS)
    batches.append(await collector.collect(LATER_NS))
    assert context.ledger.drops == {DropReason.BAD_FORMAT: 3}
    assert bandwidths(batches) == [(1, pytest.approx(math.sqrt(400.0 * 300.0)))]
    assert_accounted(context.ledger, batches)


async def test_what_is_no_file_of_inspector_is_refused_and_not_read(tmp_path: Path, context: CollectorContext) -> None:
    append(tmp_path / "a-pid1.log.gz", b"\x1f\x8b" + bytes(100), T_NS)
    append(tmp_path / "a-pid2.log", b"", T_NS)
    append(tmp_path / "other.log", dump(T_NS, collective()), T_NS)
    os.mkfifo(tmp_path / "a-pid3.log")
    (tmp_path / "a-pid4.log").symlink_to(tmp_path / "other.log")
    (tmp_path / "a-pid5.log").mkdir()
    batch = await make(tmp_path, context).collect(LATER_NS)
    assert samples(batch) == []
    assert states(batch) == {"followed": 2, "idle": 0, "refused": 1, "left_out": 0}


async def test_fields_that_nothing_maps_are_listed(file: Path, context: CollectorContext) -> None:
    collector = make(file.parent.parent, context)
    append(file, dump(T_NS, collective(coll_retries=3)), T_NS)
    batch = await collector.collect(LATER_NS)
    assert collector.unmapped == {"coll_retries"}
    assert (batch.collection.unmapped, context.ledger.samples_unmapped) == (1, 1)
    shown = {one.name.partition("{")[0]: one for one in collector.source_series()}
    assert shown["coll_retries"].reason == "nothing maps this name"
    assert shown["coll_algobw_gbs"].left_out
    assert shown["coll_busbw_gbs"].canonical == (BUSBW,)


async def test_files_and_series_are_bounded_and_what_is_beyond_is_counted(
    tmp_path: Path, context: CollectorContext
) -> None:
    collector = make(tmp_path, context, limits={"files_max": 2, "series_max": 1})
    for n in range(3):
        append(tmp_path / f"a-pid{n}.log", dump(T_NS, collective(), transfer()), T_NS + n * S)
    batch = await collector.collect(LATER_NS)
    assert states(batch) == {"followed": 2, "idle": 0, "refused": 0, "left_out": 1}
    assert context.ledger.drops == {DropReason.NEW_SERIES: 2}
    assert_accounted(context.ledger, [batch])


async def test_what_is_beyond_the_bytes_of_a_look_is_read_in_the_next_one(
    tmp_path: Path, context: CollectorContext
) -> None:
    collector = make(tmp_path, context, limits={"read_bytes_max": 1})
    for n in range(3):
        append(tmp_path / "77" / f"node1-pid{n}.log", dump(T_NS, collective(), rank=n), T_NS)
    found = [samples(await collector.collect(LATER_NS)) for _ in range(4)]
    assert [len(each) for each in found] == [2, 2, 2, 0]
    assert not context.ledger.drops


async def test_series_of_jobs_that_are_gone_make_room(tmp_path: Path, context: CollectorContext) -> None:
    collector = make(tmp_path, context, limits={"series_max": 10})
    batches = []
    for n in range(6):
        at_ns = T_NS + n * 2000 * S
        file = tmp_path / f"{n}" / "node1-pid1.log"
        append(file, dump(at_ns, *(collective(coll=f"Op{op}") for op in range(5))), at_ns)
        batches.append(await collector.collect(at_ns + 40 * S))
        file.unlink()
    assert [len(samples(batch)) for batch in batches] == [10] * 6
    assert not context.ledger.drops
    assert len(batches[-1].table) < 40  # of 76


async def test_a_folder_that_is_not_there_is_down_and_up_when_it_is(tmp_path: Path, context: CollectorContext) -> None:
    collector = make(tmp_path / "dumps", context)
    batch = await collector.collect(T_NS)
    assert (batch.collection.down, len(batch)) == (DownReason.REFUSED, 0)
    (tmp_path / "dumps").mkdir()
    assert (await collector.collect(T_NS)).collection.up


async def test_what_a_look_finds_that_comes_back_late_is_not_lost(
    file: Path, context: CollectorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder on a network hangs."""
    collector = make(file.parent.parent, context, timeout_s=0.05)
    append(file, dump(T_NS, collective()), T_NS)
    back, look = Event(), collector._reading.look

    def hanging(now_ns: int) -> Any:
        back.wait()
        return look(now_ns)

    monkeypatch.setattr(collector._reading, "look", hanging)
    batches = [await collector.collect(LATER_NS)]
    assert batches[0].collection.down is DownReason.TIMEOUT
    back.set()
    while not batches[-1].collection.up:
        batches.append(await collector.collect(LATER_NS))
    assert bandwidths(batches) == [(0, 400.0)]
    assert_accounted(context.ledger, batches)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("glob", "/etc/*"),
        ("glob", "../*"),
        ("glob", ""),
        ("job_folder", "job-.*"),
        ("job_folder", "((a+)+)"),
        ("timeout_s", 31),
        ("age_max_s", 59),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=setting):
        Config.model_validate({"folder": tmp_path, "device": "login1", setting: value})


@pytest.mark.parametrize(
    ("folder", "job"),
    [
        ("nccl-inspector-12", "12"),
        ("12", "12"),
        ("12/extra", "12"),
        ("2026/12", "12"),
        ("nccl-inspector-unknown-jobid", ""),
        ("", ""),
    ],
)
async def test_the_job_is_what_its_folder_says(
    tmp_path: Path, context: CollectorContext, folder: str, job: str
) -> None:
    append(tmp_path / folder / "node1-pid1.log", dump(T_NS, collective()), T_NS)
    (key, _, _), _ = samples(await make(tmp_path, context).collect(LATER_NS))
    assert f'job_id="{job}"' in key if job else "job_id" not in key
