"""What the simulated cluster consists of: the frozen description that the model, the servers and the tests share.

Positions matter: the arrays of ``counters.readings`` are indexed by the positions in the tuples of ``Layout``.
"""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from simulator.config import SimulatorConfig
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
    """A NIC port of a host or storage server. port: position in ``Layout.ports`` of the leaf port it is plugged into.

    netdev: the Linux interface of the same NIC (ethtool statistics name it, ``node_infiniband_*`` name ``name``).
    """

    device: str
    name: str
    netdev: str
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


def build_layout(config: SimulatorConfig) -> Layout:
    """The layout of ``config``; a function of it alone."""
    devices = _devices(config)
    cables = _cables(config, devices)
    ports, nics = _ports_and_nics(config, devices, cables)
    hosts = [d.name for d in devices if d.role is Role.HOST]
    gpus = _gpus(config, hosts, nics)
    targets = _targets(config, [d.name for d in devices if d.role is Role.STORAGE])
    return Layout(
        filesystem=config.filesystem,
        devices=devices,
        flavours={d.name: _FLAVOURS[d.role] for d in devices if _is_switch(d)},
        ports=ports,
        nics=nics,
        gpus=gpus,
        targets=targets,
        endpoints=_endpoints(devices),
        links=_links(ports),
        switch_ports=_ranges([p.device for p in ports]),
        device_nics=_ranges([n.device for n in nics]),
        host_gpus=_ranges([g.device for g in gpus]),
    )


def topology_facts(layout: Layout, now_ns: int) -> list[TopologyFact]:
    """The topology facts that an inventory and LLDP give, as of ``now_ns``. Jobs: ``SimulatedCluster.job_facts``."""
    entities: list[Device | Link | Gpu | StorageTarget | Mount | Job] = [*layout.devices, *layout.links]
    entities += [Gpu(g.device, g.uuid, g.index, layout.nics[g.nic].name, GPU_MODEL) for g in layout.gpus]
    entities += [StorageTarget(layout.filesystem, t.name, t.server) for t in layout.targets]
    entities += [Mount(host, layout.filesystem) for host in layout.hosts]
    return [TopologyFact(entity, now_ns, "inventory") for entity in entities]


_FLAVOURS = {Role.LEAF: Flavour.SONIC, Role.SPINE: Flavour.OPENCONFIG}


def _is_switch(device: Device) -> bool:
    return device.role in (Role.LEAF, Role.SPINE)


