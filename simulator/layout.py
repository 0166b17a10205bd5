"""What the simulated cluster consists of: the frozen description that the model, the servers and the tests share.

Positions matter: the arrays of ``counters.readings`` are indexed by the positions in the tuples of ``Layout``.
"""

import ipaddress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from simulator.shapes.shape import Shape
from telemetry.topology import Device, Gpu, Job, Link, Mount, Role, StorageTarget, TopologyFact

GPU_MODEL = "NVIDIA H100 80GB HBM3"
DRIVER = "580.95.05"
PRIORITIES = 8
LOSSLESS = 3  # priority and queue of RDMA
OTHER = 0  # priority and queue of everything else


class Flavour(StrEnum):
    """The data model that a switch serves over gNMI."""

    SONIC = "sonic"
    OPENCONFIG = "openconfig"  # with Arista's PFC paths


class Exporter(StrEnum):
    DCGM = "dcgm"
    NODE = "node"
    LUSTRE = "lustre"
    GNMI = "gnmi"
    SLURM = "slurm"


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A port of a switch. nic: position in ``Layout.nics`` of its peer, or -1.

    peer_port: position in ``Layout.ports`` of its peer, or -1.
    number: 1, 2, … on its switch. bits_per_second: rated speed.
    """

    device: str
    name: str
    number: int
    bits_per_second: float
    nic: int
    peer_port: int
    peer_device: str
    peer_name: str


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC port of a host or storage server. port: position in ``Layout.ports`` of the leaf port behind it."""

    device: str
    name: str
    rail: int
    bits_per_second: float
    port: int
    serial: str


@dataclass(frozen=True, slots=True)
class GpuUnit:
    """A GPU. nic: position in ``Layout.nics`` of the NIC that it sends through."""

    device: str
    index: int
    uuid: str
    pci_bus_id: str
    nic: int


@dataclass(frozen=True, slots=True)
class Target:
    """A storage target (OST). exporter_name is what a Lustre exporter calls it: ``scratch-OST0000``."""

    name: str
    server: str
    exporter_name: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One served address. device: the device that it reports on."""

    exporter: Exporter
    device: str
    host: str
    port: int

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Layout:
    """The cluster. devices: leaves, spines, hosts, storage servers, in this order.

    ports:  all switch ports, those of one switch side by side (``switch_ports[name]`` is the range).
    nics:   all host NICs, then all storage server NICs (``device_nics[name]`` is the range).
    gpus:   host by host (``host_gpus[name]`` is the range).
    """

    filesystem: str
    devices: tuple[Device, ...]
    flavours: dict[str, Flavour]
    ports: tuple[SwitchPort, ...]
    nics: tuple[Nic, ...]
    gpus: tuple[GpuUnit, ...]
    targets: tuple[Target, ...]
    endpoints: tuple[Endpoint, ...]
    links: tuple[Link, ...]
    switch_ports: dict[str, range] = field(default_factory=dict)
    device_nics: dict[str, range] = field(default_factory=dict)
    host_gpus: dict[str, range] = field(default_factory=dict)
    shape: Shape = Shape.TWO_TIER

    @cached_property
    def switches(self) -> tuple[str, ...]:
        """Leaves, then spines."""
        return tuple(d.name for d in self.devices if d.role in (Role.LEAF, Role.SPINE))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.devices if d.role is Role.LEAF)

    @cached_property
    def spines(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.devices if d.role is Role.SPINE)

    @cached_property
    def cores(self) -> tuple[str, ...]:
        """The spines that connect pods: all where there is one tier of them."""
        return tuple(d.name for d in self.devices if d.role is Role.SPINE and not d.pod)

    @cached_property
    def tiers(self) -> int:
        """Tiers of switches: 1 leaves alone, 2 with spines, 3 with aggregation switches in the pods below the cores."""
        return 1 if not self.spines else 2 if len(self.cores) == len(self.spines) else 3

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.devices if d.role is Role.HOST)

    @cached_property
    def servers(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.devices if d.role is Role.STORAGE)

    @cached_property
    def device_index(self) -> dict[str, int]:
        """Position of a device in ``devices``, by name."""
        return {d.name: i for i, d in enumerate(self.devices)}

    @cached_property
    def port_index(self) -> dict[tuple[str, str], int]:
        """Position of a switch port in ``ports``, by device and name."""
        return {(p.device, p.name): i for i, p in enumerate(self.ports)}

    @cached_property
    def nic_index(self) -> dict[tuple[str, str], int]:
        """Position of a NIC in ``nics``, by device and name (``mlx5_0``)."""
        return {(n.device, n.name): i for i, n in enumerate(self.nics)}

    @cached_property
    def endpoint_index(self) -> dict[tuple[Exporter, str], int]:
        """Position in ``endpoints``, by exporter and device."""
        return {(e.exporter, e.device): i for i, e in enumerate(self.endpoints)}


def peer_address(layout: Layout, port: int) -> str:
    """Address of the BGP neighbour behind a leaf–spine port: the other end of the link's /31."""
    peer = layout.ports[port].peer_port
    base = int(ipaddress.IPv4Address("10.128.0.0")) + 2 * min(port, peer)
    return str(ipaddress.IPv4Address(base + (1 if port < peer else 0)))


def topology_facts(layout: Layout, now_ns: int) -> list[TopologyFact]:
    """The topology facts that an inventory and LLDP give, as of ``now_ns``. Jobs: ``SimulatedCluster.job_facts``."""
    entities: list[Device | Link | Gpu | StorageTarget | Mount | Job] = [*layout.devices, *layout.links]
    entities += [Gpu(g.device, g.uuid, g.index, layout.nics[g.nic].name, GPU_MODEL) for g in layout.gpus]
    entities += [StorageTarget(layout.filesystem, t.name, t.server) for t in layout.targets]
    entities += [Mount(host, layout.filesystem) for host in layout.hosts]
    return [TopologyFact(entity, now_ns, "inventory") for entity in entities]
