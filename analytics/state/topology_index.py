"""The topology of the objects that series are about, as arrays by object number."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from analytics.state.groups import Grouping, of_jobs, rails
from analytics.state.physical_index import PhysicalIndex, index_physical
from analytics.state.registry import Registry
from telemetry import objects
from telemetry.topology import Device, Entity, Gpu, Job, Link, Topology


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


def _nothing() -> PhysicalIndex:
    return PhysicalIndex(np.zeros(0, bool), np.zeros(0), _none(), _none())


@dataclass(frozen=True)
class TopologyIndex:
    """Arrays by object number; -1 for unknown.

    has_link: bool[objects], ports with a link. speed_rating: float64[objects], its bits per second, 0 where unknown.
    job: int64[objects], position in ``jobs`` of a GPU's running job. rack: int64[objects], object of the rack of a GPU.
    uplink_leaf: int64[objects], object of the leaf whose uplink a port is: ECMP divides the traffic of a leaf among
    them. groups: by kind of group. physical: the part that jobs do not change, the same object until it changes.
    """

    has_link: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    speed_rating: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    job: NDArray[np.int64] = field(default_factory=_none)
    rack: NDArray[np.int64] = field(default_factory=_none)
    uplink_leaf: NDArray[np.int64] = field(default_factory=_none)
    jobs: tuple[Job, ...] = ()
    groups: Mapping[str, Grouping] = field(default_factory=dict)
    physical: PhysicalIndex = field(default_factory=_nothing)

    def __post_init__(self) -> None:
        for array in (self.has_link, self.speed_rating, self.job, self.rack, self.uplink_leaf):
            array.flags.writeable = False

    def without(self, ended: Collection[int]) -> "TopologyIndex":
        """Without the GPUs of some jobs, by position in ``jobs``."""
        job = np.where(np.isin(self.job, list(ended)), -1, self.job)
        return replace(self, job=job, groups={**self.groups, "job": of_jobs(job, self.jobs)})


class TopologyIndexer:
    """Indexes the topology again and again: jobs come and go by the minute, devices and cables hardly ever."""

    def __init__(self) -> None:
        self._version, self._entities = -1, list[Sequence[Entity]]()
        self._physical = _nothing()
        self._newest: tuple[int, Topology | None, TopologyIndex] = (-1, None, TopologyIndex())

    def index(self, registry: Registry, topology: Topology) -> TopologyIndex:
        """The current topology for the current series, the same object as long as neither changes.

        Gives racks and running jobs object numbers.
        """
        version, indexed, index = self._newest
        if version != registry.version or indexed is not topology:
            index = self._index(registry, topology)
            self._newest = (registry.version, topology, index)
        return index

    def _index(self, registry: Registry, topology: Topology) -> TopologyIndex:
        jobs = tuple(topology.entities(Job))
        for job in jobs:
            registry.objects.intern(str(objects.job(job.job_id)))
        physical = self._index_physical(registry, topology)
        size = len(registry.objects)
        job_of = np.full(size, -1, np.int64)
        for position, job in enumerate(jobs):
            job_of[list(physical.gpus(job))] = position
        groups = {kind: grouping.filled(size) for kind, grouping in physical.groups.items()}
        groups |= {"job": of_jobs(job_of, jobs), "rail": rails(size, physical.ports_of, jobs)}
        new = size - physical.rack.size
        return TopologyIndex(
            has_link=np.append(physical.has_link, np.zeros(new, bool)),
            speed_rating=np.append(physical.speed_rating, np.zeros(new)),
            job=job_of,
            rack=np.append(physical.rack, np.full(new, -1)),
            uplink_leaf=np.append(physical.uplink_leaf, np.full(new, -1)),
            jobs=jobs,
            groups=groups,
            physical=physical,
        )

    def _index_physical(self, registry: Registry, topology: Topology) -> PhysicalIndex:
        entities: list[Sequence[Entity]] = [topology.entities(Device), topology.entities(Link), topology.entities(Gpu)]
        if self._version != registry.version or self._entities != entities:
            self._physical = index_physical(registry, topology)
            self._version, self._entities = registry.version, entities
        return self._physical
