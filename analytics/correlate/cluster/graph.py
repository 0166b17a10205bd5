"""The physical causal graph of the cluster: what fails with what.

An edge leads from an object to what cannot work without it::

    rack → device        switch → its links      link → the hosts at its ends
    host → its GPUs      storage server → storage target → file system

A switch does not fail with one of its links, so the walk ends there: shared core devices are not reached through the
fabric. Links between switches (ECMP) reach no host. Jobs change often and have their own index (``jobs.py``).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import rustworkx as rx

from telemetry.objects import ObjectKind, ObjectRef, device, gpu, storage_target
from telemetry.topology import Device, Entity, Gpu, Link, Mount, Role, StorageTarget, Topology

EDGE_ROLES = frozenset({Role.HOST, Role.STORAGE})
CHANGING = frozenset({"job", "node_state"})


class Graph:
    """Built once per version of the topology from the entities that are no jobs; lookups are by name."""

    def __init__(self, entities: Mapping[str, Entity]) -> None:
        self.entities = entities
        self.devices: dict[str, Device] = {}
        self.peers: dict[ObjectRef, ObjectRef] = {}
        self.link_of: dict[ObjectRef, ObjectRef] = {}
        self.gpus: dict[ObjectRef, Gpu] = {}
        self.targets: dict[ObjectRef, StorageTarget] = {}
        self._links: defaultdict[str, list[ObjectRef]] = defaultdict(list)
        self._neighbours: defaultdict[str, set[str]] = defaultdict(set)
        self._ends: dict[ObjectRef, tuple[str, str]] = {}
        self._ports: dict[ObjectRef, tuple[ObjectRef, ObjectRef]] = {}
        self._mounts: defaultdict[str, set[str]] = defaultdict(set)
        self._gpus_of: defaultdict[str, list[ObjectRef]] = defaultdict(list)
        self._racks: defaultdict[str, list[str]] = defaultdict(list)
        for key in sorted(entities):
            self._add(entities[key])

    def _add(self, entity: Entity) -> None:
        match entity:
            case Device():
                self.devices[entity.name] = entity
                if entity.rack:
                    self._racks[entity.rack].append(entity.name)
            case Link():
                self._add_link(entity)
            case Gpu():
                ref = gpu(entity.device, entity.uuid)
                self.gpus[ref] = entity
                self._gpus_of[entity.device].append(ref)
            case StorageTarget():
                self.targets[storage_target(entity.filesystem, entity.target)] = entity
            case Mount():
                self._mounts[entity.filesystem].add(entity.device)

    def _add_link(self, entity: Link) -> None:
        one, other = entity.ports
        ref = entity.ref
        self.peers[one], self.peers[other] = other, one
        self.link_of[one] = self.link_of[other] = ref
        self._ends[ref] = (entity.a_device, entity.b_device)
        self._ports[ref] = (one, other)
        self._links[entity.a_device].append(ref)
        self._links[entity.b_device].append(ref)
        self._neighbours[entity.a_device].add(entity.b_device)
        self._neighbours[entity.b_device].add(entity.a_device)

    @cached_property
    def impact(self) -> tuple["rx.PyDiGraph[ObjectRef, None]", dict[ObjectRef, int]]:
        """The directed graph of the module's docstring, and the node index of each object."""
        edges = list(self._edges())
        nodes = sorted({ref for edge in edges for ref in edge} | {device(name) for name in self.devices})
        graph: rx.PyDiGraph[ObjectRef, None] = rx.PyDiGraph(multigraph=False)
        graph.add_nodes_from(nodes)
        index = {ref: position for position, ref in enumerate(nodes)}
        graph.add_edges_from_no_data([(index[a], index[b]) for a, b in edges])
        return graph, index

    def _edges(self) -> Iterable[tuple[ObjectRef, ObjectRef]]:
        for rack, names in self._racks.items():
            yield from ((ObjectRef(ObjectKind.RACK, rack), device(name)) for name in names)
        for link, ends in self._ends.items():
            for name in ends:
                yield (link, device(name)) if self.is_edge(name) else (device(name), link)
        for ref in self.gpus:
            yield device(ref.device), ref
        for ref, target in self.targets.items():
            yield device(target.server), ref
            yield ref, ObjectRef(ObjectKind.FILESYSTEM, target.filesystem)

    def reached(self, ref: ObjectRef) -> set[ObjectRef]:
        """Everything that cannot work without ``ref``, and itself. A port counts as its link."""
        graph, index = self.impact
        start = self.link_of.get(ref, ref)
        if start not in index:
            return {ref}
        return {graph[node] for node in rx.descendants(graph, index[start])} | {ref}

    def role(self, name: str) -> Role | None:
        """None for a device that the topology does not know."""
        known = self.devices.get(name)
        return known.role if known else None

    def is_edge(self, name: str) -> bool:
        """Whether the device uses the fabric and is no part of it."""
        return self.role(name) in EDGE_ROLES

    def is_switch(self, name: str) -> bool:
        """Whether the topology knows it as part of the fabric."""
        return name in self.devices and not self.is_edge(name)

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

    def mounted_on(self, filesystem: str) -> set[str]:
        """Names of the hosts that mount a file system."""
        return self._mounts.get(filesystem, set())

    def server_of(self, target: ObjectRef) -> str:
        """Name of the server of a storage target; empty when the topology does not know it."""
        known = self.targets.get(target)
        return known.server if known else ""

    def rack(self, name: str) -> Sequence[str]:
        """Names of the devices in a rack."""
        return self._racks.get(name, [])

    @property
    def has_links(self) -> bool:
        """Whether any cable is known."""
        return bool(self._links)

    @property
    def racks(self) -> list[str]:
        return sorted(self._racks)


def _ports_named(link: ObjectRef) -> tuple[ObjectRef, ...]:
    """The ports in the name of a link that no fact describes."""
    ends = link.name.split("--") if link.kind is ObjectKind.LINK else []
    return tuple(ObjectRef(ObjectKind.PORT, end) for end in ends) if len(ends) == 2 else ()


def physical(topology: Topology) -> dict[str, Entity]:
    """The present entities that a Graph is made of, by key: what changes often has an index of its own."""
    facts = topology.facts.items()
    return {key: fact.entity for key, fact in facts if not fact.gone and fact.entity.kind not in CHANGING}
