"""The cables of a shape."""

from collections import defaultdict
from dataclasses import dataclass

from simulator.config import SimulatorConfig
from simulator.shapes.shape import Shape
from simulator.shapes.switches import STORAGE_POD, STORAGE_RAILS
from telemetry.topology import Device, Role


@dataclass(frozen=True, slots=True)
class Cable:
    """A switch port and what is at its other end: a NIC (rail >= 0) or a switch."""

    device: str
    peer: str
    bits_per_second: float
    rail: int = -1


def build_cables(config: SimulatorConfig, devices: tuple[Device, ...]) -> dict[str, list[Cable]]:
    """By switch, in port order: leaves have their hosts first, then what is above; so has every tier."""
    leaves, spines = ([d for d in devices if d.role is role] for role in (Role.LEAF, Role.SPINE))
    cables = _to_hosts(config, devices, leaves)
    if config.shape is Shape.RAIL_ONLY:
        return cables
    cores = [d for d in spines if not d.pod]
    if config.shape is not Shape.THREE_TIER:
        _connect(cables, leaves, cores, config.uplink_bits_per_second)
        return cables
    pods: dict[str, tuple[list[Device], list[Device]]] = defaultdict(lambda: ([], []))
    for device in (*leaves, *spines):
        if device.pod:
            pods[device.pod][device.role is Role.SPINE].append(device)
    for below, above in pods.values():
        _connect(cables, below, above, config.uplink_bits_per_second)
    for _, above in pods.values():
        for slot, switch in enumerate(above):
            group = cores[slot * config.leaves_per_pod : (slot + 1) * config.leaves_per_pod]
            _connect(cables, [switch], group, config.core_bits_per_second)
    return {switch.name: cables[switch.name] for switch in (*leaves, *spines)}


def _connect(cables: dict[str, list[Cable]], below: list[Device], above: list[Device], speed: float) -> None:
    """A link between each of ``below`` and each of ``above``."""
    for low in below:
        cables.setdefault(low.name, []).extend(Cable(low.name, high.name, speed) for high in above)
    for high in above:
        cables.setdefault(high.name, []).extend(Cable(high.name, low.name, speed) for low in below)


def _to_hosts(config: SimulatorConfig, devices: tuple[Device, ...], leaves: list[Device]) -> dict[str, list[Cable]]:
    speed = config.nic_gbps * 1e9
    hosts: dict[str, list[Device]] = defaultdict(list)
    for device in devices:
        if device.role is Role.HOST:
            hosts[device.pod].append(device)
    servers = [d for d in devices if d.role is Role.STORAGE]
    cables: dict[str, list[Cable]] = {}
    for number, leaf in enumerate(leaves):
        rails = [int(rail) for rail in leaf.rail.split("+") if rail]
        down = [Cable(leaf.name, host.name, speed, rail) for host in hosts[leaf.pod] for rail in rails]
        if leaf.pod == STORAGE_POD:
            slot = number - len(leaves) + STORAGE_RAILS
            down = [Cable(leaf.name, server.name, speed, slot) for server in servers]
        elif config.shape is Shape.RAIL_ONLY:
            slots = [slot for slot in range(STORAGE_RAILS) if slot % len(leaves) == number]
            down += [Cable(leaf.name, server.name, speed, slot) for server in servers for slot in slots]
        cables[leaf.name] = down
    return cables
