"""Forwarding tables: which port leads where, as arrays."""

from typing import NamedTuple

import numpy as np

from simulator.fabric.state import Ints
from simulator.layout import Layout
from telemetry.topology import Role


class Tables(NamedTuple):
    """Ports by where they lead. Positions of ports and NICs are those of the layout.

    ports:   number of switch ports.
    leaf_of, port_of: [N] leaf that serves a NIC, and its port.
    pod_of:  [leaves] pod of a leaf; all the same where no tier connects pods.
    up, down: [leaves, slots] port of a leaf to each switch above it, and of that switch to the leaf.
    slot_of: [cores] position, within its pod, of the switch below a core.
    rise, fall: [pods, cores] port to a core of the switch below it in each pod, and of the core to that switch.
    beside:  [N, leaves] NIC of the same device at a leaf, -1 none; [N, 0] where every leaf is reached.
    """

    ports: int
    leaf_of: Ints
    port_of: Ints
    pod_of: Ints
    up: Ints
    down: Ints
    slot_of: Ints
    rise: Ints
    fall: Ints
    beside: Ints


def build_tables(layout: Layout) -> Tables:
    """The tables of a layout with one, two or three tiers of switches."""
    leaf = {name: i for i, name in enumerate(layout.leaves)}
    leaf_of = np.array([leaf[layout.ports[nic.port].device] for nic in layout.nics], dtype=np.int64)
    pod_of, slot = _pods(layout), _slots(layout)
    up = np.full((len(leaf), max(slot.values(), default=-1) + 1), -1, dtype=np.int64)
    core = {name: i for i, name in enumerate(layout.cores)} if layout.tiers == 3 else {}
    rise = np.full((max(pod_of.values()) + 1, len(core)), -1, dtype=np.int64)
    down, fall, slot_of = up.copy(), rise.copy(), np.zeros(len(core), dtype=np.int64)
    for i, port in enumerate(layout.ports):
        if port.nic >= 0:
            continue
        if port.device in leaf:
            up[leaf[port.device], slot[port.peer_device]] = i
            down[leaf[port.device], slot[port.peer_device]] = port.peer_port
        elif port.peer_device in core:
            at = pod_of[port.device], core[port.peer_device]
            rise[at], fall[at] = i, port.peer_port
            slot_of[at[1]] = slot[port.device]
    return Tables(
        ports=len(layout.ports),
        leaf_of=leaf_of,
        port_of=np.array([nic.port for nic in layout.nics], dtype=np.int64),
        pod_of=np.array([pod_of[name] for name in layout.leaves], dtype=np.int64),
        up=up,
        down=down,
        slot_of=slot_of,
        rise=rise,
        fall=fall,
        beside=find_beside(layout, leaf_of),
    )


def _pods(layout: Layout) -> dict[str, int]:
    """Pod of every leaf and of the switches above it, by name of the switch."""
    numbers: dict[str, int] = {}
    switches = [d for d in layout.devices if d.role in (Role.LEAF, Role.SPINE)]
    if layout.tiers < 3:
        return {d.name: 0 for d in switches}
    return {d.name: numbers.setdefault(d.pod, len(numbers)) for d in switches if d.pod}


def _slots(layout: Layout) -> dict[str, int]:
    """Position of each switch above the leaves among those of its pod."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    for device in layout.devices:
        if device.role is Role.SPINE and (device.pod or layout.tiers == 2):
            found[device.name] = counts.get(device.pod, 0)
            counts[device.pod] = found[device.name] + 1
    return found


def find_beside(layout: Layout, leaf_of: Ints) -> Ints:
    """``Tables.beside`` of NICs at the leaves ``leaf_of``."""
    if layout.tiers > 1:
        return np.empty((len(layout.nics), 0), dtype=np.int64)
    found = np.full((len(layout.nics), len(layout.leaves)), -1, dtype=np.int64)
    for nics in layout.device_nics.values():
        for nic in nics:
            found[nics.start : nics.stop, leaf_of[nic]] = nic
    return found
