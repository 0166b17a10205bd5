"""A small made-up cluster, and runs of it that a test writes by hand."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from analytics.correlate.cluster.graph import Graph, physical
from common.units import NS_PER_S
from evaluation.families.counterfactual.branch import Branch
from evaluation.families.counterfactual.harm import Harm
from evaluation.families.counterfactual.log import Route
from evaluation.families.family import Family, FaultChoice
from evaluation.families.judge import ClusterOutcome
from evaluation.families.judge import judge as judge_run
from evaluation.families.paging import Page
from evaluation.families.plans import FamilyPlan
from evaluation.families.run_plan import FamilyRun
from evaluation.families.truth.reach import Reach
from evaluation.families.truth.traffic import Traffic, ways
from simulator.config import SimulatorConfig
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric
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

GRAPH = Graph(physical(TOPOLOGY))
RAILS = range(CONFIG.gpus_per_host)
FLOWS_MAX = 256


def traffic(pairs: Iterable[tuple[str, str]], spread: int = 0) -> Traffic:
    """What NICs such as ``node1/mlx5_0`` sent, each on the way that the simulator's routing picks by ``spread``."""
    ends = [(_nic(sender), _nic(receiver)) for sender, receiver in pairs]
    fabric = Fabric(LAYOUT, FLOWS_MAX)
    source, destination = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    rows = fabric.add_flows(source, destination, np.full(len(ends), spread))
    Routes(LAYOUT).route(fabric, rows)
    paths = fabric.flows.path[rows].tolist()
    routes = [Route(*end, tuple(path)) for end, path in zip(ends, paths, strict=True)]
    return Traffic(GRAPH, ways(LAYOUT, GRAPH, routes))


def _nic(name: str) -> int:
    device, _, nic = name.partition("/")
    return LAYOUT.nic_index[device, nic]


# Each job reduces between its two hosts on every rail, and both write to storage over the first one.
SENT = traffic(
    [(f"{a}/mlx5_{rail}", f"{b}/mlx5_{rail}") for a, b in (("node1", "node2"), ("node5", "node6")) for rail in RAILS]
    + [(f"{host}/mlx5_0", "oss1/mlx5_0") for host in ("node1", "node2", "node5", "node6")]
)
# Of job 1 with its eight GPUs: at the limit between two severities, and standing still.
SLOWED = Harm(0, (0.0, 400.0), 600.0, {"1": 0.75}, 6.0, 0)
STOPPED = Harm(0, (0.0, 8.0), 800.0, {"1": 1.0}, 8.0, 8)


def truth(
    fault: str, root: str, reach: tuple[str, ...] = (), starts_s: float = 1000.0, lasts_s: float = 100.0
) -> Truth:
    kind = FAULTS[fault]
    begin_ns, end_ns = int(starts_s * NS_PER_S), int((starts_s + lasts_s) * NS_PER_S)
    return Truth(fault, kind.kind, parse_object(root), begin_ns, end_ns, kind.planned, reach)


def reach_of(*truths: Truth, sent: Traffic = SENT, harm: Harm = SLOWED) -> list[Reach]:
    """harm: of each of them."""
    jobs = tuple(fact for fact in TOPOLOGY.facts.values() if isinstance(fact.entity, Job))
    return [Reach(each, sent, jobs, replace(harm, begins_ns=each.start_ns)) for each in truths]


def judge(made: FamilyRun, harm: Harm = SLOWED) -> ClusterOutcome:
    return judge_run(made, reach_of(*made.truths, harm=harm))


def without_faults(*pages: Page, firing: Sequence[Page] = (), findings: Sequence[Finding] = ()) -> Branch:
    """What comes without the faults. firing: incidents beside those of the pages."""
    return Branch((0,), int(900 * NS_PER_S), int(1300 * NS_PER_S), pages, [*pages, *firing], findings)


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
