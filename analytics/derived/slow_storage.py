"""File systems of which a target is slow, and which of them each job uses."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from analytics.view.tick_view import TickView
from telemetry.objects import ObjectKind, parse_object
from telemetry.topology import Mount

SLOW_BY = "storage_slow"  # the detector whose findings say that a target is slower than its siblings, or than it was


def filesystems_of_targets(names: Iterable[str]) -> frozenset[str]:
    """names: of objects; those that are no storage targets are left out.

    >>> filesystems_of_targets(["storage_target:scratch/OST0000", "device:nas1"])
    frozenset({'scratch'})
    """
    refs = map(parse_object, names)
    return frozenset(ref.name.partition("/")[0] for ref in refs if ref.kind is ObjectKind.STORAGE_TARGET)


def filesystems_of_jobs(view: TickView) -> Mapping[str, frozenset[str]]:
    """What the hosts of each running job have mounted, by its id; once for a topology."""
    mounted: defaultdict[str, set[str]] = defaultdict(set)
    for mount in view.topology.entities(Mount):
        mounted[mount.device].add(mount.filesystem)
    return {
        job.job_id: frozenset[str]().union(*(mounted[host] for host in job.nodes if host in mounted))
        for job in view.topology_index.jobs
    }
