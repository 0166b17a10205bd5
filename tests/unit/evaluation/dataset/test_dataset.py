"""The labelled set: values that the cluster has, the truth beside them, the same each time."""

from pathlib import Path

import numpy as np
import orjson
import polars as pl
import pytest

from evaluation.dataset import __main__ as program
from evaluation.dataset.collect import RoceColumns
from evaluation.dataset.write import LICENCE, write_cluster, write_texts
from evaluation.families.family import Family, FaultChoice
from evaluation.families.plans import FamilyPlan
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import ScheduledFault
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable

FAMILY = Family(name="small", stands_for="a test", hosts=4, faults=FaultChoice(kinds=("link-down",)))
CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50)
FAULT = ScheduledFault(fault="link-down", at_s=25.0, lasts_s=30.0, target="leaf1/Ethernet0")
PLAN = FamilyPlan(FAMILY, 7, CONFIG, (FAULT,), 80.0)
KEYS = ('fabric_port_up{device="leaf1",port="1"}', 'gpu_power_watts{device="leaf1",gpu="a"}', 'nic_up{device="leaf1"}')


def test_the_truth_says_when_the_port_was_down(tmp_path: Path) -> None:
    row = write_cluster(PLAN, tmp_path)
    folder = tmp_path / "small-7"
    samples, series = (pl.read_parquet(folder / f"{name}.parquet") for name in ("samples", "series"))
    (truth,) = (orjson.loads(line) for line in (folder / "truth.jsonl").read_bytes().splitlines())
    assert truth["root"] == "link:leaf1/Ethernet0--node1/mlx5_0"
    at_port = (pl.col("device") == "leaf1") & (pl.col("port") == "Ethernet0") & (pl.col("metric") == "fabric_port_up")
    up = samples.join(series.filter(at_port), on="series").sort("time_ns")
    during = up.filter(pl.col("time_ns").is_between(truth["start_ns"], truth["end_ns"]))
    assert set(during["value"]) == {0.0}
    assert set(up.filter(pl.col("time_ns") < truth["start_ns"])["value"]) == {1.0}
    assert len(up) == 8
    assert row == f"| small-7 | {len(samples):,} | {len(series):,} | 1 |\n"
    plan = orjson.loads((folder / "plan.json").read_bytes())
    assert (plan["seed"], plan["faults"][0]["target"]) == (7, "leaf1/Ethernet0")
    facts = [orjson.loads(line) for line in (folder / "topology.jsonl").read_bytes().splitlines()]
    assert {"link", "job", "device", "gpu"} <= {fact["entity"]["kind"] for fact in facts}


def test_only_series_of_switches_and_nics_are_kept_and_numbered_once() -> None:
    columns = RoceColumns()
    for second in (2, 1):
        table = SeriesTable("gnmi/x", "leaf1", KEYS)
        times = np.full(3, second * 10**9)
        batch = SampleBatch(
            table, Collection(0, 0, second * 10**9, 0.01), times, np.arange(3, dtype=np.uint32), times / 1e9
        )
        columns.add([batch])
    assert columns.series().rows() == [(0, "fabric_port_up", "leaf1", "1", ""), (1, "nic_up", "leaf1", "", "")]
    assert columns.samples().rows() == [(10**9, 0, 1.0), (2 * 10**9, 0, 2.0), (10**9, 1, 1.0), (2 * 10**9, 1, 2.0)]


def test_a_readme_and_the_licence_are_beside_it(tmp_path: Path) -> None:
    write_texts(tmp_path, ["| small-7 | 1 | 1 | 1 |\n"])
    assert (tmp_path / "README.md").read_text().endswith("| small-7 | 1 | 1 | 1 |\n")
    assert (tmp_path / "LICENSE").read_bytes() == LICENCE.read_bytes()
    assert b"Apache License" in LICENCE.read_bytes()


def test_an_unknown_family_writes_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "dataset" / "kept"
    kept.mkdir(parents=True)
    with pytest.raises(SystemExit, match="dataset: no family gnomes, expected some of plain-singles"):
        program.main(["--families", "gnomes"], tmp_path / "dataset")
    assert kept.exists()


def test_the_families_of_the_set_are_declared_and_progress_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[FamilyPlan] = []

    def write(plan: FamilyPlan, into: Path) -> str:
        written.append(plan)
        into.mkdir(exist_ok=True)
        return "| x |\n"

    monkeypatch.setattr(program, "write_cluster", write)
    program.main([], tmp_path / "dataset")
    assert [plan.family.name for plan in written] == list(program.FAMILIES)
    assert f"5 of {len(written)}" in capsys.readouterr().err
    assert (tmp_path / "dataset" / "README.md").read_text().count("| x |") == 5
