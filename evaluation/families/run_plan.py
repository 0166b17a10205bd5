"""Runs a plan of a family through the engine with every detector on, and through the decision of the alerts stage."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from analytics.config import EngineConfig
from analytics.worker import build_engine
from common.errors import ConfigError
from evaluation.campaigns.plan import PARTS
from evaluation.families import parts
from evaluation.families.paging import Page, Pager
from evaluation.families.plans import FamilyPlan
from simulator.direct import CampaignTick, campaign
from simulator.faults.truth import Truth
from simulator.layout import topology_facts
from telemetry.findings import Finding
from telemetry.incidents import Incident, IncidentState
from telemetry.objects import ObjectRef
from telemetry.topology import Topology

LATER_S = 60.0
TRIES = 10


@dataclass(slots=True)
class FamilyRun:
    """One cluster: what was true, and what was sent to people.

    pages: by the alerts stage. notices: the first firing version of every incident, whether or not it is a page.
    roots: what people know in the end, by incident. findings: the first version of each. topology: the true one, not
    what the telemetry says, with the jobs that have ended.
    """

    plan: FamilyPlan
    start_ns: int = 0
    truths: list[Truth] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    notices: dict[str, Page] = field(default_factory=dict)
    roots: dict[str, ObjectRef] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    topology: Topology = field(default_factory=Topology)


def ticks(plan: FamilyPlan) -> Iterator[CampaignTick]:
    """The telemetry of a plan, as the collection of its family collects it."""
    collection, seed = parts.collection_of(plan.family), plan.config.seed
    return campaign(plan.config, plan.faults, plan.lasts_s, parts=PARTS, collection=collection, collection_seed=seed)


def run_plan(plan: FamilyPlan) -> FamilyRun:
    """The same plan gives the same pages. A fault that needs a running job waits for one, a minute at a time.

    ConfigError when there is none for minutes, or when the cluster lacks what a fault breaks.
    """
    for attempt in range(TRIES):
        later_s = attempt * LATER_S
        faults = tuple(fault.model_copy(update={"at_s": fault.at_s + later_s}) for fault in plan.faults)
        try:
            return _run(replace(plan, faults=faults, lasts_s=plan.lasts_s + later_s))
        except ConfigError as error:
            if "running job" not in str(error) or attempt == TRIES - 1:
                raise ConfigError(f"family {plan.family.name}, seed {plan.seed}: {error}") from error
    raise AssertionError("the last attempt returns or raises")


def _run(plan: FamilyPlan) -> FamilyRun:
    engine, pager, run = build_engine(EngineConfig(interval_s=plan.config.interval_s)), Pager(), FamilyRun(plan)
    for tick in ticks(plan):
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        for batch in tick.batches:
            engine.observe(batch)
        outputs = engine.advance()
        versions = [output for output in outputs if isinstance(output, Incident)]
        pager.step(versions, tick.now_ns)
        for version in versions:
            if version.state is IncidentState.FIRING:
                run.notices.setdefault(version.id, Page(tick.now_ns, version))
        for output in outputs:
            if isinstance(output, Finding):
                run.findings.setdefault(output.id, output)
        cluster = tick.cluster
    run.truths, run.start_ns, run.pages, run.roots = cluster.truth, cluster.start_ns, pager.pages, pager.roots
    run.topology = Topology().with_facts([*topology_facts(cluster.layout, cluster.start_ns), *cluster.job_facts()])
    return run
