"""What the multivariate models find that no other detector finds, and their false positives.

``python -m evaluation.models.multivariate``: fault campaigns through the whole engine, with both methods and all kinds
of devices on, on seeds that nothing was tuned on (``--tune``: the tuning seeds). Most faults are weak: strong ones have
detectors of their own.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from analytics.config import EngineConfig
from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.multivariate.measures import KINDS
from analytics.detectors.multivariate.stage import Multivariate
from analytics.engine import Engine
from analytics.models.multivariate.config import MultivariateConfig
from analytics.models.multivariate.model import Method
from analytics.view.tick_view import TickView
from common.units import NS_PER_S
from evaluation.series.signals import DAY_S
from simulator.config import SimulatorConfig
from simulator.direct import campaign
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from telemetry.findings import Finding, FindingState

TUNE, REPORT = (1, 2), (101, 102)
METHODS: tuple[Method, ...] = ("ellipse", "forest")
_FAULTS = (
    ("straggler-gpu", 0.1),
    ("gpu-thermal-throttle", 0.15),
    ("slow-receiver", 0.1),
    ("dirty-optic", 0.5),
    ("slow-storage-target", 0.15),
    ("speed-downgrade", 0.3),
    ("straggler-gpu", 1.0),
    ("gpu-thermal-throttle", 0.25),
    ("incast", 0.3),
)
_FIRST_S, _LASTS_S, _EVERY_S = 2400, 300, 600
_SECONDS = _FIRST_S + _EVERY_S * len(_FAULTS)
_AFTER_NS = 180 * NS_PER_S  # findings that begin this soon after a fault may be its consequence
_INTERVAL_NS = 10 * NS_PER_S  # of collection
_PREFIX = "multivariate_"
Row = dict[str, Any]


@dataclass
class CampaignRun:
    """One campaign with one method. devices: of each kind. healthy_s: time without faults, after the first model."""

    seed: int
    method: Method
    faulty: bool
    truth: list[Truth] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    devices: dict[str, int] = field(default_factory=dict)
    healthy_s: float = 0.0


class BothMethods(Multivariate):
    """Replaces the engine's step: the same views for each method, each with its own findings."""

    def __init__(self, runs: Sequence[CampaignRun], interval_ns: int) -> None:
        super().__init__(MultivariateConfig(), interval_ns)
        self._methods = [(of, Multivariate(_config(of.method), interval_ns), FindingTracker()) for of in runs]

    def update(self, view: TickView, tracker: FindingTracker, findings: Sequence[Finding]) -> list[Finding]:
        for of, part, own_tracker in self._methods:
            of.findings += [*findings, *part.update(view, own_tracker, findings)]
            of.devices = {model.device.name: model.devices for model in part.models}
        return []


def run_campaign(seed: int, faulty: bool) -> list[CampaignRun]:
    """One simulated campaign through one engine with both methods."""
    schedule = [
        ScheduledFault(fault=name, at_s=_FIRST_S + _EVERY_S * number, lasts_s=_LASTS_S, strength=strength)
        for number, (name, strength) in enumerate(_FAULTS if faulty else ())
    ]
    runs = [CampaignRun(seed, method, faulty) for method in METHODS]
    engine = Engine(EngineConfig())
    engine.multivariate = BothMethods(runs, engine.config.interval_ns)
    for tick in campaign(SimulatorConfig(hosts=4, seed=seed, step_ms=20), schedule, _SECONDS):
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        for batch in tick.batches:
            engine.observe(batch)
        engine.advance()
    for of in runs:
        of.truth = list(tick.cluster.truth)
        of.healthy_s = _SECONDS - 1800 - (len(schedule) * (_LASTS_S + _AFTER_NS / NS_PER_S))
    return runs


def _config(method: Method) -> MultivariateConfig:
    return MultivariateConfig(kinds=("gpu", "host", "port", "storage_target"), method=method)


