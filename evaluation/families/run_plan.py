"""Runs a plan of a family through the engine with every detector on, and through the decision of the alerts stage.

Where faults begin the run branches: a copy of the process goes on without them, so that the judge knows what they
changed.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.worker import build_engine
from common.errors import ConfigError
from common.units import NS_PER_S
from evaluation.campaigns.plan import PARTS
from evaluation.families import parts
from evaluation.families.counterfactual.at_once import AtOnce
from evaluation.families.counterfactual.branch import Branch, FaultGroup, groups
from evaluation.families.counterfactual.fork import in_copy
from evaluation.families.counterfactual.log import ClusterLog, ClusterRecord
from evaluation.families.paging import Page, Pager
from evaluation.families.plans import FamilyPlan
from simulator.cluster import SimulatedCluster
from simulator.direct import CampaignTick, campaign
from simulator.faults.truth import Truth
from simulator.layout import topology_facts
from telemetry.findings import Finding
from telemetry.incidents import Incident, IncidentState
from telemetry.objects import ObjectRef
from telemetry.topology import Topology

START_NS = 1_700_000_000 * NS_PER_S
LATER_S = 60.0
TRIES = 10
EngineBuilder = Callable[[EngineConfig, Executor], Engine]
SETTLED_S = 90.0  # after the repair: as long as the cost of a fault is measured, and some


@dataclass(slots=True)
class FamilyRun:
    """One cluster: what was true, and what was sent to people.

    pages: by the alerts stage. notices: the first firing version of every incident, whether or not it is a page.
    newest: the last version of each. roots: what people know in the end, by incident. findings: the first version of
    each. published_ns: when that was, by finding. topology: the true one, not what the telemetry says, with the jobs
    that have ended. record: what the cluster did. branches: the same without the faults, one a group of them.
    """

    plan: FamilyPlan
    start_ns: int = 0
    truths: list[Truth] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    notices: dict[str, Page] = field(default_factory=dict)
    newest: dict[str, Incident] = field(default_factory=dict)
    roots: dict[str, ObjectRef] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    published_ns: dict[str, int] = field(default_factory=dict)
    topology: Topology = field(default_factory=Topology)
    record: ClusterRecord = field(default_factory=ClusterRecord)
    branches: list[Branch] = field(default_factory=list)


def ticks(plan: FamilyPlan, start_ns: int = START_NS) -> Iterator[CampaignTick]:
    """The telemetry of a plan, as the collection of its family collects it."""
    collection, seed = parts.collection_of(plan.family), plan.config.seed
    return campaign(plan.config, plan.faults, plan.lasts_s, start_ns, PARTS, collection, seed)


def run_plan(plan: FamilyPlan, start_ns: int = START_NS, build: EngineBuilder = build_engine) -> FamilyRun:
    """The same plan gives the same pages. A fault that needs a running job waits for one, a minute at a time.

    build: makes the engine, that of the product by default.

    ConfigError when there is none for minutes, or when the cluster lacks what a fault breaks.
    """
    for attempt in range(TRIES):
        later_s = attempt * LATER_S
        faults = tuple(fault.model_copy(update={"at_s": fault.at_s + later_s}) for fault in plan.faults)
        try:
            return _run(replace(plan, faults=faults, lasts_s=plan.lasts_s + later_s), start_ns, build)
        except ConfigError as error:
            if "running job" not in str(error) or attempt == TRIES - 1:
                raise ConfigError(f"family {plan.family.name}, seed {plan.seed}: {error}") from error
    raise AssertionError("the last attempt returns or raises")


def _run(plan: FamilyPlan, start_ns: int, build: EngineBuilder) -> FamilyRun:
    return _Running(plan, start_ns, build).run_all()


class _Running:
    """A cluster and the product that watches it, on their way through a plan."""

    def __init__(self, plan: FamilyPlan, start_ns: int, build: EngineBuilder) -> None:
        self._plan, self._found = plan, FamilyRun(plan)
        self._engine, self._pager = build(EngineConfig(interval_s=plan.config.interval_s), AtOnce()), Pager()
        self._ticks = ticks(plan, start_ns)
        self._found.pages, self._found.roots = self._pager.pages, self._pager.roots

    def run_all(self) -> FamilyRun:
        found, ahead_s = self._found, self._plan.config.interval_s / PARTS  # the longest time between two ticks
        ahead = groups(self._plan.faults)
        log: ClusterLog | None = None
        for tick in self._ticks:
            cluster = tick.cluster
            log = log or ClusterLog(cluster)
            self._process(tick)
            if ahead and cluster.now_ns >= _at_ns(cluster, ahead[0].at_s - ahead_s):
                group = ahead.pop(0)
                until_s = ahead[0].at_s - ahead_s if ahead else self._plan.lasts_s
                found.branches.append(self._branch(group, cluster, log, until_s))
        assert log is not None
        found.record, found.truths, found.start_ns = log.record(), cluster.truth, cluster.start_ns
        found.topology = Topology().with_facts(
            [*topology_facts(cluster.layout, cluster.start_ns), *cluster.job_facts()]
        )
        return found

    def _process(self, tick: CampaignTick) -> None:
        engine, run = self._engine, self._found
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        for batch in tick.batches:
            engine.observe(batch)
        outputs = engine.advance()
        versions = [output for output in outputs if isinstance(output, Incident)]
        self._pager.step(versions, tick.now_ns)
        for version in versions:
            run.newest[version.id] = version
            if version.state is IncidentState.FIRING:
                run.notices.setdefault(version.id, Page(tick.now_ns, version))
        for output in outputs:
            if isinstance(output, Finding):
                run.findings.setdefault(output.id, output)
                run.published_ns.setdefault(output.id, tick.now_ns)

    def _branch(self, group: FaultGroup, cluster: SimulatedCluster, log: ClusterLog, until_s: float) -> Branch:
        """The rest of the time of a group of faults without them, and with each of them alone."""
        branch = in_copy(partial(self._without, group, cluster, log, _at_ns(cluster, until_s)))
        if len(group.positions) == 1:
            return branch
        settled_ns = _at_ns(cluster, group.over_s + SETTLED_S)
        for position in group.positions:
            others = [at for at in group.positions if at != position]
            branch.alone[position] = in_copy(partial(_cluster_without, others, cluster, log, settled_ns))
        return branch

    def _without(self, group: FaultGroup, cluster: SimulatedCluster, log: ClusterLog, until_ns: int) -> Branch:
        run, from_ns = self._found, cluster.now_ns
        pages, notices, findings = len(run.pages), set(run.notices), set(run.findings)
        cluster.remove_faults(group.positions)
        for tick in self._ticks:
            self._process(tick)
            if tick.now_ns >= until_ns:
                break
        return Branch(
            group.positions,
            from_ns,
            until_ns,
            run.pages[pages:],
            [page for key, page in run.notices.items() if key not in notices],
            [finding for key, finding in run.findings.items() if key not in findings],
            log.record(),
        )


def _cluster_without(
    positions: Sequence[int], cluster: SimulatedCluster, log: ClusterLog, until_ns: int
) -> ClusterRecord:
    """What the cluster does without these faults; nobody collects from it."""
    cluster.remove_faults(positions)
    cluster.advance(until_ns)
    return log.record()


def _at_ns(cluster: SimulatedCluster, at_s: float) -> int:
    return cluster.start_ns + int(at_s * NS_PER_S)
