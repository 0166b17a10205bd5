"""What a cause can disturb: objects, devices and jobs."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from analytics.correlate.cause import Cause
from analytics.correlate.cluster.graph import Graph
from analytics.correlate.cluster.jobs import Jobs
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectKind, ObjectRef, device
from telemetry.topology import Role


@dataclass(frozen=True, slots=True)
class Reach:
    """own: the root, its ends and parts. devices: its neighbourhood. certain: jobs that cannot go on without the root,
    those on hosts that mount the file system of a storage server that loses a link among them: files lie on many
    targets, and what was under way over that link has to time out first (docs/correlation.md, Severity).
    possible: jobs that may be slowed by it; only their own symptoms show whether they are.
    cut_off: those that stop when the links of ``own`` are lost: jobs on several hosts that lose a link of one of them,
    as collectives use every NIC, and those that mount a file system of a storage server without any other link.
    hosts: at an end of these links. depends: all that cannot work without the root, what is gone with it and
    its further links. Of a cause that concerns a part of its root, the links of that part are lost alone."""

    own: frozenset[ObjectRef]
    devices: frozenset[str]
    certain: frozenset[str]
    possible: frozenset[str]
    cut_off: frozenset[str]
    hosts: frozenset[str]
    depends: frozenset[ObjectRef]


def reach(cause: Cause, graph: Graph, jobs: Jobs) -> Reach:
    """What a cause reaches. It depends on the root and on further devices and links of the cause."""
    own = _own(cause.root, cause.gone, graph).union(*(_own(link, frozenset(), graph) for link in cause.links))
    ends = {ref.device for ref in own} - {""}
    devices = ends | cause.devices | cause.gone
    if cause.root.kind is ObjectKind.DEVICE:
        devices |= graph.neighbours(cause.root.name)
    others = [*map(device, sorted(cause.gone)), *sorted(cause.links)]
    whole = sorted(cause.part) or [cause.root]
    reached = frozenset[ObjectRef]().union(*map(graph.reached, (*whole, *others)))
    certain = jobs.depending(cause.root, reached)
    if cause.root.kind is ObjectKind.JOB:
        certain.update(jobs.of(cause.root))
    possible = {job_id for name in ends for job_id in jobs.on_device(name)}
    lost = cause.part or {ref for ref in own if ref.kind is ObjectKind.LINK}
    targets = [ref for ref in reached if ref.kind is ObjectKind.STORAGE_TARGET and ref != cause.root]
    unserved = {job_id for ref in targets if _is_lost(ref, lost, graph) for job_id in jobs.using(ref)}
    certain |= {job_id for ref in targets for job_id in jobs.using(ref)}
    possible |= (
        jobs.using(cause.root) if cause.root.kind in (ObjectKind.STORAGE_TARGET, ObjectKind.FILESYSTEM) else set()
    )  # it still serves them
    hosts = frozenset(name for ref in lost for name in graph.ends(ref) if graph.role(name) is Role.HOST)
    kind = incident_kinds()[cause.kind]
    if not kind.pages_without_waiting:
        possible |= _under_pressure(ends, cause.devices, graph, jobs)
    elif cause.harmless:  # only what was sent over the link has waited
        possible = possible.union(*map(jobs.behind, () if hosts else ends))
    elif kind.disturbs_fabric:
        possible = possible.union(*map(jobs.around, devices))
    cut_off = frozenset(unserved | _spread_over(hosts, jobs))
    concerned = frozenset(certain), frozenset(possible), cut_off
    return Reach(frozenset(own), frozenset(devices), *concerned, hosts, frozenset(reached))


def _is_lost(target: ObjectRef, lost: Collection[ObjectRef], graph: Graph) -> bool:
    """Whether nothing leads to the server of a storage target any more."""
    return all(ref in lost for ref in graph.links(graph.server_of(target)))


def _spread_over(hosts: Iterable[str], jobs: Jobs) -> set[str]:
    """Jobs on several hosts of which one is among these."""
    return {job_id for name in hosts for job_id in jobs.on_device(name) if any(name != at for at in jobs.nodes(job_id))}


def _under_pressure(ends: set[str], devices: frozenset[str], graph: Graph, jobs: Jobs) -> set[str]:
    """Jobs that send through what is paused: those of the hosts and switches that a pause reached, and the readers
    and writers of a storage server at the end. While pauses reached no switch but the root's, other hosts behind that
    switch send as before."""
    reached = devices - ends
    names = reached | ends if any(graph.is_switch(name) for name in reached) else reached
    found = {job_id for name in names for job_id in jobs.behind(name)}
    return found.union(*(jobs.using(target) for name in ends for target in graph.targets_of(name)))


def _own(root: ObjectRef, gone: frozenset[str], graph: Graph) -> set[ObjectRef]:
    link = graph.link_of.get(root, root)
    own = {root, link, *graph.ports(link)}
    if root.kind in (ObjectKind.DEVICE, ObjectKind.RACK):
        names = graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.name]
        for name in (*names, *sorted(gone)):
            own |= {device(name), *graph.gpus_of(name), *graph.links(name)}
            own |= {port for near in graph.links(name) for port in graph.ports(near)}
    if root.kind is ObjectKind.STORAGE_TARGET:
        own |= {device(graph.server_of(root)), ObjectRef(ObjectKind.FILESYSTEM, graph.filesystem_of(root))}
    return own
