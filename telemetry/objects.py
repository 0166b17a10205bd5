"""The objects of the cluster that findings and incidents are about, as kind and name."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from annotated_types import Ge, Le, Len, Predicate

from common.errors import BadInput

NAME_CHARS_MAX = 1024
Name = Annotated[str, Len(1, NAME_CHARS_MAX)]
"""Of a device, port, GPU, job …: what names nothing would be merged with everything else that has no name."""

EVENT_TIME_MAX = 2**63 - 1
EventTime = Annotated[int, Ge(0), Le(EVENT_TIME_MAX)]
"""Nanoseconds since the Unix epoch, as columns hold them. Checked where records are decoded."""

Count = Annotated[int, Ge(-(2**63)), Le(2**63 - 1)]
Finite = Annotated[float, Predicate(math.isfinite)]
"""JSON has more numbers than a record can be encoded with again. Checked where records are decoded."""


class ObjectKind(StrEnum):
    """Kinds of objects, with the form of their names."""

    DEVICE = "device"  # switch or host: "leaf1"
    PORT = "port"  # "leaf1/Ethernet4"; a NIC is a port of its host: "node3/mlx5_0"
    LINK = "link"  # the two ports, sorted: "leaf1/Ethernet4--spine1/Ethernet8"
    GPU = "gpu"  # host and UUID: "node3/GPU-5f3c…"
    STORAGE_TARGET = "storage_target"  # file system and target: "scratch/OST0003"
    FILESYSTEM = "filesystem"  # "scratch"
    JOB = "job"  # "4711"
    RACK = "rack"  # "r12"
    TARGET = "target"  # an endpoint of telemetry: "dcgm/127.0.0.1:9400"


_OF_A_DEVICE = (ObjectKind.DEVICE, ObjectKind.PORT, ObjectKind.GPU)


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """One object of the cluster; sorts by kind and name."""

    kind: ObjectKind
    name: Name

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def __hash__(self) -> int:
        """By name alone, which remembers its own: few objects of two kinds have one name."""
        return hash(self.name)

    @property
    def device(self) -> str:
        """The switch or host of a device, port or GPU; '' for other kinds."""
        if self.kind in _OF_A_DEVICE:
            return self.name.partition("/")[0]
        return ""


def parse_object(text: str) -> ObjectRef:
    """
    >>> parse_object("port:leaf1/Ethernet4")
    ObjectRef(kind=<ObjectKind.PORT: 'port'>, name='leaf1/Ethernet4')
    """
    kind, _, name = text.partition(":")
    if kind not in set(ObjectKind) or not name:
        raise BadInput(f"object {text!r}: expected kind:name with a kind of {', '.join(ObjectKind)}")
    return ObjectRef(ObjectKind(kind), name)


def device(name: str) -> ObjectRef:
    return ObjectRef(ObjectKind.DEVICE, name)


def port(device_name: str, port_name: str) -> ObjectRef:
    return ObjectRef(ObjectKind.PORT, f"{device_name}/{port_name}")


def link(one: ObjectRef, other: ObjectRef) -> ObjectRef:
    """The link between two ports, whichever end is named first."""
    return ObjectRef(ObjectKind.LINK, "--".join(sorted((one.name, other.name))))


def gpu(host: str, uuid: str) -> ObjectRef:
    return ObjectRef(ObjectKind.GPU, f"{host}/{uuid}")


def storage_target(filesystem: str, target: str) -> ObjectRef:
    return ObjectRef(ObjectKind.STORAGE_TARGET, f"{filesystem}/{target}")


def job(job_id: str) -> ObjectRef:
    return ObjectRef(ObjectKind.JOB, job_id)
