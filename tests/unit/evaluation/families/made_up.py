"""A small made-up cluster, and runs of it that a test writes by hand."""

from dataclasses import replace

from common.units import NS_PER_S
from evaluation.families.family import Family, FaultChoice
from evaluation.families.paging import Page
from evaluation.families.plans import FamilyPlan
from evaluation.families.run_plan import FamilyRun
from evaluation.families.truth.reach import Reach, reaches
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.truth import Truth
from simulator.layout import topology_facts
from simulator.wiring import build_layout
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import IncidentKind, IncidentState, Severity
from telemetry.objects import parse_object
from telemetry.topology import Job, Topology, TopologyFact
from tests.unit.evaluation.campaigns.incidents import incident

CONFIG = SimulatorConfig(hosts=8, gpus_per_host=4)
LAYOUT = build_layout(CONFIG)
JOBS = (
    TopologyFact(Job("1", ("node1", "node2"), started_ns=1), 1, "slurm"),
    TopologyFact(Job("2", ("node5", "node6"), started_ns=1), 1, "slurm"),
)
TOPOLOGY = Topology().with_facts([*topology_facts(LAYOUT, 0), *JOBS])
FAMILY = Family(name="made-up", stands_for="a test", faults=FaultChoice(kinds=("link-down",)))
GPU, SIBLING = (f"gpu:node1/{unit.uuid}" for unit in LAYOUT.gpus[:2])
CABLE = "link:leaf1/Ethernet0--node1/mlx5_0"
UPLINK = next(str(link.ref) for link in LAYOUT.links if (link.a_device, link.b_device) == ("leaf1", "spine1"))


def truth(
    fault: str, root: str, reach: tuple[str, ...] = (), starts_s: float = 1000.0, lasts_s: float = 100.0
) -> Truth:
    kind = FAULTS[fault]
    begin_ns, end_ns = int(starts_s * NS_PER_S), int((starts_s + lasts_s) * NS_PER_S)
    return Truth(fault, kind.kind, parse_object(root), begin_ns, end_ns, kind.planned, reach)


def reach_of(*truths: Truth, topology: Topology = TOPOLOGY) -> list[Reach]:
    return reaches(list(truths), topology)


def page(
    kind: IncidentKind,
    root: str,
    at_s: float,
    severity: Severity = Severity.WARNING,
    key: str = "",
) -> Page:
    """A page that began a little before it was sent; its title names its root."""
    at_ns = int(at_s * NS_PER_S)
    made = incident(parse_object(root), kind, key=key or f"{kind}/{root}/{at_s}", onset_ns=at_ns - 5 * NS_PER_S)
    made = replace(made, severity=severity, state=IncidentState.FIRING, fired_ns=at_ns, updated_ns=at_ns)
    return Page(at_ns, made)


def run(
    truths: list[Truth], pages: list[Page], family: Family = FAMILY, later: dict[str, str] | None = None
) -> FamilyRun:
    """One hour of the made-up cluster. later: roots that people know in the end, by id of the incident."""
    roots = {each.incident.id: each.incident.root for each in pages}
    roots |= {key: parse_object(root) for key, root in (later or {}).items()}
    return FamilyRun(
        FamilyPlan(family, 1, CONFIG, (), 3600.0),
        truths=truths,
        pages=pages,
        notices={each.incident.id: each for each in pages},
        roots=roots,
        topology=TOPOLOGY,
    )


def finding(kind: FindingKind, about: str, at_s: float = 1050.0) -> Finding:
    at_ns = int(at_s * NS_PER_S)
    return Finding(
        id=f"{kind}/{about}/{at_s}",
        kind=kind,
        object=parse_object(about),
        detector="some",
        state=FindingState.ACTIVE,
        onset_ns=at_ns,
        observed_ns=at_ns,
        score=2.0,
        confidence=0.9,
        evidence=(),
    )
