"""The databases of a SONiC switch as its gNMI server shows them: which field reads which counter.

Counters that the model does not have (packet size histograms, IPv6 …) are left out: a zero would be a wrong value.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.counters.readings import LANES, POST_FEC, PRE_FEC, RX, TX, PortReadings, Readings
from simulator.layout import LOSSLESS, PRIORITIES, Layout
from simulator.servers.gnmi.peers import chassis_id, neighbour_known, peer_address

Of = Callable[[PortReadings], NDArray[np.generic]]
"""Values of a field for all ports of the cluster."""

Text = Callable[[Layout, int], str]
"""A fixed text about the port at a position of the layout."""


def port_name(layout: Layout, port: int) -> str:
    return layout.ports[port].name


def alias(layout: Layout, port: int) -> str:
    """The vendor's name of a port, as the front panel shows it."""
    return f"etp{layout.ports[port].number}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of a row: ``of`` formatted by ``spec``, or one of ``enum`` by that value, or a fixed ``text``."""

    name: str
    spec: str = "%d"
    of: Of | None = None
    enum: tuple[str, ...] = ()
    text: Text | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one shape, one a port. key: the row's key, ``{key}`` in ``pattern`` ("{key}:3", "{key}:3:periodic")."""

    cells: tuple[Cell, ...]
    pattern: str = "{key}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or a virtual path below a port of COUNTERS_DB (``below`` = "Queues" …).

    counts: whether it holds counters. key, between_switches, known: as for an OpenConfig container.
    """

    database: str
    name: str
    rows: tuple[Rows, ...]
    below: str = ""
    counts: bool = False
    key: Text = port_name
    between_switches: bool = False
    known: Callable[[Readings, NDArray[np.int64]], NDArray[np.bool_]] | None = None


def _counters(prefix: str, rows: dict[str, Of]) -> tuple[Cell, ...]:
    return tuple(Cell(prefix + name, of=of) for name, of in rows.items())


def _pfc(priority: int) -> dict[str, Of]:
    cells: dict[str, Of] = {
        f"PFC_{priority}_RX_PKTS": lambda p: p.pause_frames[:, priority, RX],
        f"PFC_{priority}_TX_PKTS": lambda p: p.pause_frames[:, priority, TX],
    }
    if priority == LOSSLESS:  # pause time is polled where the PFC watchdog runs
        cells[f"PFC_{priority}_RX_PAUSE_DURATION_US"] = lambda p: p.pause_us[:, priority, RX]
        cells[f"PFC_{priority}_ON2OFF_RX_PKTS"] = lambda p: p.pause_transitions[:, priority, RX]
    return cells


_PORT: dict[str, Of] = {
    "IF_IN_OCTETS": lambda p: p.bytes[:, RX],
    "IF_OUT_OCTETS": lambda p: p.bytes[:, TX],
    "IF_IN_UCAST_PKTS": lambda p: p.packets[:, RX],
    "IF_OUT_UCAST_PKTS": lambda p: p.packets[:, TX],
    "IF_IN_ERRORS": lambda p: p.errors[:, RX],
    "IF_OUT_ERRORS": lambda p: p.errors[:, TX],
    "IF_IN_DISCARDS": lambda p: p.discards[:, RX],
    "IF_OUT_DISCARDS": lambda p: p.discards[:, TX],
    "ETHER_STATS_CRC_ALIGN_ERRORS": lambda p: p.fcs_errors,
    "IF_IN_FEC_CORRECTABLE_FRAMES": lambda p: p.fec_corrected,
    "IF_IN_FEC_NOT_CORRECTABLE_FRAMES": lambda p: p.fec_uncorrectable,
    "IF_IN_FEC_CORRECTED_BITS": lambda p: p.fec_corrected_bits,
    "IF_IN_FEC_SYMBOL_ERRORS": lambda p: p.fec_symbol_errors,
}


def _port_cells() -> tuple[Cell, ...]:
    rows = dict(_PORT)
    for priority in range(PRIORITIES):
        rows |= _pfc(priority)
    return _counters("SAI_PORT_STAT_", rows)


def _queue_cells(queue: int) -> tuple[Cell, ...]:
    rows: dict[str, Of] = {
        "BYTES": lambda p: p.queue_bytes[:, queue],
        "PACKETS": lambda p: p.queue_packets[:, queue],
        "DROPPED_BYTES": lambda p: p.queue_dropped_bytes[:, queue],
        "DROPPED_PACKETS": lambda p: p.queue_dropped_packets[:, queue],
        "WRED_ECN_MARKED_BYTES": lambda p: p.queue_ecn_bytes[:, queue],
        "WRED_ECN_MARKED_PACKETS": lambda p: p.queue_ecn_packets[:, queue],
    }
    if queue == LOSSLESS:
        rows["CURR_OCCUPANCY_BYTES"] = lambda p: p.queue_occupancy[:, queue]
    return _counters("SAI_QUEUE_STAT_", rows)


def _queue_peak(queue: int) -> tuple[Cell, ...]:
    return (Cell("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", of=lambda p: p.queue_peak[:, queue]),)


def _group_peaks(group: int) -> tuple[Cell, ...]:
    name = "SAI_INGRESS_PRIORITY_GROUP_STAT_"
    return (
        Cell(f"{name}SHARED_WATERMARK_BYTES", of=lambda p: p.pg_occupancy_peak[:, group]),
        Cell(f"{name}XOFF_ROOM_WATERMARK_BYTES", of=lambda p: p.pg_headroom_peak[:, group]),
    )


def _group_drops(group: int) -> tuple[Cell, ...]:
    name = "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"
    return (Cell(name, of=lambda p: p.pg_dropped_packets[:, group]),)


def _by_index(cells: Callable[[int], tuple[Cell, ...]], suffix: str = "") -> tuple[Rows, ...]:
    return tuple(Rows(cells(i), f"{{key}}:{i}{suffix}") for i in range(PRIORITIES))


def _speed_mbps(ports: PortReadings) -> NDArray[np.generic]:
    return ports.speed / 1e6


_OPER = ("down", "up")
_PORT_TABLE = (
    Cell("admin_status", text=lambda layout, port: "up"),
    Cell("alias", text=alias),
    Cell("flap_count", of=lambda p: p.flaps),
    Cell("index", text=lambda layout, port: str(layout.ports[port].number)),
    Cell("mtu", text=lambda layout, port: "9100"),
    Cell("oper_status", of=lambda p: p.up, enum=_OPER),
    Cell("speed", of=_speed_mbps),
)
_LLDP = (
    Cell("lldp_rem_chassis_id", text=lambda layout, port: chassis_id(_peer(layout, port))),
    Cell("lldp_rem_chassis_id_subtype", text=lambda layout, port: "4"),
    Cell("lldp_rem_port_desc", text=lambda layout, port: layout.ports[port].peer_name),
    Cell("lldp_rem_port_id", text=lambda layout, port: layout.ports[port].peer_name),
    Cell("lldp_rem_port_id_subtype", text=lambda layout, port: "5"),
    Cell("lldp_rem_sys_name", text=lambda layout, port: layout.ports[port].peer_device),
)


def _peer(layout: Layout, port: int) -> int:
    return layout.device_index[layout.ports[port].peer_device]


def _dom() -> tuple[Cell, ...]:
    cells = [Cell("temperature", "%.4f", lambda p: p.module_celsius), Cell("voltage", "%.4f", lambda p: p.module_volts)]
    for lane in range(LANES):
        cells += _dom_lane(lane)
    return tuple(cells)


def _dom_lane(lane: int) -> list[Cell]:
    number = lane + 1
    return [
        Cell(f"rx{number}power", "%.4f", lambda p: p.rx_power_dbm[:, lane]),
        Cell(f"tx{number}bias", "%.4f", lambda p: p.bias_amperes[:, lane] * 1e3),
        Cell(f"tx{number}power", "%.4f", lambda p: p.tx_power_dbm[:, lane]),
    ]


_RATES = (
    Cell("FEC_PRE_BER", "%.6g", lambda p: p.ber[:, PRE_FEC]),
    Cell("FEC_POST_BER", "%.6g", lambda p: p.ber[:, POST_FEC]),
)
_WATCHDOG = (Cell("SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", of=lambda p: p.queue_occupancy[:, LOSSLESS]),)
_BGP = (
    Cell("peerType", text=lambda layout, port: "e-BGP"),
    Cell("state", of=lambda p: p.up, enum=("Idle", "Established")),
)

TABLES: tuple[Table, ...] = (
    Table("COUNTERS_DB", "COUNTERS", (Rows(_port_cells()),), counts=True),
    Table("COUNTERS_DB", "COUNTERS", _by_index(_queue_cells) + _by_index(_queue_peak, ":periodic"), "Queues", True),
    Table("COUNTERS_DB", "COUNTERS", (Rows(_WATCHDOG, f"{{key}}:{LOSSLESS}"),), "Pfcwd", True),
    Table("COUNTERS_DB", "COUNTERS", _by_index(_group_drops), "PriorityGroups", True),
    Table("COUNTERS_DB", "PERIODIC_WATERMARKS", _by_index(_queue_peak), "Queues", True),
    Table("COUNTERS_DB", "PERIODIC_WATERMARKS", _by_index(_group_peaks), "PriorityGroups", True),
    Table("COUNTERS_DB", "RATES", (Rows(_RATES),), counts=True),
    Table("APPL_DB", "PORT_TABLE", (Rows(_PORT_TABLE),)),
    Table("APPL_DB", "LLDP_ENTRY_TABLE", (Rows(_LLDP),), known=neighbour_known),
    Table(
        "STATE_DB",
        "PORT_TABLE",
        (Rows((Cell("netdev_oper_status", of=lambda p: p.up, enum=_OPER), Cell("speed", of=_speed_mbps))),),
    ),
    Table("STATE_DB", "NEIGH_STATE_TABLE", (Rows(_BGP),), key=peer_address, between_switches=True),
    Table("STATE_DB", "TRANSCEIVER_DOM_SENSOR", (Rows(_dom()),), counts=True),
)
