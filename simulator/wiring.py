"""Builds the layout of a configuration: devices, ports, NICs, GPUs, storage targets and addresses."""

import hashlib
from dataclasses import replace

from simulator.config import SimulatorConfig
from simulator.fabric.parameters import ASIC
from simulator.layout import Endpoint, Exporter, Flavour, GpuUnit, Layout, Nic, SwitchPort, Target
from simulator.shapes.cables import Cable, build_cables
from simulator.shapes.shape import Shape
from simulator.shapes.switches import STORAGE_POD, STORAGE_RAILS, build_switches
from telemetry.topology import Device, Link, Role

_FLAVOURS = {Role.LEAF: Flavour.SONIC, Role.SPINE: Flavour.OPENCONFIG}


def build_layout(config: SimulatorConfig) -> Layout:
    """The layout of ``config``; a function of it alone."""
    devices = _devices(config)
    cables = build_cables(config, devices)
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
        shape=config.shape,
    )


def _is_switch(device: Device) -> bool:
    return device.role in (Role.LEAF, Role.SPINE)


def _devices(config: SimulatorConfig) -> tuple[Device, ...]:
    hosts = [
        Device(f"node{k + 1}", Role.HOST, f"pod{k // config.pod_hosts + 1}", f"r{k // config.hosts_per_rack + 1}")
        for k in range(config.hosts)
    ]
    servers = [Device(f"oss{k + 1}", Role.STORAGE, STORAGE_POD, "sto1") for k in range(config.server_count)]
    asic = "" if config.shape is Shape.INFINIBAND else ASIC
    switches = (replace(switch, asic=asic) for switch in build_switches(config))
    return (*switches, *hosts, *servers)


def _ports_and_nics(
    config: SimulatorConfig, devices: tuple[Device, ...], cables: dict[str, list[Cable]]
) -> tuple[tuple[SwitchPort, ...], tuple[Nic, ...]]:
    flat = [(cable, number) for rows in cables.values() for number, cable in enumerate(rows, 1)]
    where = {(c.device, c.peer, c.rail): i for i, (c, _) in enumerate(flat)}
    spines = {d.name for d in devices if d.role is Role.SPINE}
    names = [f"Ethernet{n}/1" if c.device in spines else f"Ethernet{4 * (n - 1)}" for c, n in flat]
    nics: list[Nic] = []
    nic_at: dict[tuple[str, int], int] = {}
    plugged = {(c.peer, c.rail): i for i, (c, _) in enumerate(flat) if c.rail >= 0}
    for device in devices:
        rails = {Role.HOST: config.nics_per_host, Role.STORAGE: STORAGE_RAILS}.get(device.role, 0)
        for rail in range(rails):
            nic_at[device.name, rail] = len(nics)
            serial = _digest(config, f"serial/{device.name}/{rail}")[:10].upper()
            speed = config.nic_gbps * 1e9
            nics.append(Nic(device.name, f"mlx5_{rail}", rail, speed, plugged[device.name, rail], f"MT{serial}"))
    ports = []
    for i, (cable, number) in enumerate(flat):
        nic = nic_at[cable.peer, cable.rail] if cable.rail >= 0 else -1
        peer = -1 if nic >= 0 else where[cable.peer, cable.device, -1]
        peer_name = nics[nic].name if nic >= 0 else names[peer]
        ports.append(
            SwitchPort(
                device=cable.device,
                name=names[i],
                number=number,
                bits_per_second=cable.bits_per_second,
                nic=nic,
                peer_port=peer,
                peer_device=cable.peer,
                peer_name=peer_name,
            )
        )
    return tuple(ports), tuple(nics)


def _gpus(config: SimulatorConfig, hosts: list[str], nics: tuple[Nic, ...]) -> tuple[GpuUnit, ...]:
    nic_at = {(n.device, n.rail): i for i, n in enumerate(nics)}
    gpus = []
    for host in hosts:
        for index in range(config.gpus_per_host):
            d = _digest(config, f"gpu/{host}/{index}")
            uuid = f"GPU-{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:32]}"
            nic = nic_at[host, index % config.nics_per_host]
            gpus.append(GpuUnit(host, index, uuid, f"00000000:{0x18 + 0x11 * index:02X}:00.0", nic))
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
