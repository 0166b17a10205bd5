"""The topology of the objects that series are about, as arrays by object number."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from analytics.state.groups import Grouping, groupings, of_jobs
from analytics.state.registry import Registry
from analytics.state.series_index import SeriesIndex
from telemetry import objects
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Device, Gpu, Job, Link, Role, Topology

_GPU = f"{ObjectKind.GPU}:"


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class TopologyIndex:
    """Arrays by object number; -1 for unknown.

    has_link: bool[objects], ports with a link. speed_rating: float64[objects], its bits per second, 0 where unknown.
    job: int64[objects], position in ``jobs`` of a GPU's running job. rack: int64[objects], object of the rack of a GPU.
    uplink_leaf: int64[objects], object of the leaf whose uplink a port is: ECMP divides the traffic of a leaf among
    them. groups: by kind of group.
    """

    has_link: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    speed_rating: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    job: NDArray[np.int64] = field(default_factory=_none)
    rack: NDArray[np.int64] = field(default_factory=_none)
    uplink_leaf: NDArray[np.int64] = field(default_factory=_none)
    jobs: tuple[Job, ...] = ()
    groups: Mapping[str, Grouping] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.has_link, self.speed_rating, self.job, self.rack, self.uplink_leaf):
            array.flags.writeable = False

    def without(self, ended: Collection[int]) -> "TopologyIndex":
        """Without the GPUs of some jobs, by position in ``jobs``."""
        job = np.where(np.isin(self.job, list(ended)), -1, self.job)
        return replace(self, job=job, groups={**self.groups, "job": of_jobs(job, self.jobs)})


def index_topology(registry: Registry, topology: Topology) -> TopologyIndex:
    """The current topology for the current series. Gives racks and running jobs object numbers."""
    jobs = tuple(topology.entities(Job))
    for job in jobs:
        registry.objects.intern(str(objects.job(job.job_id)))
    racks = _racks_of_gpus(registry, topology)
    size = len(registry.objects)
    has_link, speed_rating = np.zeros(size, bool), np.zeros(size)
    job_of = np.full(size, -1, np.int64)
    for link in topology.entities(Link):
        for port in link.ports:
            number = registry.objects.get(str(port))
            if number is not None:
                has_link[number], speed_rating[number] = True, link.bits_per_second
    for position, job in enumerate(jobs):
        for name in _gpus(job, registry, topology):
            number = registry.objects.get(name)
            if number is not None:
                job_of[number] = position
    groups = {"job": of_jobs(job_of, jobs), **groupings(registry.objects.names, topology)}
    leaves = _leaves_of_uplinks(registry, topology)
    return TopologyIndex(has_link, speed_rating, job_of, _filled(size, racks), _filled(size, leaves), jobs, groups)


def _filled(size: int, numbers: Mapping[int, int]) -> NDArray[np.int64]:
    found = np.full(size, -1, np.int64)
    found[list(numbers)] = list(numbers.values())
    return found


def _gpus(job: Job, index: SeriesIndex, topology: Topology) -> list[str]:
    """The GPUs of a job, as object names: by index where the job has only some of a node, else all with series."""
    nodes = set(job.nodes)
    if job.gpu_indices:
        gpus = [gpu for gpu in topology.entities(Gpu) if gpu.device in nodes and gpu.index in job.gpu_indices]
        return [str(objects.gpu(gpu.device, gpu.uuid)) for gpu in gpus]
    return [name for name in index.objects.names if name.startswith(_GPU) and _host(name) in nodes]


def _host(gpu_name: str) -> str:
    return gpu_name[len(_GPU) :].partition("/")[0]


def _racks_of_gpus(registry: Registry, topology: Topology) -> dict[int, int]:
    racks = {device.name: device.rack for device in topology.entities(Device) if device.rack}
    rack_of = {}
    for number, name in enumerate(list(registry.objects.names)):
        rack = racks.get(_host(name)) if name.startswith(_GPU) else None
        if rack is not None:
            rack_of[number] = registry.objects.intern(str(ObjectRef(ObjectKind.RACK, rack)))
    return rack_of


def _leaves_of_uplinks(index: SeriesIndex, topology: Topology) -> dict[int, int]:
    roles = {device.name: device.role for device in topology.entities(Device)}
    leaf_of = {}
    for link in topology.entities(Link):
        for here, there in (link.ports, link.ports[::-1]):
            if roles.get(here.device) is not Role.LEAF or roles.get(there.device) is not Role.SPINE:
                continue
            port, leaf = index.objects.get(str(here)), index.objects.get(str(objects.device(here.device)))
            if port is not None and leaf is not None:
                leaf_of[port] = leaf
    return leaf_of
