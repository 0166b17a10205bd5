"""What is known of the nodes besides their telemetry: what the scheduler wants of them, and which are no more."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from telemetry.objects import ObjectRef
from telemetry.topology import Device, Job, Link, NodeState, Topology


@dataclass(frozen=True, slots=True)
class Nodes:
    """states: of the nodes that take no job by somebody's will, with the time since when (nanoseconds).
    ends: of the jobs that have ended, when each was seen to be gone, and on which nodes it ran.
    removed: devices that the inventory does not have any more. disused: ports whose cable led to one of them.
    jobs_known: whether anything is known of jobs at all.
    """

    states: Mapping[str, NodeState] = field(default_factory=dict)
    since_ns: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    disused: frozenset[ObjectRef] = frozenset()
    jobs_known: bool = False


def nodes_of(topology: Topology) -> Nodes:
    """One pass over all facts."""
    states: dict[str, NodeState] = {}
    since_ns: dict[str, int] = {}
    ended: dict[str, list[tuple[str, int]]] = {}
    removed: set[str] = set()
    gone_links: list[Link] = []
    jobs_known = False
    for fact in topology.facts.values():
        match fact.entity:
            case NodeState() as state if state.intent and not fact.gone:
                states[state.device] = state
                since_ns[state.device] = state.since_ns or fact.observed_ns
            case Job() as job:
                jobs_known = True
                for node in job.nodes if fact.gone else ():
                    ended.setdefault(node, []).append((job.job_id, fact.observed_ns))
            case Device() as device if fact.gone:
                removed.add(device.name)
            case Link() as link if fact.gone:
                gone_links.append(link)
    disused = {port for link in gone_links if {link.a_device, link.b_device} & removed for port in link.ports}
    return Nodes(
        states,
        since_ns,
        {node: tuple(sorted(jobs)) for node, jobs in ended.items()},
        frozenset(removed),
        frozenset(disused),
        jobs_known,
    )
