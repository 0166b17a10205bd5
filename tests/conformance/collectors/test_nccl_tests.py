"""The collector of result files of nccl-tests, on a real folder whose files come, change and go."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from ingest.collectors.base import CollectorContext
from ingest.collectors.nccl_tests.collector import NcclTestsCollector, nccl_tests_collectors
from ingest.collectors.nccl_tests.config import Config
from ingest.ledger import DropReason, Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES

TEXT = (SAMPLES / "nccl" / "all_reduce_and_sendrecv_perf.txt").read_text()
JSON = (SAMPLES / "nccl" / "reduce_scatter_perf.json").read_text()
USED, REFUSED, LEFT_OUT = (
    f'nccl_test_results{{device="node9",state="{state}"}}' for state in ("used", "refused", "left_out")
)
LARGEST = (
    'nccl_bus_bandwidth_bytes_per_second{buffers="in_place",bytes="1073741824",communicator="nccl-tests",device="node1",'
    'element="float",nodes="2",op="AllReduce",ranks="4",reduction="sum",size="1-2GB"}'
)


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), time.time_ns, workers)
    workers.shutdown()


def make(folder: Path, context: CollectorContext, **settings: Any) -> NcclTestsCollector:
    (made,) = nccl_tests_collectors([Config(folder=folder, device="node9", **settings)], context)
    return made


def put(file: Path, text: str, age_s: float = 3600.0) -> None:
    """age_s: since it was written."""
    file.write_text(text)
    changed_s = time.time() - age_s
    os.utime(file, (changed_s, changed_s))


async def collected(collector: NcclTestsCollector) -> SampleBatch:
    return await collector.collect(time.time_ns())


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def refusals(reason: str) -> float:
    labels = {"job": "nccl-tests", "reason": reason}
    return REGISTRY.get_sample_value("fabricscope_ingest_nccl_tests_results_refused_total", labels) or 0.0


async def test_results_are_stated_in_each_collection_and_every_sample_counted(
    tmp_path: Path, context: CollectorContext
) -> None:
    put(tmp_path / "one.txt", TEXT)
    put(tmp_path / "two.json", JSON)
    collector = make(tmp_path, context)
    batches = [await collected(collector) for _ in range(3)]
    assert values(batches[0]) == values(batches[2])
    assert (values(batches[0])[USED], values(batches[0])[LARGEST], len(batches[0])) == (
        3,
        65_490_000_000,
        24 + 24 + 18 + 3,
    )
    assert batches[0].table is batches[2].table
    assert not collector.unmapped
    assert_accounted(context.ledger, batches)


async def test_a_file_is_read_once_and_again_when_it_has_changed(
    tmp_path: Path, context: CollectorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    real = Path.open

    def counting(path: Path, *arguments: Any, **keywords: Any) -> Any:
        opened.append(path)
        return real(path, *arguments, **keywords)

    file = tmp_path / "one.txt"
    put(file, TEXT)
    collector = make(tmp_path, context)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", counting)
        for _ in range(3):
            await collected(collector)
    assert opened == [file]
    put(file, TEXT.replace("65.49       3", "60.00       3"), age_s=1800)
    assert values(await collected(collector))[LARGEST] == 60_000_000_000


async def test_of_two_results_of_one_test_the_newer_counts(tmp_path: Path, context: CollectorContext) -> None:
    put(tmp_path / "b", TEXT.replace("65.49       3", "60.00       3"), age_s=100)
    put(tmp_path / "a", TEXT, age_s=200)
    batch = await collected(make(tmp_path, context))
    assert (values(batch)[LARGEST], values(batch)[USED], len(batch)) == (60_000_000_000, 4, 51)
    assert not context.ledger.drops


async def test_a_file_that_is_still_written_waits(tmp_path: Path, context: CollectorContext) -> None:
    put(tmp_path / "one.txt", TEXT[:2000], age_s=0)
    collector = make(tmp_path, context)
    assert values(await collected(collector)) == {USED: 0, REFUSED: 0, LEFT_OUT: 0}
    put(tmp_path / "one.txt", TEXT, age_s=40)
    assert values(await collected(collector))[USED] == 2


async def test_what_a_removed_file_stated_is_no_longer_stated(tmp_path: Path, context: CollectorContext) -> None:
    put(tmp_path / "one.txt", TEXT)
    collector = make(tmp_path, context)
    assert LARGEST in values(await collected(collector))
    (tmp_path / "one.txt").unlink()
    assert values(await collected(collector)) == {USED: 0, REFUSED: 0, LEFT_OUT: 0}


async def test_the_glob_chooses_and_what_is_no_file_is_passed_over(tmp_path: Path, context: CollectorContext) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below.txt").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    put(tmp_path / "below" / "one.txt", TEXT)
    put(tmp_path / "two.json", JSON)
    assert values(await collected(make(tmp_path, context, glob="*.txt")))[USED] == 0
    assert values(await collected(make(tmp_path, context, glob="**/*.txt")))[USED] == 2


async def test_hosts_of_results_are_devices_of_the_settings(tmp_path: Path, context: CollectorContext) -> None:
    put(tmp_path / "one.txt", TEXT)
    batch = await collected(make(tmp_path, context, hosts={"node1": "gpu-a01"}))
    assert LARGEST.replace('"node1"', '"gpu-a01"') in values(batch)


@pytest.mark.parametrize(
    ("text", "settings", "reason"),
    [
        (TEXT[:1500], {}, "truncated"),
        (TEXT.replace("#  Rank  1", "#  Rank  0"), {}, "interleaved"),
        (TEXT, {"limits": {"rows_max": 3}}, "too_large"),
        (TEXT, {"limits": {"file_bytes_max": 100}}, "too_large"),
        ("\0" * 1000, {}, "bad_format"),
    ],
)
async def test_what_is_no_result_is_refused_with_its_reason(
    tmp_path: Path, context: CollectorContext, text: str, settings: dict[str, Any], reason: str
) -> None:
    put(tmp_path / "one.txt", text)
    put(tmp_path / "two.json", JSON)
    if "limits" in settings:
        (tmp_path / "two.json").unlink()
    before = refusals(reason)
    collector = make(tmp_path, context, **settings)
    batches = [await collected(collector), await collected(collector)]
    assert refusals(reason) - before == values(batches[1])[REFUSED], "once for each version of a file"
    assert values(batches[1])[REFUSED] > 0
    assert values(batches[1])[USED] == (0 if settings else 1), "the other file is read all the same"
    assert_accounted(context.ledger, batches)


async def test_torn_rows_are_dropped_once_with_their_reason(tmp_path: Path, context: CollectorContext) -> None:
    put(tmp_path / "one.txt", TEXT.replace("30.18   45.27", "30.18   45node2:4102 NCCL INFO x", 1))
    collector = make(tmp_path, context)
    batches = [await collected(collector), await collected(collector)]
    assert context.ledger.drops == {DropReason.BAD_FORMAT: 1}
    assert_accounted(context.ledger, batches)


async def test_results_beyond_the_limit_are_counted(tmp_path: Path, context: CollectorContext) -> None:
    put(tmp_path / "new.json", JSON, age_s=100)
    put(tmp_path / "old.txt", TEXT, age_s=200)
    found = values(await collected(make(tmp_path, context, limits={"samples_max": 42})))
    assert (found[USED], found[LEFT_OUT]) == (2, 1)


async def test_a_folder_that_is_not_there_is_down_and_up_when_it_is(tmp_path: Path, context: CollectorContext) -> None:
    collector = make(tmp_path / "results", context)
    batch = await collected(collector)
    assert (batch.collection.down, len(batch)) == (DownReason.REFUSED, 0)
    (tmp_path / "results").mkdir()
    assert (await collected(collector)).collection.up


@pytest.mark.parametrize("glob", ["/etc/*", "../*", "a/../../*", ""])
def test_a_pattern_that_leaves_the_folder_is_refused(tmp_path: Path, context: CollectorContext, glob: str) -> None:
    with pytest.raises(ValueError, match="glob"):
        make(tmp_path, context, glob=glob)
