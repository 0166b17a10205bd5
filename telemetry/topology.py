"""The topology: versioned facts, and the cluster that they describe.

A fact describes one entity (a device, a link, a transceiver, a GPU, a mount, a job, the state of a node, what a job of
ingest collects). Its key identifies the entity; the newest fact of a key is valid, and a fact with ``gone`` ends it. On
the bus the topic is compacted by key.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from enum import StrEnum
from functools import cached_property
from operator import itemgetter
from typing import Literal, TypeVar, cast

from telemetry.objects import Count, EventTime, Finite, Name, ObjectRef, link, port


class Role(StrEnum):
    LEAF = "leaf"
    SPINE = "spine"
    HOST = "host"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class Device:
    """A switch, host or storage server. rail: which NIC position a leaf serves in a rail-optimised fabric.

    asic: of a switch, a name of ``telemetry/asics.yaml``; '' where unknown.
    """

    name: Name
    role: Role
    pod: str = ""
    rack: str = ""
    rail: str = ""
    asic: str = ""
    kind: Literal["device"] = "device"

    @property
    def key(self) -> str:
        """Identifies the entity among those of all kinds, and its record on the bus."""
        return f"device/{self.name}"


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between two ports, in sorted order: ``a_device`` + ``a_port`` < ``b_device`` + ``b_port``.

    bits_per_second: its rated speed, 0 where unknown.
    """

    a_device: Name
    a_port: Name
    b_device: Name
    b_port: Name
    bits_per_second: Finite = 0.0
    kind: Literal["link"] = "link"

    @property
    def key(self) -> str:
        return f"link/{self.ref.name}"

    @property
    def ports(self) -> tuple[ObjectRef, ObjectRef]:
        return port(self.a_device, self.a_port), port(self.b_device, self.b_port)

    @property
    def ref(self) -> ObjectRef:
        return link(*self.ports)


@dataclass(frozen=True, slots=True)
class Transceiver:
    """The module in a port, or the end of a cable with modules: a DAC or AOC may state one serial at both ends.

    vendor, part: who made it, and the part number. date_code: when, ``2024-01-31``, with the two characters of the lot
    behind it where the agent passes them on (``2024-01-31 A2``: SFF-8472, SFF-8636 and CMIS have YYMMDD and a lot).
    Each is '' where it is not stated.
    """

    device: Name
    port: Name
    serial: Name
    vendor: str = ""
    part: str = ""
    date_code: str = ""
    kind: Literal["transceiver"] = "transceiver"

    @property
    def key(self) -> str:
        return f"transceiver/{self.device}/{self.port}"

    @property
    def lot(self) -> str:
        """``INNOLIGHT C-DQ8FNM010-N00 2020-05-22``: what modules that were made together state alike; '' unless all
        of it is known."""
        stated = (self.vendor, self.part, self.date_code)
        return " ".join(stated) if all(stated) else ""


