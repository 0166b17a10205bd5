"""The databases of a SONiC switch as its gNMI server shows them: which field reads which counter.

Counters that the model does not have (packet size histograms, IPv6 …) are left out: a zero would be a wrong value.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.counters.port_values import PORT, OfPort, lane_values, priority_values, scaled
from simulator.counters.readings import LANES, PortReadings
from simulator.layout import LOSSLESS, PRIORITIES, Layout, peer_address
from simulator.servers.gnmi.modules import VENDOR, made_on, part, serial
from simulator.servers.gnmi.peers import Known, Text, chassis_id, neighbour_known


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
    of: OfPort | None = None
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
    known: Known | None = None


def _counters(prefix: str, fields: dict[str, str], values: dict[str, OfPort]) -> tuple[Cell, ...]:
    """fields: SAI's name without the prefix: name of the value."""
    return tuple(Cell(prefix + field, of=values[name]) for field, name in fields.items())


_PORT = {
    "IF_IN_OCTETS": "rx_bytes",
    "IF_OUT_OCTETS": "tx_bytes",
    "IF_IN_UCAST_PKTS": "rx_packets",
    "IF_OUT_UCAST_PKTS": "tx_packets",
    "IF_IN_ERRORS": "rx_errors",
    "IF_OUT_ERRORS": "tx_errors",
    "IF_IN_DISCARDS": "rx_discards",
    "IF_OUT_DISCARDS": "tx_discards",
    "ETHER_STATS_CRC_ALIGN_ERRORS": "fcs_errors",
    "IF_IN_FEC_CORRECTABLE_FRAMES": "fec_corrected",
    "IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "fec_uncorrectable",
    "IF_IN_FEC_CORRECTED_BITS": "fec_corrected_bits",
    "IF_IN_FEC_SYMBOL_ERRORS": "fec_symbol_errors",
}
_SAI_QUEUE, _SAI_GROUP = "SAI_QUEUE_STAT_", "SAI_INGRESS_PRIORITY_GROUP_STAT_"
_PFC = {"RX_PKTS": "rx_pause_frames", "TX_PKTS": "tx_pause_frames"}
_PFC_TIME = {"RX_PAUSE_DURATION_US": "rx_pause_us", "ON2OFF_RX_PKTS": "rx_pause_transitions"}
_QUEUE = {
    "BYTES": "queue_bytes",
    "PACKETS": "queue_packets",
    "DROPPED_BYTES": "queue_dropped_bytes",
    "DROPPED_PACKETS": "queue_dropped_packets",
    "WRED_ECN_MARKED_BYTES": "queue_ecn_bytes",
    "WRED_ECN_MARKED_PACKETS": "queue_ecn_packets",
}
_OCCUPANCY = {"CURR_OCCUPANCY_BYTES": "queue_occupancy"}
_QUEUE_PEAK = {"SHARED_WATERMARK_BYTES": "queue_peak"}
_GROUP_PEAKS = {"SHARED_WATERMARK_BYTES": "pg_occupancy_peak", "XOFF_ROOM_WATERMARK_BYTES": "pg_headroom_peak"}
_GROUP_DROPS = {"DROPPED_PACKETS": "pg_dropped_packets"}


def _port_cells() -> tuple[Cell, ...]:
    cells = _counters("SAI_PORT_STAT_", _PORT, PORT)
    for k in range(PRIORITIES):
        fields = _PFC | (_PFC_TIME if k == LOSSLESS else {})  # pause time is polled where the PFC watchdog runs
        cells += _counters(f"SAI_PORT_STAT_PFC_{k}_", fields, priority_values(k))
    return cells


def _queues() -> tuple[Rows, ...]:
    def fields(k: int) -> dict[str, str]:
        return _QUEUE | (_OCCUPANCY if k == LOSSLESS else {})

    return tuple(Rows(_counters(_SAI_QUEUE, fields(k), priority_values(k)), f"{{key}}:{k}") for k in range(PRIORITIES))


def _by_index(prefix: str, fields: dict[str, str], suffix: str = "") -> tuple[Rows, ...]:
    """Rows of every queue, or priority group, of a port."""
    return tuple(Rows(_counters(prefix, fields, priority_values(k)), f"{{key}}:{k}{suffix}") for k in range(PRIORITIES))