def found(of: CampaignRun) -> Iterator[Row]:
    """A row a fault: intervals from its onset until detectors report the root, None if never."""
    for number, truth in enumerate(of.truth):
        first: dict[str, float] = {}
        for finding in of.findings:
            inside = truth.start_ns - _INTERVAL_NS <= finding.onset_ns <= truth.end_ns
            if inside and finding.state is FindingState.ACTIVE and str(finding.object) in _broken(truth):
                first.setdefault(finding.detector, (finding.observed_ns - truth.start_ns) / _INTERVAL_NS)
        ours = [delay for name, delay in first.items() if name.startswith(_PREFIX)]
        others = [delay for name, delay in first.items() if not name.startswith(_PREFIX)]
        yield {
            "fault": f"{truth.fault} {_FAULTS[number][1]:g}",
            "method": of.method,
            "seed": of.seed,
            "ours": min(ours, default=None),
            "others": min(others, default=None),
            "by": sorted(first),
        }


def _broken(truth: Truth) -> set[str]:
    root = str(truth.root)
    return {f"port:{end}" for end in root.removeprefix("link:").split("--")} if root.startswith("link:") else {root}


def false_positives(of: CampaignRun) -> dict[str, int]:
    """Findings by kind of device that began without a fault."""
    counts = dict.fromkeys(KINDS, 0)
    for finding in {f.id: f for f in of.findings if f.detector.startswith(_PREFIX)}.values():
        if not any(t.start_ns - _INTERVAL_NS <= finding.onset_ns <= t.end_ns + _AFTER_NS for t in of.truth):
            counts[finding.detector.removeprefix(_PREFIX)] += 1
    return counts


def about_others(of: CampaignRun) -> int:
    """Findings during faults about other objects than the root: mostly its victims."""
    ids = set()
    for finding in of.findings:
        for truth in of.truth:
            inside = truth.start_ns - _INTERVAL_NS <= finding.onset_ns <= truth.end_ns + _AFTER_NS
            if inside and finding.detector.startswith(_PREFIX) and str(finding.object) not in _broken(truth):
                ids.add(finding.id)
    return len(ids)


def run(seeds: Sequence[int], processes: int) -> list[CampaignRun]:
    wanted = [(seed, faulty) for seed in seeds for faulty in (True, False)]
    with get_context("spawn").Pool(processes) as pool:
        return [of for runs in pool.starmap(run_campaign, wanted, chunksize=1) for of in runs]


def by_fault(runs: Sequence[CampaignRun]) -> Table:
    table = Table(title="Faults: found by the multivariate model, by any other detector, and by the model alone")
    for heading in ("fault", "method", "found", "delay, intervals", "others found", "delay", "found alone"):
        table.add_column(heading)
    rows = [row for of in runs for row in found(of)]
    for name in dict.fromkeys(row["fault"] for row in rows):
        for method in METHODS:
            mine = [row for row in rows if row["fault"] == name and row["method"] == method]
            ours, others = ([row[who] for row in mine if row[who] is not None] for who in ("ours", "others"))
            alone = sum(row["ours"] is not None and row["others"] is None for row in mine)
            counts = (f"{len(ours)}/{len(mine)}", _mean(ours), f"{len(others)}/{len(mine)}", _mean(others), str(alone))
            table.add_row(name, method, *counts)
    return table


def by_kind(runs: Sequence[CampaignRun]) -> Table:
    table = Table(title="False alarms: findings while nothing is wrong")
    for heading in ("kind", "method", "findings", "device-days", "per device and day"):
        table.add_column(heading)
    for kind in KINDS:
        for method in METHODS:
            mine = [of for of in runs if of.method == method]
            count = sum(false_positives(of)[kind] for of in mine)
            days = sum(of.devices[kind] * of.healthy_s for of in mine) / DAY_S
            table.add_row(kind, method, str(count), f"{days:.1f}", f"{count / days:.2f}")
    return table


def _mean(numbers: Sequence[float]) -> str:
    return f"{np.mean(numbers):.1f}" if numbers else ""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tune", action="store_true", help="the tuning seeds")
    arguments.add_argument("--processes", type=int, default=1)
    given = arguments.parse_args()
    console = Console()
    runs = run(TUNE if given.tune else REPORT, given.processes)
    console.print(by_fault(runs))
    console.print(by_kind(runs))
    for of in runs:
        if of.faulty:
            others = about_others(of)
            console.print(f"seed {of.seed}, {of.method}: {others} findings about victims of {len(of.truth)} faults")


if __name__ == "__main__":
    main()