UNKNOWN_INDEX = -1
_UUID_CHARS = 12  # tell the GPUs of one host apart


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of a host. index: as ``nvidia-smi`` counts, or UNKNOWN_INDEX. nic_port: the host's port that this
    GPU sends through (its rail), '' where unknown. serial: of the board, '' where nobody states it."""

    device: Name
    uuid: Name
    index: Count
    nic_port: str = ""
    model: str = ""
    serial: str = ""
    kind: Literal["gpu"] = "gpu"

    @property
    def key(self) -> str:
        return f"gpu/{self.device}/{self.uuid}"

    @property
    def label(self) -> str:
        """A name for people: ``node1 GPU 3 (serial 1650321004242)``. Without a serial the beginning of the UUID stands
        in its place; with neither that nor an index it is ``node1/GPU-5f3c0a1b``."""
        if self.index == UNKNOWN_INDEX and not self.serial:
            return f"{self.device}/{self.uuid[:_UUID_CHARS]}"
        number = f"GPU {self.index}" if self.index != UNKNOWN_INDEX else "GPU"
        return f"{self.device} {number} ({f'serial {self.serial}' if self.serial else self.uuid[:_UUID_CHARS]})"


@dataclass(frozen=True, slots=True)
class StorageTarget:
    """A part of a file system that can be slow by itself (a Lustre OST or MDT, an NFS export).

    server: the storage device that serves it.
    """

    filesystem: Name
    target: Name
    server: Name
    kind: Literal["storage_target"] = "storage_target"

    @property
    def key(self) -> str:
        return f"storage_target/{self.filesystem}/{self.target}"


@dataclass(frozen=True, slots=True)
class Mount:
    """A file system mounted on a host."""

    device: Name
    filesystem: Name
    kind: Literal["mount"] = "mount"

    @property
    def key(self) -> str:
        return f"mount/{self.device}/{self.filesystem}"


@dataclass(frozen=True, slots=True)
class Job:
    """A running job. gpu_indices: GPU indices used on every node; () means all of them.

    started_ns: event time, 0 where unknown.
    """

    job_id: Name
    nodes: tuple[Name, ...]
    name: str = ""
    user: str = ""
    partition: str = ""
    gpu_indices: tuple[Count, ...] = ()
    started_ns: EventTime = 0
    kind: Literal["job"] = "job"

    @property
    def key(self) -> str:
        return f"job/{self.job_id}"


class Intent(StrEnum):
    """What a scheduler or an operator wants of a node that takes no new job."""

    DRAINED = "drained"  # or draining; also cordoned
    MAINTENANCE = "maintenance"
    REBOOT = "reboot"  # asked for or under way
    POWERED_DOWN = "powered_down"  # by power saving, or on its way there or back


@dataclass(frozen=True, slots=True)
class NodeState:
    """What the scheduler says of a node. intent: '' where it takes jobs, or is down without anybody's doing.

    states: the scheduler's own words, as ``IDLE+DRAIN``. reason: in the words of whoever set it, ``author``.
    since_ns: since when, 0 where unknown.
    """

    device: Name
    states: str
    intent: Intent | Literal[""] = ""
    reason: str = ""
    author: str = ""
    since_ns: EventTime = 0
    kind: Literal["node_state"] = "node_state"

    @property
    def key(self) -> str:
        return f"node_state/{self.device}"


@dataclass(frozen=True, slots=True)
class TargetList:
    """The targets of one job of an ingest process, as its settings or service discovery name them.

    targets: name and device of each. jobs: all that have a list in this process (``instance``); the lists of its
    others are void.
    """

    instance: Name
    job: Name
    jobs: tuple[Name, ...]
    targets: tuple[tuple[Name, Name], ...]
    kind: Literal["target_list"] = "target_list"

    @property
    def key(self) -> str:
        return f"target_list/{self.instance}/{self.job}"


Entity = Device | Link | Transceiver | Gpu | StorageTarget | Mount | Job | NodeState | TargetList
T = TypeVar("T", Device, Link, Transceiver, Gpu, StorageTarget, Mount, Job, NodeState, TargetList)


@dataclass(frozen=True, slots=True)
class TopologyFact:
    """One observation of an entity, or of its end (``gone``).

    source: where it was observed (``inventory``, ``lldp/leaf1``, ``slurm``); observed_ns: event time.
    """

    entity: Entity
    observed_ns: EventTime
    source: str
    gone: bool = False


@dataclass(frozen=True)
class Topology:
    """The cluster as known at one moment. Immutable; ``with_facts`` gives the next one.

    Of two facts with one key the one with the later ``observed_ns`` is valid, whatever the order of their arrival.
    contested: by key of a device, the newest fact of another source that describes another device of that name.
    uncollected: devices whose targets have all left the lists of ingest.
    """

    facts: Mapping[str, TopologyFact] = dataclass_field(default_factory=dict)
    contested: Mapping[str, TopologyFact] = dataclass_field(default_factory=dict)
    uncollected: frozenset[str] = frozenset()

    def with_facts(self, facts: Iterable[TopologyFact]) -> "Topology":
        """The newest fact of each entity is kept; of equally old ones the last in order."""
        merged, contested = dict(self.facts), dict(self.contested)
        for fact in facts:
            key = fact.entity.key
            known = merged.get(key)
            if known is None or known.observed_ns <= fact.observed_ns:
                merged[key] = fact
            if known is not None and _are_two(known, fact):
                contested[key] = known if merged[key] is fact else fact
            elif key in contested and (contested[key].source == fact.source or fact.gone):
                del contested[key]  # who said otherwise does so no longer
        return replace(self, facts=merged, contested=contested)

    def entities(self, of: type[T]) -> list[T]:
        """All present entities of one kind, sorted by key."""
        known = self._present.get(of)
        if known is None:
            present = sorted(self._by_kind.get((of, False), ()), key=itemgetter(0))
            known = self._present[of] = [fact.entity for _, fact in present]
        return list(cast(list[T], known))

    def present(self, of: type[T]) -> list[tuple[T, TopologyFact]]:
        """Those of one kind with their facts."""
        return self._of(of, gone=False)

    def gone(self, of: type[T]) -> list[tuple[T, TopologyFact]]:
        """What there was of one kind and is not any more, with the facts that say so."""
        return self._of(of, gone=True)

    def _of(self, of: type[T], *, gone: bool) -> list[tuple[T, TopologyFact]]:
        return [(cast(T, fact.entity), fact) for _, fact in self._by_kind.get((of, gone), ())]

    @property
    def jobs(self) -> list[tuple[Job, TopologyFact]]:
        """All jobs with their facts, those that have ended included."""
        return [*self.present(Job), *self.gone(Job)]

    @cached_property
    def targets(self) -> Mapping[str, tuple[str, str]]:
        """Device and job of each target that a list of ingest names, by the target's name."""
        lists = [(fact.observed_ns, one) for one, fact in self.present(TargetList)]
        newest: dict[str, tuple[int, TargetList]] = {}
        for at_ns, one in lists:
            if one.instance not in newest or newest[one.instance][0] < at_ns:
                newest[one.instance] = at_ns, one
        valid = (one for _, one in lists if one.job in newest[one.instance][1].jobs)
        return {name: (device, one.job) for one in valid for name, device in one.targets}

    @cached_property
    def _by_kind(self) -> Mapping[tuple[type[Entity], bool], list[tuple[str, TopologyFact]]]:
        """Facts with their keys, by kind and by whether they say that it is gone. Once for each version: several parts
        ask for the same kinds in every tick."""
        found: defaultdict[tuple[type[Entity], bool], list[tuple[str, TopologyFact]]] = defaultdict(list)
        for key, fact in self.facts.items():
            found[type(fact.entity), fact.gone].append((key, fact))
        return found

    @cached_property
    def _present(self) -> dict[type[Entity], list[Entity]]:
        """What was asked for by kind so far."""
        return {}


def _are_two(one: TopologyFact, other: TopologyFact) -> bool:
    """Whether two sources speak of two devices: none has two roles, or stands in two racks."""
    if one.source == other.source or one.gone or other.gone or not isinstance(one.entity, Device):
        return False
    assert isinstance(other.entity, Device)  # the kind is a part of the key
    racks = {one.entity.rack, other.entity.rack} - {""}
    return one.entity.role is not other.entity.role or len(racks) > 1
