"""Writes one cluster of the set, and the texts beside it."""

import shutil
from pathlib import Path

import orjson

from evaluation.dataset.collect import RoceColumns
from evaluation.families.plans import FamilyPlan
from evaluation.families.run_plan import ticks
from simulator.faults.truth import write_truth
from simulator.layout import topology_facts

LICENCE = Path(__file__).parents[2] / "LICENSE"
README = Path(__file__).with_name("README.md")


def write_cluster(plan: FamilyPlan, into: Path) -> str:
    """Writes a folder; returns the cluster's row of the README. The same plan gives the same values.

    ConfigError where a fault has no target.
    """
    folder = into / f"{plan.family.name}-{plan.seed}"
    folder.mkdir(parents=True)
    columns = RoceColumns()
    for tick in ticks(plan):
        columns.add(tick.batches)
        cluster = tick.cluster
    samples, series = columns.samples(), columns.series()
    samples.write_parquet(folder / "samples.parquet", compression="zstd")
    series.write_parquet(folder / "series.parquet", compression="zstd")
    write_truth(folder / "truth.jsonl", cluster.truth)
    topology = [*topology_facts(cluster.layout, cluster.start_ns), *cluster.job_facts()]
    lines = (orjson.dumps(fact, option=orjson.OPT_APPEND_NEWLINE) for fact in topology)
    (folder / "topology.jsonl").write_bytes(b"".join(lines))
    (folder / "plan.json").write_bytes(
        orjson.dumps(_plan(plan), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )
    return f"| {folder.name} | {len(samples):,} | {len(series):,} | {len(cluster.truth)} |\n"


def _plan(plan: FamilyPlan) -> dict[str, object]:
    return {
        "family": plan.family.model_dump(mode="json"),
        "seed": plan.seed,
        "lasts_s": plan.lasts_s,
        "config": plan.config.model_dump(mode="json"),
        "faults": [fault.model_dump(mode="json") for fault in plan.faults],
    }


def write_texts(into: Path, clusters: list[str]) -> None:
    (into / "README.md").write_text(README.read_text() + "".join(clusters))
    shutil.copy(LICENCE, into / "LICENSE")
