"""Runs a plan: the simulated cluster, read without protocols, through the engine with every detector on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analytics.config import EngineConfig
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.models.flap_comparison import FlapComparison
from analytics.worker import build_engine
from evaluation.campaigns.plan import FAILED, LOST, PARTS, Plan
from simulator.direct import campaign, without_samples
from simulator.faults.truth import Truth
from telemetry.changes import Change
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import Topology


@dataclass(frozen=True, slots=True)
class CorrelatorInput:
    """What correlation received at one tick."""

    now_ns: int
    changed: tuple[Finding, ...]
    topology: Topology
    changes: tuple[Change, ...]
    flaps: tuple[FlapComparison, ...] = ()
    read_every_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class CampaignRun:
    """Ground truth, findings and incidents of one campaign.

    findings: the first version of each, in order. first, newest: versions of each incident, by id. costs_ns: when each
    first reported lost GPU time. series: how many the engine has. topology: with the jobs that have ended. inputs: of
    correlation, for ``muted``.
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
    inputs: list[CorrelatorInput] = field(default_factory=list)

    def add(self, incident: Incident) -> None:
        """Keeps a version of an incident."""
        self.first.setdefault(incident.id, incident)
        self.newest[incident.id] = incident
        if incident.gpu_seconds > 0.0:
            self.costs_ns.setdefault(incident.id, incident.updated_ns)


def run_plan(plan: Plan, on_batches: Callable[[list[SampleBatch]], None] = lambda batches: None) -> CampaignRun:
    """The same plan gives the same findings and incidents. on_batches: gets every batch that the engine gets."""
    engine = build_engine(EngineConfig(interval_s=plan.config.interval_s))
    run, losses = CampaignRun(plan), _Losses(plan.seed)
    engine.correlator = _RecordingCorrelator(plan, run.inputs)
    for tick in campaign(plan.config, plan.faults, plan.lasts_s, parts=PARTS):
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        arrived = list(losses.arrived(tick.batches))
        on_batches(arrived)
        for batch in arrived:
            engine.observe(batch)
        for output in engine.advance():
            if isinstance(output, Finding):
                run.findings.setdefault(output.id, output)
            else:
                run.add(output)
        run.truths, run.start_ns = list(tick.cluster.truth), tick.cluster.start_ns
    run.series, run.topology = len(engine.registry), engine.cluster.topology
    return run


def muted(run: CampaignRun, detector: str) -> CampaignRun:
    """The same campaign with the findings of one detector removed before correlation."""
    without = replace(run, first={}, newest={}, costs_ns={}, inputs=[])
    correlator = _RecordingCorrelator(run.plan, without.inputs)
    for given in run.inputs:
        kept = [finding for finding in given.changed if finding.detector != detector]
        explains = given.topology, given.changes, given.flaps, given.read_every_s
        for incident in correlator.step(given.now_ns, kept, *explains):
            without.add(incident)
    return without


class _RecordingCorrelator(Correlator):
    """Correlation that keeps its inputs."""

    def __init__(self, plan: Plan, inputs: list[CorrelatorInput]) -> None:
        super().__init__(CorrelateConfig(interval_s=plan.config.interval_s))
        self._inputs = inputs

    def step(
        self,
        now_ns: int,
        changed: Sequence[Finding],
        topology: Topology,
        changes: Sequence[Change],
        flaps: Sequence[FlapComparison] = (),
        read_every_s: Mapping[str, float] | None = None,
    ) -> list[Incident]:
        explains = topology, tuple(changes), tuple(flaps), read_every_s or {}
        self._inputs.append(CorrelatorInput(now_ns, tuple(changed), *explains))
        return super().step(now_ns, changed, topology, changes, flaps, read_every_s)


class _Losses:
    """Loses single collections of a target, never two consecutive ones."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 3])
        self._exempt: set[str] = set()

    def arrived(self, batches: list[SampleBatch]) -> Iterator[SampleBatch]:
        """The batches that are not lost, some of them replaced by failed collections."""
        draws = self._rng.random(len(batches)).tolist()
        hit: set[str] = set()
        for batch, draw in zip(batches, draws, strict=True):
            target = batch.table.target
            if draw >= LOST + FAILED or target in self._exempt:
                yield batch
                continue
            hit.add(target)
            if draw < FAILED:
                yield without_samples(batch.table, replace(batch.collection, down=DownReason.TIMEOUT))
        self._exempt -= {batch.table.target for batch in batches}
        self._exempt |= hit
