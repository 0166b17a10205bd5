"""Who is compared with whom, as the topology has it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from telemetry.objects import ObjectKind
from telemetry.topology import Device, Gpu, Job, Link, Role, Topology

_TAG_MAX = (1 << 24) - 1  # numbers up to here are exact in single precision


@dataclass(frozen=True)
class Grouping:
    """of: int64[objects], group of each object, -1 for none. tags: int64[groups], the same for one group for ever."""

    of: NDArray[np.int64]
    tags: NDArray[np.int64]


def of_jobs(job_of: NDArray[np.int64], jobs: Sequence[Job]) -> Grouping:
    return Grouping(job_of, _tags(f"job/{job.job_id}" for job in jobs))


def groupings(names: Sequence[str], topology: Topology) -> Mapping[str, Grouping]:
    """The groups of all kinds but jobs. names: of the objects, by number."""
    roles = {device.name: device.role for device in topology.entities(Device)}
    jobs = {node: job.job_id for job in topology.entities(Job) for node in job.nodes}
    models = {f"{gpu.device}/{gpu.uuid}": gpu.model for gpu in topology.entities(Gpu)}
    far = {}
    for link in topology.entities(Link):
        far[f"{ObjectKind.PORT}:{link.a_device}/{link.a_port}"] = roles.get(link.b_device)
        far[f"{ObjectKind.PORT}:{link.b_device}/{link.b_port}"] = roles.get(link.a_device)

    def rail(name: str) -> str | None:
        """NICs in one place of the hosts of a job: the same collectives cross them."""
        kind, _, place = name.partition(":")
        host, _, port = place.partition("/")
        return f"{jobs[host]}/{port}" if kind == ObjectKind.PORT and host in jobs else None

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
        kind, _, place = name.partition(":")
        return place.partition("/")[0] if kind == ObjectKind.STORAGE_TARGET else None

    def model(name: str) -> str | None:
        """Objects of one kind and make, which have the same series."""
        kind, _, place = name.partition(":")
        return f"{kind}/{roles.get(place.partition('/')[0], '')}/{models.get(place, '')}"

    kinds = {"model": model, "rail": rail, "leaf": leaf, "role": role, "filesystem": filesystem}
    return {kind: _grouping(kind, names, group_of) for kind, group_of in kinds.items()}


def _grouping(kind: str, names: Sequence[str], group_of: Callable[[str], str | None]) -> Grouping:
    found = [group_of(name) for name in names]
    numbers = {group: number for number, group in enumerate(sorted({group for group in found if group is not None}))}
    of = np.array([-1 if group is None else numbers[group] for group in found], np.int64)
    return Grouping(of, _tags(f"{kind}/{group}" for group in numbers))


def _tags(names: Iterable[str]) -> NDArray[np.int64]:
    return np.array([1 + crc32(name.encode()) % _TAG_MAX for name in names], np.int64)
