"""The module in each port of a switch, which both flavours report: serial, vendor, part number, and when it was made.

All of it follows from the port, so that no other number of a cluster is drawn differently because of it.
"""

import hashlib
from datetime import date, timedelta

from simulator.layout import Layout

VENDOR = "SIMOPTICS"
_LOT = 48  # modules that are made on one day, on average (assumption)
_FIRST = date(2024, 1, 1)
_BETWEEN = timedelta(days=1)


def serial(layout: Layout, port: int) -> str:
    return f"SIM{port:07d}"


def part(layout: Layout, port: int) -> str:
    """``SIM-400G-DR4``: by the speed of the port."""
    return f"SIM-{layout.ports[port].bits_per_second / 1e9:.0f}G-DR4"


def made_on(layout: Layout, port: int) -> date:
    """The day that is its lot: modules of a delivery are mixed, so each is drawn, by its serial."""
    lots = -(-len(layout.ports) // _LOT)
    drawn = int.from_bytes(hashlib.sha256(serial(layout, port).encode()).digest()[:8])
    return _FIRST + drawn % lots * _BETWEEN
