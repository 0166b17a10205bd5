"""What every fault of a run could reach, and what it cost."""

from analytics.correlate.cluster.graph import Graph, physical
from common.units import NS_PER_S
from evaluation.campaigns.truth import EARLY_NS, LATE_NS
from evaluation.families.counterfactual.harm import harm
from evaluation.families.run_plan import FamilyRun
from evaluation.families.truth.reach import Reach
from evaluation.families.truth.traffic import Traffic, ways
from simulator.faults.truth import Truth
from simulator.wiring import build_layout
from telemetry.topology import Job


def reaches(run: FamilyRun) -> list[Reach]:
    """Every fault of one cluster, in the order of ``run.truths``."""
    graph, layout = Graph(physical(run.topology)), build_layout(run.plan.config)
    jobs = tuple(fact for fact in run.topology.facts.values() if isinstance(fact.entity, Job))
    found = []
    for truth in run.truths:
        position = _position(run, truth)
        branch = next(each for each in run.branches if position in each.positions)
        ends_ns = truth.end_ns or branch.until_ns
        window = truth.start_ns - EARLY_NS, ends_ns + LATE_NS
        used = [*run.record.used(*window), *branch.record.used(*window)]
        cost = harm(branch.alone.get(position, run.record), branch.record, truth.start_ns, ends_ns)
        found.append(Reach(truth, Traffic(graph, ways(layout, graph, used)), jobs, cost))
    return found


def _position(run: FamilyRun, truth: Truth) -> int:
    """Of the fault in the plan: there, several may be of one kind or begin together, but not both."""
    starts_ns = [run.start_ns + int(fault.at_s * NS_PER_S) for fault in run.plan.faults]
    pairs = zip(run.plan.faults, starts_ns, strict=True)
    return next(
        at for at, (fault, start_ns) in enumerate(pairs) if (fault.fault, start_ns) == (truth.fault, truth.start_ns)
    )
