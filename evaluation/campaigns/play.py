"""Plays a plan: the simulated cluster, read without protocols, and the engine with everything on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analytics.config import EngineConfig
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.worker import build_engine
from evaluation.campaigns.plan import FAILED, LOST, PARTS, Plan
from simulator.direct import campaign
from simulator.faults.truth import Truth
from telemetry.changes import Change
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import Topology


@dataclass(frozen=True, slots=True)
class Step:
    """What correlation was given at one tick."""

    now_ns: int
    changed: tuple[Finding, ...]
    topology: Topology
    changes: tuple[Change, ...]


@dataclass(slots=True)
class Played:
    """What was broken and what was told of it.

    findings: the first version of each, in order. first, newest: versions of each incident, by id. costs_ns: when each
    first told of lost GPU time. series: how many the
    engine followed. topology: with the jobs that have ended. steps: of correlation, for ``without``.
    """

    plan: Plan
    start_ns: int = 0
    truths: list[Truth] = field(default_factory=list)
    findings: dict[str, Finding] = field(default_factory=dict)
    first: dict[str, Incident] = field(default_factory=dict)
    newest: dict[str, Incident] = field(default_factory=dict)
    costs_ns: dict[str, int] = field(default_factory=dict)
    series: int = 0
    topology: Topology = field(default_factory=Topology)
    steps: list[Step] = field(default_factory=list)


def play(plan: Plan, listen: Callable[[list[SampleBatch]], None] = lambda batches: None) -> Played:
    """The same plan gives the same findings and incidents. listen: is handed all that the engine is handed."""
    engine = build_engine(EngineConfig(interval_s=plan.config.interval_s))
    played, losses = Played(plan), _Losses(plan.seed)
    engine.correlator = _Heard(plan, played.steps)
    for tick in campaign(plan.config, plan.faults, plan.lasts_s, parts=PARTS):
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        arrived = list(losses.pass_on(tick.batches))
        listen(arrived)
        for batch in arrived:
            engine.observe(batch)
        for output in engine.advance():
            if isinstance(output, Finding):
                played.findings.setdefault(output.id, output)
            else:
                _keep(played, output)
        played.truths, played.start_ns = list(tick.cluster.truth), tick.cluster.start_ns
    played.series, played.topology = len(engine.registry), engine.cluster.topology
    return played


def without(played: Played, detector: str) -> Played:
    """The incidents of the same campaign if nobody heard one detector. Detectors themselves do not hear each other."""
    deaf = replace(played, first={}, newest={}, costs_ns={}, steps=[])
    correlator = _Heard(played.plan, deaf.steps)
    for step in played.steps:
        heard = [finding for finding in step.changed if finding.detector != detector]
        for incident in correlator.step(step.now_ns, heard, step.topology, step.changes):
            _keep(deaf, incident)
    return deaf


def _keep(played: Played, incident: Incident) -> None:
    played.first.setdefault(incident.id, incident)
    played.newest[incident.id] = incident
    if incident.gpu_seconds > 0.0:
        played.costs_ns.setdefault(incident.id, incident.updated_ns)


class _Heard(Correlator):
    """Correlation that writes down what it is given."""

    def __init__(self, plan: Plan, steps: list[Step]) -> None:
        super().__init__(CorrelateConfig(interval_s=plan.config.interval_s))
        self._steps = steps

    def step(
        self, now_ns: int, changed: Sequence[Finding], topology: Topology, changes: Sequence[Change]
    ) -> list[Incident]:
        self._steps.append(Step(now_ns, tuple(changed), topology, tuple(changes)))
        return super().step(now_ns, changed, topology, changes)


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
                failed = replace(batch.collection, down=DownReason.TIMEOUT)
                yield SampleBatch(batch.table, failed, nothing.astype(np.int64), nothing.astype(np.uint32), nothing)
        self._spared -= {batch.table.target for batch in batches}
        self._spared |= hit