def _devices(config: SimulatorConfig) -> tuple[Device, ...]:
    pods = -(-config.hosts // config.pod_hosts)
    per_pod = config.gpus_per_host // config.leaf_rails
    leaves = [
        Device(f"leaf{pod * per_pod + slot + 1}", Role.LEAF, f"pod{pod + 1}", f"net{pod + 1}", _rails(config, slot))
        for pod in range(pods)
        for slot in range(per_pod)
    ]
    leaves += [Device(f"leaf{pods * per_pod + k + 1}", Role.LEAF, "storage", "sto1", "") for k in range(2)]
    spines = [Device(f"spine{k + 1}", Role.SPINE, "", "core1", "") for k in range(config.spine_count)]
    hosts = [
        Device(f"node{k + 1}", Role.HOST, f"pod{k // config.pod_hosts + 1}", f"r{k // config.hosts_per_rack + 1}")
        for k in range(config.hosts)
    ]
    servers = [Device(f"oss{k + 1}", Role.STORAGE, "storage", "sto1") for k in range(config.server_count)]
    return (*leaves, *spines, *hosts, *servers)


def _rails(config: SimulatorConfig, slot: int) -> str:
    first = slot * config.leaf_rails
    return "+".join(str(rail) for rail in range(first, first + config.leaf_rails))


@dataclass(frozen=True, slots=True)
class _Cable:
    """A switch port and what is at its other end: a NIC (rail >= 0) or a switch."""

    device: str
    peer: str
    bits_per_second: float
    rail: int = -1


def _cables(config: SimulatorConfig, devices: tuple[Device, ...]) -> dict[str, list[_Cable]]:
    """By switch, in port order: leaves have their hosts first, then the spines."""
    of = {role: [d for d in devices if d.role is role] for role in Role}
    nic_speed, uplink = config.nic_gbps * 1e9, config.uplink_bits_per_second
    cables: dict[str, list[_Cable]] = {}
    for leaf in of[Role.LEAF]:
        if leaf.pod == "storage":
            slot = int(leaf.name[4:]) - len(of[Role.LEAF]) + 1
            down = [_Cable(leaf.name, s.name, nic_speed, slot) for s in of[Role.STORAGE]]
        else:
            rails = [int(rail) for rail in leaf.rail.split("+")]
            members = [h for h in of[Role.HOST] if h.pod == leaf.pod]
            down = [_Cable(leaf.name, h.name, nic_speed, rail) for h in members for rail in rails]
        cables[leaf.name] = down + [_Cable(leaf.name, s.name, uplink) for s in of[Role.SPINE]]
    for spine in of[Role.SPINE]:
        cables[spine.name] = [_Cable(spine.name, leaf.name, uplink) for leaf in of[Role.LEAF]]
    return cables


def _ports_and_nics(
    config: SimulatorConfig, devices: tuple[Device, ...], cables: dict[str, list[_Cable]]
) -> tuple[tuple[SwitchPort, ...], tuple[Nic, ...]]:
    flat = [(cable, number) for rows in cables.values() for number, cable in enumerate(rows, 1)]
    where = {(c.device, c.peer, c.rail): i for i, (c, _) in enumerate(flat)}
    spines = {d.name for d in devices if d.role is Role.SPINE}
    names = [f"Ethernet{n}/1" if c.device in spines else f"Ethernet{4 * (n - 1)}" for c, n in flat]
    nics: list[Nic] = []
    nic_at: dict[tuple[str, int], int] = {}
    plugged = {(c.peer, c.rail): i for i, (c, _) in enumerate(flat) if c.rail >= 0}
    for device in devices:
        rails = {Role.HOST: config.gpus_per_host, Role.STORAGE: 2}.get(device.role, 0)
        for rail in range(rails):
            nic_at[device.name, rail] = len(nics)
            serial = _digest(config, f"serial/{device.name}/{rail}")[:10].upper()
            speed = config.nic_gbps * 1e9
            nics.append(
                Nic(device.name, f"mlx5_{rail}", f"eth{rail}", rail, speed, plugged[device.name, rail], f"MT{serial}")
            )
    ports = []
    for i, (cable, number) in enumerate(flat):
        nic = nic_at[cable.peer, cable.rail] if cable.rail >= 0 else -1
        peer = -1 if nic >= 0 else where[cable.peer, cable.device, -1]
        peer_name = nics[nic].name if nic >= 0 else names[peer]
        ports.append(
            SwitchPort(cable.device, names[i], number, cable.bits_per_second, nic, peer, cable.peer, peer_name)
        )
    return tuple(ports), tuple(nics)


def _gpus(config: SimulatorConfig, hosts: list[str], nics: tuple[Nic, ...]) -> tuple[GpuUnit, ...]:
    nic_at = {(n.device, n.rail): i for i, n in enumerate(nics)}
    gpus = []
    for host in hosts:
        for index in range(config.gpus_per_host):
            d = _digest(config, f"gpu/{host}/{index}")
            uuid = f"GPU-{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:32]}"
            gpus.append(GpuUnit(host, index, uuid, f"00000000:{0x18 + 0x11 * index:02X}:00.0", nic_at[host, index]))
    return tuple(gpus)


def _targets(config: SimulatorConfig, servers: list[str]) -> tuple[Target, ...]:
    rows = [(server, k) for server in servers for k in range(config.targets_per_server)]
    return tuple(Target(f"OST{n:04x}", server, f"{config.filesystem}-OST{n:04x}") for n, (server, _) in enumerate(rows))


def _endpoints(devices: tuple[Device, ...]) -> tuple[Endpoint, ...]:
    def address(net: int, k: int) -> str:
        return f"127.{net}.{k >> 8}.{k & 255}"

    switches = [d.name for d in devices if _is_switch(d)]
    hosts = [d.name for d in devices if d.role is Role.HOST]
    servers = [d.name for d in devices if d.role is Role.STORAGE]
    return (
        *(Endpoint(Exporter.GNMI, name, address(2, k), 50051) for k, name in enumerate(switches, 1)),
        *(Endpoint(Exporter.DCGM, name, address(1, k), 9400) for k, name in enumerate(hosts, 1)),
        *(Endpoint(Exporter.NODE, name, address(1, k), 9100) for k, name in enumerate(hosts, 1)),
        *(Endpoint(Exporter.LUSTRE, name, address(3, k), 32221) for k, name in enumerate(servers, 1)),
        Endpoint(Exporter.SLURM, "", "127.4.0.1", 6820),
    )


def _links(ports: tuple[SwitchPort, ...]) -> tuple[Link, ...]:
    links = []
    for i, p in enumerate(ports):
        if p.nic < 0 and p.peer_port < i:
            continue  # the other end has listed it
        ends = sorted([(p.device, p.name), (p.peer_device, p.peer_name)], key="/".join)
        links.append(Link(*ends[0], *ends[1], bits_per_second=p.bits_per_second))
    return tuple(links)


def _ranges(names: list[str]) -> dict[str, range]:
    """Positions of each name in a list in which equal names are adjacent."""
    found: dict[str, range] = {}
    for i, name in enumerate(names):
        found[name] = range(found[name].start if name in found else i, i + 1)
    return found


def _digest(config: SimulatorConfig, text: str) -> str:
    return hashlib.blake2b(f"{config.seed}/{text}".encode(), digest_size=16).hexdigest()
