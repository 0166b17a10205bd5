"""NVMe drives: the forms of nvme-cli's releases, what is no log, and programs that answer, fail and hang."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nvme.collector import NvmeCollector
from ingest.collectors.nvme.config import Config
from ingest.collectors.nvme.parse import add_drive
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import series_key
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES

NOW_NS = 1_760_000_000 * NS_PER_S
LOG = SAMPLES / "storage" / "nvme_smart_log.json"


def key(metric: str, drive: str = "nvme0", **labels: str) -> str:
    return series_key(metric, {"device": "node1", "drive": drive, **labels})


def read(**fields: Any) -> dict[str, float]:
    values = Values()
    add_drive(values, "nvme0", json.dumps({"critical_warning": 0, **fields}).encode())
    found = TargetSamples("nvme/node1", "node1", "nvme", 0).read(values).by_series()
    return {name: value for name, value in found.items() if "storage_drive_warning" not in name}


@pytest.mark.parametrize(
    ("fields", "series", "value"),
    [
        ({"temperature": 311}, key("storage_drive_temperature_celsius"), 38.0),
        ({"temperature_sensor_2": 318}, key("storage_drive_temperature_celsius", sensor="2"), 45.0),
        ({"percent_used": 103}, key("storage_drive_wear_ratio"), 1.03),
        ({"avail_spare": 95}, key("storage_drive_spare_ratio"), 0.95),
        ({"data_units_read": 2}, key("storage_drive_bytes_total", op="read"), 1_024_000.0),
        ({"data_units_written": "2"}, key("storage_drive_bytes_total", op="write"), 1_024_000.0),
        ({"media_errors": 7.0}, key("storage_drive_errors_total", kind="media"), 7.0),
        ({"controller_busy_time": 2}, key("storage_drive_busy_seconds_total"), 120.0),
        ({"thm_temp2_total_time": 9}, key("storage_drive_throttled_seconds_total", kind="heavy"), 9.0),
    ],
)
def test_a_field_becomes_a_series_in_its_unit(fields: dict[str, Any], series: str, value: float) -> None:
    assert read(**fields) == {series: pytest.approx(value)}


@pytest.mark.parametrize("warning", [4, "4", {"value": 4, "available_spare": 0, "reliability_degraded": 1}])
def test_each_bit_of_the_warning_is_a_state(warning: object) -> None:
    values = Values()
    add_drive(values, "nvme0", json.dumps({"critical_warning": warning}).encode())
    found = TargetSamples("nvme/node1", "node1", "nvme", 0).read(values).by_series()
    kinds = {"spare": 0.0, "temperature": 0.0, "reliability": 1.0, "read_only": 0.0, "backup": 0.0}
    assert found == {key("storage_drive_warning", kind=kind): value for kind, value in kinds.items()}


@pytest.mark.parametrize("nothing", ["", "N/A", None, True, [], {}, {"value": None}, "1e999"])
def test_what_is_no_number_is_no_sample(nothing: object) -> None:
    assert read(percent_used=nothing) == {}


def test_a_drive_that_reports_no_temperature_has_none() -> None:
    assert read(temperature=0) == {}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"NVMe status: Invalid Field", b'{"error": "not found"}'])
def test_other_output_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="nvme3: "):
        add_drive(Values(), "nvme3", body)


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), lambda: 7, workers)
    workers.shutdown()


@pytest.fixture
def drives(tmp_path: Path) -> Path:
    for name in ("nvme0", "nvme1", "nvme10", "nvme-subsys0"):
        (tmp_path / "class" / name).mkdir(parents=True)
    return tmp_path / "class"


def make(context: CollectorContext, folder: Path, program: str = f"cat {LOG}", **settings: Any) -> NvmeCollector:
    command = ("sh", "-c", f'case "$0" in {program}; esac' if ")" in program else program)
    return NvmeCollector(Config(device="node1", drives_folder=folder, command=command, **settings), context)


async def collected(collector: NvmeCollector) -> tuple[SampleBatch, dict[str, float]]:
    batch = await collector.collect(NOW_NS)
    return batch, dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def count(kind: str) -> str:
    return series_key("storage_drives", {"device": "node1", "system": "block", "kind": kind})


async def test_all_drives_of_a_host_are_asked(context: CollectorContext, drives: Path) -> None:
    batch, found = await collected(make(context, drives, timeout_s=180))
    assert {name for name in found if "spare_ratio" in name} == {
        key("storage_drive_spare_ratio", drive) for drive in ("nvme0", "nvme1", "nvme10")
    }
    assert (found[count("online")], found[count("offline")]) == (3.0, 0.0)
    assert_accounted(context.ledger, [batch])


@pytest.mark.parametrize("broken", ["exit 1", "echo nothing", "sleep 600"])
async def test_a_drive_that_fails_or_hangs_costs_itself_alone(
    context: CollectorContext, drives: Path, broken: str
) -> None:
    program = f"/dev/nvme1) {broken};; *) cat {LOG};"
    _, found = await collected(make(context, drives, program, timeout_s=30))
    assert key("storage_drive_spare_ratio", "nvme10") in found
    assert key("storage_drive_spare_ratio", "nvme1") not in found
    assert (found[count("online")], found[count("offline")]) == (2.0, 1.0)


@pytest.mark.parametrize(("program", "down"), [("exit 1", DownReason.CLOSED), ("echo {}", DownReason.BAD_FORMAT)])
async def test_a_host_none_of_whose_drives_answers_is_down(
    context: CollectorContext, drives: Path, program: str, down: DownReason
) -> None:
    batch, _ = await collected(make(context, drives, program, timeout_s=180))
    assert batch.collection.down is down


async def test_a_host_without_drives_is_down(context: CollectorContext, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        batch, _ = await collected(make(context, folder))
        assert batch.collection.down is DownReason.REFUSED
