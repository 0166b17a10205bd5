"""The physical causal graph of the cluster: what fails with what.

An edge leads from an object to what cannot work without it::

    rack → device        switch → its links      link → the hosts at its ends
    host → its GPUs      storage server → storage target → file system

A switch does not fail with one of its links, so the walk ends there: shared core devices are not reached through the
fabric. Links between switches (ECMP) reach no host. Jobs change often and have their own index (``jobs.py``).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from telemetry.objects import ObjectKind, ObjectRef, device, gpu, link, port, storage_target
from telemetry.topology import Device, Entity, Gpu, Link, Mount, Role, StorageTarget, Topology, Transceiver

EDGE_ROLES = frozenset({Role.HOST, Role.STORAGE})
CHANGING = frozenset({"job", "node_state", "target_list"})
_REBUILT_SHARE = 0.1  # of the entities: more changes cost more one by one than all entities do at once


class Graph:
    """Built once per version of the topology from the entities that are no jobs; lookups are by name.

    entities: without contradictions (``telemetry.refusals``), else the last by key counts.
    """

    def __init__(self, entities: Mapping[str, Entity]) -> None:
        self.entities = entities
        self.devices: dict[str, Device] = {}
        self.switches: set[str] = set()
        self.peers: dict[ObjectRef, ObjectRef] = {}
        self.link_of: dict[ObjectRef, ObjectRef] = {}
        self.serials: dict[ObjectRef, str] = {}  # of the module in each port
        self.lots: dict[ObjectRef, str] = {}  # of the same, where it is known
        self.ports_of_lot: defaultdict[str, list[ObjectRef]] = defaultdict(list)
        self.gpus: dict[ObjectRef, Gpu] = {}
        self.targets: dict[ObjectRef, StorageTarget] = {}
        self._links: defaultdict[str, list[ObjectRef]] = defaultdict(list)
        self._neighbours: defaultdict[str, set[str]] = defaultdict(set)
        self._ends: dict[ObjectRef, tuple[str, str]] = {}
        self._ports: dict[ObjectRef, tuple[ObjectRef, ObjectRef]] = {}
        self._mounts: defaultdict[str, set[str]] = defaultdict(set)
        self._gpus_of: defaultdict[str, list[ObjectRef]] = defaultdict(list)
        self._racks: defaultdict[str, list[str]] = defaultdict(list)
        self._served: defaultdict[str, list[ObjectRef]] = defaultdict(list)
        for key in sorted(entities):
            self._add(entities[key])

    def _add(self, entity: Entity) -> None:
        match entity:
            case Device():
                self.devices[entity.name] = entity
                if entity.role not in EDGE_ROLES:
                    self.switches.add(entity.name)
                if entity.rack:
                    self._racks[entity.rack].append(entity.name)
            case Link():
                self._add_link(entity)
            case Transceiver():
                place = port(entity.device, entity.port)
                self.serials[place] = entity.serial
                if entity.lot:
                    self.lots[place] = entity.lot
                    self.ports_of_lot[entity.lot].append(place)
            case Gpu():
                ref = gpu(entity.device, entity.uuid)
                self.gpus[ref] = entity
                self._gpus_of[entity.device].append(ref)
            case StorageTarget():
                target = storage_target(entity.filesystem, entity.target)
                self.targets[target] = entity
                self._served[entity.server].append(target)
            case Mount():
                self._mounts[entity.filesystem].add(entity.device)

    def _add_link(self, entity: Link) -> None:
        one, other = entity.ports
        ref = link(one, other)
        self.peers[one], self.peers[other] = other, one
        self.link_of[one] = self.link_of[other] = ref
        self._ends[ref] = (entity.a_device, entity.b_device)
        self._ports[ref] = (one, other)
        self._links[entity.a_device].append(ref)
        self._links[entity.b_device].append(ref)
        self._neighbours[entity.a_device].add(entity.b_device)
        self._neighbours[entity.b_device].add(entity.a_device)

    def changed_to(self, entities: Mapping[str, Entity]) -> "Graph":
        """The graph of other entities, as if it were built from them; its work grows with how many differ.

        In a storm links come and go in every tick, and building the graph of 4,096 hosts takes half a second.
        """
        gone = _differing(self.entities, entities)
        new = _differing(entities, self.entities)
        if len(gone) + len(new) > _REBUILT_SHARE * len(entities):
            return Graph(entities)
        graph = copy(self)
        for name, index in vars(self).items():
            setattr(graph, name, copy(index))
        graph.entities = entities
        graph._replace(gone, new)
        return graph

    def _replace(self, gone: Sequence[Entity], new: Sequence[Entity]) -> None:
        touched: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
        for entity in (*gone, *new):
            touched |= {(id(index), name): (index, name) for index, name in self._lists(entity)}
        for index, name in touched.values():
            index[name] = copy(index[name])  # the graph before keeps its own
        for entity in gone:
            self._remove(entity)
        for entity in new:
            self._add(entity)
        for index, name in touched.values():
            if not index[name]:
                del index[name]
            elif isinstance(index[name], list):
                index[name].sort()  # as by key
        for name in {name for index, name in touched.values() if index is self._links}:
            near = {end for ref in self._links.get(name, ()) for end in self._ends[ref]} - {name}
            self._neighbours.pop(name, None)
            if near:
                self._neighbours[name] = near

    def _lists(self, entity: Entity) -> Iterable[tuple[dict[str, Any], str]]:
        """The lists that an entity is in."""
        match entity:
            case Device() if entity.rack:
                yield self._racks, entity.rack
            case Link():
                yield self._links, entity.a_device
                yield self._links, entity.b_device
            case Transceiver() if entity.lot:
                yield self.ports_of_lot, entity.lot
            case Gpu():
                yield self._gpus_of, entity.device
            case StorageTarget():
                yield self._served, entity.server
            case Mount():
                yield self._mounts, entity.filesystem

    def _remove(self, entity: Entity) -> None:
        match entity:
            case Device():
                del self.devices[entity.name]
                self.switches.discard(entity.name)
                if entity.rack:
                    self._racks[entity.rack].remove(entity.name)
            case Link():
                ref = entity.ref
                for end in self._ports.pop(ref):
                    del self.peers[end], self.link_of[end]
                for name in self._ends.pop(ref):
                    self._links[name].remove(ref)
            case Transceiver():
                place = port(entity.device, entity.port)
                del self.serials[place]
                if entity.lot:
                    del self.lots[place]
                    self.ports_of_lot[entity.lot].remove(place)
            case Gpu():
                ref = gpu(entity.device, entity.uuid)
                del self.gpus[ref]
                self._gpus_of[entity.device].remove(ref)
            case StorageTarget():
                ref = storage_target(entity.filesystem, entity.target)
                del self.targets[ref]
                self._served[entity.server].remove(ref)
            case Mount():
                self._mounts[entity.filesystem].remove(entity.device)

    def reached(self, ref: ObjectRef) -> set[ObjectRef]:
        """Everything that cannot work without ``ref``, and itself. A port counts as its link.

        Walks only what is reached, and not a graph of the whole cluster: that takes longer to build than all walks of a
        storm.
        """
        found, left = set[ObjectRef](), [self.link_of.get(ref, ref)]
        while left:
            at = left.pop()
            new = set(self._dependents(at)) - found
            found |= new
            left += new
            if at.kind is ObjectKind.DEVICE:
                found.update(self._gpus_of.get(at.name, ()))  # which take nothing with them
        found.add(ref)
        return found

    def _dependents(self, ref: ObjectRef) -> Iterable[ObjectRef]:
        """What an object takes with it: the edges of the module's docstring, without GPUs."""
        match ref.kind:
            case ObjectKind.RACK:
                return map(device, self._racks.get(ref.name, ()))
            case ObjectKind.LINK:
                return (device(name) for name in self.ends(ref) if self.is_edge(name))
            case ObjectKind.DEVICE:
                links = () if self.is_edge(ref.name) else self._links.get(ref.name, ())
                return (*links, *self._served.get(ref.name, ()))
            case ObjectKind.STORAGE_TARGET if known := self.targets.get(ref):
                return (ObjectRef(ObjectKind.FILESYSTEM, known.filesystem),)
            case _:
                return ()

    def role(self, name: str) -> Role | None:
        """None for a device that the topology does not know."""
        known = self.devices.get(name)
        return known.role if known else None

    def is_edge(self, name: str) -> bool:
        """Whether the device uses the fabric and is no part of it."""
        return name in self.devices and name not in self.switches

    def is_switch(self, name: str) -> bool:
        """Whether the topology knows it as part of the fabric."""
        return name in self.switches

    def faces_edge(self, port: ObjectRef) -> bool:
        """Whether a switch's port leads to a host or storage server; a port without a known peer does."""
        peer = self.peers.get(port)
        return self.is_switch(port.device) and (peer is None or self.is_edge(peer.device))

    def links(self, name: str) -> Sequence[ObjectRef]:
        """Links of a device."""
        return self._links.get(name, [])

    def ends(self, link: ObjectRef) -> tuple[str, ...]:
        """Names of the two devices of a link; none for a link that is not known."""
        known = self._ends.get(link, ())
        return known or tuple(port.device for port in _ports_named(link))

    def ports(self, link: ObjectRef) -> tuple[ObjectRef, ...]:
        """The two ports of a link, by its name where it is inferred; none for what is no link."""
        return self._ports.get(link, ()) or _ports_named(link)

    def neighbours(self, name: str) -> set[str]:
        """Names of the devices one link away."""
        return self._neighbours.get(name, set())

    def gpus_of(self, host: str) -> Sequence[ObjectRef]:
        return self._gpus_of.get(host, [])

    def targets_of(self, server: str) -> Sequence[ObjectRef]:
        """Storage targets of a server."""
        return self._served.get(server, [])

    def mounted_on(self, filesystem: str) -> set[str]:
        """Names of the hosts that mount a file system."""
        return self._mounts.get(filesystem, set())

    def filesystem_of(self, target: ObjectRef) -> str:
        """Name of a file system, or of that of a storage target, by its name where the topology does not know it: that
        of an export has slashes."""
        if target.kind is ObjectKind.FILESYSTEM:
            return target.name
        known = self.targets.get(target)
        return known.filesystem if known else target.name.partition("/")[0]

    def server_of(self, target: ObjectRef) -> str:
        """Name of the server of a storage target; empty when the topology does not know it."""
        known = self.targets.get(target)
        return known.server if known else ""

    def rack(self, name: str) -> Sequence[str]:
        """Names of the devices in a rack."""
        return self._racks.get(name, [])

    @property
    def number_of_links(self) -> int:
        return len(self._ends)

    @property
    def has_links(self) -> bool:
        """Whether any cable is known."""
        return bool(self._links)

    @property
    def number_of_racks(self) -> int:
        return len(self._racks)


def _ports_named(link: ObjectRef) -> tuple[ObjectRef, ...]:
    """The ports in the name of a link that no fact describes."""
    ends = link.name.split("--") if link.kind is ObjectKind.LINK else []
    return tuple(ObjectRef(ObjectKind.PORT, end) for end in ends) if len(ends) == 2 else ()


def _differing(these: Mapping[str, Entity], others: Mapping[str, Entity]) -> list[Entity]:
    """Those that the others lack or have another version of, by key."""
    found = (key for key, one in these.items() if (other := others.get(key)) is not one and other != one)
    return [these[key] for key in sorted(found)]


def physical(topology: Topology) -> dict[str, Entity]:
    """The present entities that a Graph is made of, by key: what changes often has an index of its own."""
    facts = topology.facts.items()
    return {key: fact.entity for key, fact in facts if not fact.gone and fact.entity.kind not in CHANGING}
