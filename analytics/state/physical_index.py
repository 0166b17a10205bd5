"""What objects are and how they are cabled, by object number: all of the topology that jobs do not change."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.state.groups import Grouping, groupings
from analytics.state.registry import Registry
from telemetry import objects
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Device, Gpu, Job, Link, Role, Topology

_GPU, _PORT = f"{ObjectKind.GPU}:", f"{ObjectKind.PORT}:"


@dataclass(frozen=True)
class PhysicalIndex:
    """Arrays by object number, for the objects that were there when it was made; -1 for unknown.

    has_link, speed_rating, rack, uplink_leaf, groups: see ``TopologyIndex``. gpus_of: objects of the GPUs of a host
    that have series. gpus_at: the same for the GPUs of a host (device, index). ports_of: see ``groups.rails``.
    """

    has_link: NDArray[np.bool_]
    speed_rating: NDArray[np.float64]
    rack: NDArray[np.int64]
    uplink_leaf: NDArray[np.int64]
    groups: Mapping[str, Grouping] = field(default_factory=dict)
    gpus_of: Mapping[str, Sequence[int]] = field(default_factory=dict)
    gpus_at: Mapping[tuple[str, int], Sequence[int]] = field(default_factory=dict)
    ports_of: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)

    def gpus(self, job: Job) -> Iterator[int]:
        """The GPUs of a job, as object numbers: by index where it has only some of a node, else all with series."""
        for node in job.nodes:
            if not job.gpu_indices:
                yield from self.gpus_of.get(node, ())
            for index in job.gpu_indices:
                yield from self.gpus_at.get((node, index), ())


def index_physical(registry: Registry, topology: Topology) -> PhysicalIndex:
    """The current devices, links and GPUs for the current series. Gives racks object numbers."""
    racks = _racks_of_gpus(registry, topology)
    size, number_of = len(registry.objects), registry.objects.get
    has_link, speed_rating = np.zeros(size, bool), np.zeros(size)
    for link in topology.entities(Link):
        for port in link.ports:
            number = number_of(str(port))
            if number is not None:
                has_link[number], speed_rating[number] = True, link.bits_per_second
    gpus_of, gpus_at, ports_of = defaultdict(list), defaultdict(list), defaultdict(list)
    for number, name in enumerate(registry.objects.names):
        kind, device, part = _split(name)
        if kind == _GPU:
            gpus_of[device].append(number)
        elif kind == _PORT:
            ports_of[device].append((number, part))
    for gpu in topology.entities(Gpu):
        number = number_of(str(objects.gpu(gpu.device, gpu.uuid)))
        if number is not None:
            gpus_at[gpu.device, gpu.index].append(number)
    leaves = _leaves_of_uplinks(registry, topology)
    return PhysicalIndex(
        has_link=has_link,
        speed_rating=speed_rating,
        rack=_filled(size, racks),
        uplink_leaf=_filled(size, leaves),
        groups=groupings(registry.objects.names, topology),
        gpus_of=dict(gpus_of),
        gpus_at=dict(gpus_at),
        ports_of=dict(ports_of),
    )


def _split(name: str) -> tuple[str, str, str]:
    """Kind with its colon, device and part of it of an object's name."""
    kind, colon, path = name.partition(":")
    device, _, part = path.partition("/")
    return kind + colon, device, part


def _filled(size: int, numbers: Mapping[int, int]) -> NDArray[np.int64]:
    found = np.full(size, -1, np.int64)
    found[list(numbers)] = list(numbers.values())
    return found


def _racks_of_gpus(registry: Registry, topology: Topology) -> dict[int, int]:
    racks = {device.name: device.rack for device in topology.entities(Device) if device.rack}
    rack_of = {}
    for number, name in enumerate(list(registry.objects.names)):
        kind, device, _ = _split(name)
        rack = racks.get(device) if kind == _GPU else None
        if rack is not None:
            rack_of[number] = registry.objects.intern(str(ObjectRef(ObjectKind.RACK, rack)))
    return rack_of


def _leaves_of_uplinks(registry: Registry, topology: Topology) -> dict[int, int]:
    roles = {device.name: device.role for device in topology.entities(Device)}
    leaf_of = {}
    for link in topology.entities(Link):
        for here, there in (link.ports, link.ports[::-1]):
            if roles.get(here.device) is not Role.LEAF or roles.get(there.device) is not Role.SPINE:
                continue
            port, leaf = registry.objects.get(str(here)), registry.objects.get(str(objects.device(here.device)))
            if port is not None and leaf is not None:
                leaf_of[port] = leaf
    return leaf_of
