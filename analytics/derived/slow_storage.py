"""File systems of which a target is slow or a server is gone, and which of them each job uses."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from analytics.view.tick_view import TickView
from telemetry.objects import ObjectKind, device, parse_object
from telemetry.topology import Mount, StorageTarget

_SLOW_BY = (
    "storage_slow",
)  # the detector whose findings say that a target is slower than its siblings, or than it was
_GONE_BY = ("target_silent", "target_cut_off")  # those that say that a server answers nobody


def holding_up(view: TickView, active_about: Callable[..., list[str]], since_ns: int) -> frozenset[str]:
    """File systems that keep who writes waiting, by the findings that are active and began since then.

    active_about: see ``FindingTracker``.
    """
    slow, gone = (active_about(*by, since_ns=since_ns) for by in (_SLOW_BY, _GONE_BY))
    served = view.per_topology(_filesystems_of_servers)
    return _filesystems_of_targets(slow).union(*(served[server] for server in gone if server in served))


def _filesystems_of_targets(names: Iterable[str]) -> frozenset[str]:
    """names: of objects; those that are no storage targets are left out.

    >>> _filesystems_of_targets(["storage_target:scratch/OST0000", "device:nas1"])
    frozenset({'scratch'})
    """
    refs = map(parse_object, names)
    return frozenset(ref.name.partition("/")[0] for ref in refs if ref.kind is ObjectKind.STORAGE_TARGET)


def _filesystems_of_servers(view: TickView) -> Mapping[str, set[str]]:
    """Those that a server has targets of, by its object; once for a topology."""
    served: defaultdict[str, set[str]] = defaultdict(set)
    for target in view.topology.entities(StorageTarget):
        served[str(device(target.server))].add(target.filesystem)
    return dict(served)


def filesystems_of_jobs(view: TickView) -> Mapping[str, frozenset[str]]:
    """What the hosts of each running job have mounted, by its id; once for a topology."""
    mounted: defaultdict[str, set[str]] = defaultdict(set)
    for mount in view.topology.entities(Mount):
        mounted[mount.device].add(mount.filesystem)
    return {
        job.job_id: frozenset[str]().union(*(mounted[host] for host in job.nodes if host in mounted))
        for job in view.topology_index.jobs
    }