def _speed_mbps(ports: PortReadings) -> NDArray[np.generic]:
    return ports.speed / 1e6


_OPER = ("down", "up")
_PORT_TABLE = (
    Cell("admin_status", text=lambda layout, port: "up"),
    Cell("alias", text=alias),
    Cell("flap_count", of=PORT["flaps"]),
    Cell("index", text=lambda layout, port: str(layout.ports[port].number)),
    Cell("mtu", text=lambda layout, port: "9100"),
    Cell("oper_status", of=PORT["up"], enum=_OPER),
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
    """Sensors of the transceiver; bias in mA."""
    cells = [Cell("temperature", "%.4f", PORT["module_celsius"]), Cell("voltage", "%.4f", PORT["module_volts"])]
    for lane in range(LANES):
        number, values = lane + 1, lane_values(lane)
        cells += [
            Cell(f"rx{number}power", "%.4f", values["rx_power"]),
            Cell(f"tx{number}bias", "%.4f", scaled(values["bias"], 1e3)),
            Cell(f"tx{number}power", "%.4f", values["tx_power"]),
        ]
    return tuple(cells)


def _padded(text: Text) -> Text:
    """The fields of a module's memory have 16 characters, and vendors pad them with blanks."""
    return lambda layout, port: text(layout, port).ljust(16)


_MODULE = (
    Cell("manufacturer", text=_padded(lambda layout, port: VENDOR)),
    Cell("model", text=_padded(part)),
    Cell("serial", text=_padded(serial)),
    # A blank lot behind the day, as most vendors leave it: all of a day are one lot.
    Cell("vendor_date", text=lambda layout, port: f"{made_on(layout, port)} "),
)
_RATES = (Cell("FEC_PRE_BER", "%.6g", PORT["pre_fec_ber"]), Cell("FEC_POST_BER", "%.6g", PORT["post_fec_ber"]))
_WATCHDOG = _counters(_SAI_QUEUE, _OCCUPANCY, priority_values(LOSSLESS))
_BGP = (
    Cell("peerType", text=lambda layout, port: "e-BGP"),
    Cell("state", of=PORT["session_up"], enum=("Idle", "Established")),
)

TABLES: tuple[Table, ...] = (
    Table("COUNTERS_DB", "COUNTERS", (Rows(_port_cells()),), counts=True),
    Table("COUNTERS_DB", "COUNTERS", _queues() + _by_index(_SAI_QUEUE, _QUEUE_PEAK, ":periodic"), "Queues", True),
    Table("COUNTERS_DB", "COUNTERS", (Rows(_WATCHDOG, f"{{key}}:{LOSSLESS}"),), "Pfcwd", True),
    Table("COUNTERS_DB", "COUNTERS", _by_index(_SAI_GROUP, _GROUP_DROPS), "PriorityGroups", True),
    Table("COUNTERS_DB", "PERIODIC_WATERMARKS", _by_index(_SAI_QUEUE, _QUEUE_PEAK), "Queues", True),
    Table("COUNTERS_DB", "PERIODIC_WATERMARKS", _by_index(_SAI_GROUP, _GROUP_PEAKS), "PriorityGroups", True),
    Table("COUNTERS_DB", "RATES", (Rows(_RATES),), counts=True),
    Table("APPL_DB", "PORT_TABLE", (Rows(_PORT_TABLE),)),
    Table("APPL_DB", "LLDP_ENTRY_TABLE", (Rows(_LLDP),), known=neighbour_known),
    Table(
        "STATE_DB",
        "PORT_TABLE",
        (Rows((Cell("netdev_oper_status", of=PORT["up"], enum=_OPER), Cell("speed", of=_speed_mbps))),),
    ),
    Table("STATE_DB", "NEIGH_STATE_TABLE", (Rows(_BGP),), key=peer_address, between_switches=True),
    Table("STATE_DB", "TRANSCEIVER_INFO", (Rows(_MODULE),)),
    Table("STATE_DB", "TRANSCEIVER_DOM_SENSOR", (Rows(_dom()),), counts=True),
)
