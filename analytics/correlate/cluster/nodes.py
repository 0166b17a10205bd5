"""What is known of the nodes besides their telemetry: what the scheduler wants of them, and which are no more."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nlargest

from telemetry.objects import ObjectRef
from telemetry.topology import Device, Job, Link, NodeState, Role, Topology

SWITCH_ROLES = frozenset({Role.LEAF, Role.SPINE})
JOBS_KEPT = 16  # of each node: jobs that share it may end at once, one a GPU


@dataclass(frozen=True, slots=True)
class Nodes:
    """states: of the nodes that take no job by somebody's will, with the time since when (nanoseconds).
    ended: by node the newest jobs that have ended there, each with the time when it was seen to be gone.
    removed: devices that the inventory does not have any more, or ``uncollected``: no target of them is collected.
    disused: ports whose cable led to one of them.
    jobs_known: whether anything is known of jobs at all.
    """

    states: Mapping[str, NodeState] = field(default_factory=dict)
    since_ns: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    disused: frozenset[ObjectRef] = frozenset()
    uncollected: frozenset[str] = frozenset()
    jobs_known: bool = False

    def why_ended(self, device: str) -> str:
        """What ended the incidents of a device besides fresh telemetry, '' for nothing."""
        if device in self.uncollected:
            return ": none of its targets is collected any more"
        return ": it is not in the inventory any more" if device in self.removed else ""


def nodes_of(topology: Topology) -> Nodes:
    states: dict[str, NodeState] = {}
    since_ns: dict[str, int] = {}
    for state, fact in topology.present(NodeState):
        if state.intent:
            states[state.device] = state
            since_ns[state.device] = state.since_ns or fact.observed_ns
    ended: dict[str, list[tuple[int, str]]] = {}
    for job, fact in topology.gone(Job):
        for node in job.nodes:
            ended.setdefault(node, []).append((fact.observed_ns, job.job_id))
    removed = {device.name for device, _ in topology.gone(Device)}
    gone_edges = _without_switches(topology, topology.uncollected)
    away = removed | gone_edges
    disused = {port for link, _ in topology.gone(Link) if {link.a_device, link.b_device} & away for port in link.ports}
    if gone_edges:
        cables = (link for link in topology.entities(Link) if {link.a_device, link.b_device} & gone_edges)
        disused |= {port for link in cables for port in link.ports}
    return Nodes(
        states,
        since_ns,
        {node: tuple(nlargest(JOBS_KEPT, jobs)) for node, jobs in ended.items()},
        frozenset(removed) | topology.uncollected,
        frozenset(disused),
        topology.uncollected,
        bool(topology.jobs),
    )


def _without_switches(topology: Topology, devices: frozenset[str]) -> frozenset[str]:
    """A switch that nobody collects still carries what others send, and its neighbours show how well."""
    return devices and devices - {each.name for each in topology.entities(Device) if each.role in SWITCH_ROLES}
