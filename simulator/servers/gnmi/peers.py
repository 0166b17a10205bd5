"""LLDP neighbours of ports, which both flavours report."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from simulator.counters.readings import Readings
from simulator.layout import Layout

Text = Callable[[Layout, int], str]
"""A fixed text about the port at a position of the layout."""

Known = Callable[[Readings, NDArray[np.int64]], NDArray[np.bool_]]
"""Which entries of these ports exist now."""

LLDP_HOLD_NS = 120 * NS_PER_S
"""An LLDP neighbour expires this long after its last message (IEEE 802.1AB: time to live of 4 x 30 s)."""


def neighbour_known(readings: Readings, ports: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[n]: which of ``ports`` have an LLDP neighbour: those that are up, or went down less than the TTL ago."""
    up = readings.ports.up[ports]
    recent: NDArray[np.bool_] = readings.now_ns - readings.ports.last_change_ns[ports] < LLDP_HOLD_NS
    return up | recent


def chassis_id(device: int) -> str:
    """The MAC address of a device by its position: locally administered, unique in the cluster."""
    return "02:00:00:" + ":".join(f"{device >> shift & 255:02x}" for shift in (16, 8, 0))
