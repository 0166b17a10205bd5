"""Blast radius: what cannot work without the root of an incident, and all of every job that waits for it."""

from collections import defaultdict
from collections.abc import Iterable, Set

from analytics.correlate.cause import Cause
from analytics.correlate.cluster.graph import Graph
from analytics.correlate.cluster.jobs import Jobs
from telemetry.incidents import BlastRadius, IncidentKind
from telemetry.objects import ObjectKind, ObjectRef


def blast_radius(
    cause: Cause, reached: Set[ObjectRef], concerned: frozenset[str], graph: Graph, jobs: Jobs
) -> BlastRadius:
    """reached: what cannot work without the root. concerned: jobs that wait or are cut off; training is lockstep, so
    all of their GPUs are."""
    root = cause.root
    if cause.kind is IncidentKind.TELEMETRY_LOST:  # nothing is known to suffer
        return BlastRadius(nodes=(root.name,) if graph.is_edge(root.name) else ())
    affected = jobs.depending(root, reached) | concerned
    if not affected:
        affected = _readers(reached, graph, jobs)
    names: defaultdict[ObjectKind, set[str]] = defaultdict(set)
    for ref in reached:
        names[ref.kind].add(ref.name)
    links, gpus = names[ObjectKind.LINK], names[ObjectKind.GPU]
    links |= {graph.link_of[root].name} if root in graph.link_of else set()
    hosts = set(filter(graph.is_edge, names[ObjectKind.DEVICE]))
    hosts |= {root.device} if root.kind is ObjectKind.GPU else set()
    of_jobs = jobs.names(frozenset(affected))
    nodes, all_gpus = of_jobs.nodes.with_more(hosts), of_jobs.gpus.with_more(gpus)
    return BlastRadius(tuple(sorted(links)), nodes, all_gpus, tuple(sorted(affected)))


def _readers(reached: Iterable[ObjectRef], graph: Graph, jobs: Jobs) -> set[str]:
    """Jobs that have the file system mounted: any of them may wait for it next."""
    systems = [ref.name for ref in reached if ref.kind is ObjectKind.FILESYSTEM]
    hosts = {host for name in systems for host in graph.mounted_on(name)}
    return {job_id for host in hosts for job_id in jobs.on_device(host)}
