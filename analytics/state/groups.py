"""Groups of objects that are compared with each other, by the topology."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from telemetry.objects import ObjectKind
from telemetry.topology import Device, Gpu, Job, Link, Role, Topology

_TAG_MAX = (1 << 24) - 1  # numbers up to here are exact in single precision


@dataclass(frozen=True)
class Grouping:
    """of: int64[objects], group of each object, -1 for none. tags: int64[groups], permanent number of each group."""

    of: NDArray[np.int64]
    tags: NDArray[np.int64]

    def filled(self, size: int) -> "Grouping":
        """For as many objects, the new ones without a group."""
        return Grouping(np.append(self.of, np.full(size - self.of.size, -1, np.int64)), self.tags)


def of_jobs(job_of: NDArray[np.int64], jobs: Sequence[Job]) -> Grouping:
    return Grouping(job_of, _tags(f"job/{job.job_id}" for job in jobs))


def rails(size: int, ports_of: Mapping[str, Sequence[tuple[int, str]]], jobs: Sequence[Job]) -> Grouping:
    """NICs of one name on the hosts of a job: the same collectives cross them.

    size: number of objects. ports_of: number and name of the ports of each device.
    """
    job_of = {node: job.job_id for job in jobs for node in job.nodes}
    group_of = {
        number: f"{job_id}/{port}" for host, job_id in job_of.items() for number, port in ports_of.get(host, ())
    }
    return _grouping("rail", size, group_of)


def groupings(names: Sequence[str], topology: Topology) -> Mapping[str, Grouping]:
    """The groups of every kind that jobs do not change. names: of the objects, by number."""
    roles = {device.name: device.role for device in topology.entities(Device)}
    models = {f"{gpu.device}/{gpu.uuid}": gpu.model for gpu in topology.entities(Gpu)}
    far = {}
    for link in topology.entities(Link):
        far[f"{ObjectKind.PORT}:{link.a_device}/{link.a_port}"] = roles.get(link.b_device)
        far[f"{ObjectKind.PORT}:{link.b_device}/{link.b_port}"] = roles.get(link.a_device)

    def leaf(name: str) -> str | None:
        """Ports of one switch that lead to the same kind of device."""
        device = name.partition(":")[2].partition("/")[0]
        if far.get(name) is None or roles.get(device) not in (Role.LEAF, Role.SPINE):
            return None
        return f"{device}/{far[name]}"

    def role(name: str) -> str | None:
        kind, _, device = name.partition(":")
        return roles.get(device) if kind == ObjectKind.DEVICE else None

    def filesystem(name: str) -> str | None:
        kind, _, path = name.partition(":")
        return path.partition("/")[0] if kind == ObjectKind.STORAGE_TARGET else None

    def model(name: str) -> str:
        """Objects of one kind and model, which have the same series."""
        kind, _, path = name.partition(":")
        return f"{kind}/{roles.get(path.partition('/')[0], '')}/{models.get(path, '')}"

    kinds = {"model": model, "leaf": leaf, "role": role, "filesystem": filesystem}
    found = {}
    for kind, group_of in kinds.items():
        groups = ((number, group_of(name)) for number, name in enumerate(names))
        found[kind] = _grouping(kind, len(names), {number: group for number, group in groups if group is not None})
    return found


def _grouping(kind: str, size: int, group_of: Mapping[int, str]) -> Grouping:
    numbers = {group: number for number, group in enumerate(sorted(set(group_of.values())))}
    of = np.full(size, -1, np.int64)
    of[list(group_of)] = [numbers[group] for group in group_of.values()]
    return Grouping(of, _tags(f"{kind}/{group}" for group in numbers))


def _tags(names: Iterable[str]) -> NDArray[np.int64]:
    return np.array([1 + crc32(name.encode()) % _TAG_MAX for name in names], np.int64)
