"""Plays a plan: the simulated plant, read without protocols, and the engine with everything on."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from analytics.config import EngineConfig
from analytics.worker import build_engine
from benchmarks.detection.campaigns_plan import FAILED, LOST, PARTS, Plan
from simulator.direct import campaign
from simulator.truth import Truth
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.samples import Down, SampleBatch
from telemetry.topology import Topology


@dataclass(slots=True)
class Played:
    """What was broken and what was told of it.

    findings: the first version of each, in order. first, newest: versions of each incident, by id. series: how many the
    engine followed. topology: with the jobs that have ended.
    """

    plan: Plan
    start_ns: int = 0
    truths: list[Truth] = field(default_factory=list)
    findings: dict[str, Finding] = field(default_factory=dict)
    first: dict[str, Incident] = field(default_factory=dict)
    newest: dict[str, Incident] = field(default_factory=dict)
    series: int = 0
    topology: Topology = field(default_factory=Topology)


def play(plan: Plan) -> Played:
    """The same plan gives the same findings and incidents."""
    engine = build_engine(EngineConfig(interval_s=plan.config.interval_s))
    played, losses = Played(plan), _Losses(plan.seed)
    for tick in campaign(plan.config, plan.faults, plan.lasts_s, parts=PARTS):
        engine.learn(tick.facts)
        for change in tick.changes:
            engine.note(change)
        for batch in losses.pass_on(tick.batches):
            engine.observe(batch)
        for output in engine.advance():
            if isinstance(output, Finding):
                played.findings.setdefault(output.id, output)
            else:
                played.first.setdefault(output.id, output)
                played.newest[output.id] = output
        played.truths, played.start_ns = list(tick.plant.truth), tick.plant.start_ns
    played.series, played.topology = len(engine.registry), engine.topology
    return played


class _Losses:
    """Loses single collections of a target, never two in a row."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 3])
        self._spared: set[str] = set()

    def pass_on(self, batches: list[SampleBatch]) -> Iterator[SampleBatch]:
        """What arrives: all, less what is lost, and with failed collections in place of some."""
        draws = self._rng.random(len(batches)).tolist()
        hit: set[str] = set()
        for batch, draw in zip(batches, draws, strict=True):
            target = batch.table.target
            if draw >= LOST + FAILED or target in self._spared:
                yield batch
                continue
            hit.add(target)
            if draw < FAILED:
                nothing = np.zeros(0)
                failed = replace(batch.collection, down=Down.TIMEOUT)
                yield SampleBatch(batch.table, failed, nothing.astype(np.int64), nothing.astype(np.uint32), nothing)
        self._spared -= {batch.table.target for batch in batches}
        self._spared |= hit
