"""What the ports of an InfiniBand fabric count, under the canonical names.

Switches and NICs have the same port counters (InfiniBand Architecture Specification 1.4, section 16.1.3, PortCounters).
Classic counters stop at the largest value that their field holds. Nothing counts pauses or marks.
"""

from collections.abc import Callable

import numpy as np

from simulator.counters.canonical import Column
from simulator.counters.port_values import Values
from simulator.counters.readings import RX, TX, NicReadings, PortReadings, Readings
from simulator.layout import LOSSLESS

TICK_US = 0.02  # of PortXmitWait; assumption, since the specification leaves it to the vendor
ACTIVE, DOWN = 4, 1  # PortState
LINK_UP, POLLING = 5, 2  # PortPhysicalState
Ports = PortReadings | NicReadings
OfPorts = Callable[[Ports], Values]


def _stops_at(bits: int, of: OfPorts) -> OfPorts:
    return lambda p: np.minimum(of(p), 2.0**bits - 1.0)


_SAME: dict[str, OfPorts] = {
    "ib_port_receive_bytes_total": lambda p: p.bytes[:, RX],
    "ib_port_transmit_bytes_total": lambda p: p.bytes[:, TX],
    "ib_port_receive_packets_total": lambda p: p.packets[:, RX],
    "ib_port_transmit_packets_total": lambda p: p.packets[:, TX],
    "ib_port_transmit_wait_ticks_total": _stops_at(32, lambda p: p.pause_us[:, LOSSLESS, RX] / TICK_US),
    "ib_port_link_downed_total": _stops_at(8, lambda p: np.ceil(p.flaps / 2.0)),  # half of the changes
    "ib_port_state": lambda p: np.where(p.up, ACTIVE, DOWN),
    "ib_port_physical_state": lambda p: np.where(p.up, LINK_UP, POLLING),
    "ib_port_rate_bits_per_second": lambda p: p.speed,
}


def _of_ports(of: Callable[[PortReadings], Values]) -> Callable[[Readings], Values]:
    return lambda r: of(r.ports)


def _of_nics(of: Callable[[NicReadings], Values]) -> Callable[[Readings], Values]:
    return lambda r: of(r.nics)


PORTS = (
    *(Column(metric, _of_ports(of)) for metric, of in _SAME.items()),
    Column("ib_port_symbol_errors_total", lambda r: np.minimum(r.ports.fec_uncorrectable, 2.0**16 - 1.0)),
    Column("ib_port_receive_errors_total", lambda r: np.minimum(r.ports.fcs_errors, 2.0**16 - 1.0)),
    Column("ib_port_transmit_discards_total", lambda r: np.minimum(r.ports.discards[:, TX], 2.0**16 - 1.0)),
)
NICS = (
    *(Column(metric, _of_nics(of)) for metric, of in _SAME.items()),
    Column("ib_port_receive_errors_total", lambda r: np.minimum(r.nics.errors, 2.0**16 - 1.0)),
    Column("nic_pcie_stalled_ratio", lambda r: r.nics.pcie_stalled_ratio, (("op", "wr"),)),
    Column("rdma_out_of_sequence_total", lambda r: r.nics.out_of_sequence),
    Column("rdma_packet_sequence_errors_total", lambda r: r.nics.sequence_errors),
    Column("rdma_ack_timeouts_total", lambda r: r.nics.ack_timeouts),
)
