"""The OpenConfig leaves of a spine, with Arista's PFC paths: which path reads which counter.

Leaves that EOS does not support (queue ``ecn-marked-octets``, ``max-queue-len``) are not here.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from simulator.counters.port_values import PORT, OfPort, lane_values, priority_values, scaled
from simulator.counters.readings import LANES, PortReadings
from simulator.layout import LOSSLESS, PRIORITIES, peer_address
from simulator.servers.gnmi.modules import VENDOR, made_on, part, serial
from simulator.servers.gnmi.paths import Elems, parse_elems
from simulator.servers.gnmi.peers import Known, Text, chassis_id, neighbour_known


class Form(StrEnum):
    """How a leaf is written. COUNTER and UINT are ``uint_val``; counters are what TARGET_DEFINED samples."""

    COUNTER = "counter"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"


@dataclass(frozen=True, slots=True)
class Container:
    """What one message is about: a list entry that exists for every port.

    key: the entry's key, by default the port's name.
    between_switches: whether only ports towards other switches have it.
    known: which entries exist now; None means all, always.
    """

    prefix: Elems
    key: Text = lambda layout, port: layout.ports[port].name
    between_switches: bool = False
    known: Known | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of every port: path below its container, form, and where the value comes from.

    enum: texts of the values 0, 1, … of a string leaf. text: its value when that never changes.
    """

    container: Container
    path: Elems
    form: Form
    of: OfPort
    enum: tuple[str, ...] = ()
    text: Text | None = None


INTERFACE = Container(parse_elems("interfaces/interface[name={port}]"))
QOS = Container(parse_elems("qos/interfaces/interface[interface-id={port}]"))
COMPONENT = Container(parse_elems("components/component[name={port}]"))
NEIGHBOR = Container(
    parse_elems("lldp/interfaces/interface[name={port}]/neighbors/neighbor[id=1]"), known=neighbour_known
)
BGP = Container(
    parse_elems(
        "network-instances/network-instance[name=default]/protocols/protocol[identifier=BGP][name=BGP]"
        "/bgp/neighbors/neighbor[neighbor-address={port}]"
    ),
    key=peer_address,
    between_switches=True,
)

_SPEEDS = {10: 0, 25: 1, 40: 2, 50: 3, 100: 4, 200: 5, 400: 6, 800: 7, 1600: 8}
_SPEED_NAMES = (*(f"SPEED_{gigabits}GB" for gigabits in _SPEEDS), "SPEED_UNKNOWN")


def _speed_index(ports: PortReadings) -> NDArray[np.int64]:
    gigabits = np.rint(ports.speed / 1e9).astype(np.int64)
    known = np.array(list(_SPEEDS))
    found = np.searchsorted(known, gigabits)
    exact = known[np.minimum(found, known.size - 1)] == gigabits
    return np.where(exact, found, len(known))


def _leaf(container: Container, path: str, form: Form, of: OfPort, enum: tuple[str, ...] = ()) -> Leaf:
    return Leaf(container, parse_elems(path), form, of, enum)


def _counters(container: Container, prefix: str, leaves: dict[str, str], values: dict[str, OfPort]) -> list[Leaf]:
    """leaves: path below the prefix: name of the value."""
    return [_leaf(container, f"{prefix}/{path}", Form.COUNTER, values[name]) for path, name in leaves.items()]


def _text(container: Container, path: str, text: Text) -> Leaf:
    return Leaf(container, parse_elems(path), Form.STRING, PORT["up"], text=text)


_INTERFACE = {
    "in-octets": "rx_bytes",
    "out-octets": "tx_bytes",
    "in-pkts": "rx_packets",
    "out-pkts": "tx_packets",
    "in-unicast-pkts": "rx_packets",
    "out-unicast-pkts": "tx_packets",
    "in-errors": "rx_errors",
    "out-errors": "tx_errors",
    "in-discards": "rx_discards",
    "out-discards": "tx_discards",
    "in-fcs-errors": "fcs_errors",
    "carrier-transitions": "flaps",
}
_ETHERNET = {
    "in-crc-errors": "fcs_errors",
    "in-symbol-error": "fec_symbol_errors",
    "fec-corrected-blocks": "fec_corrected",
    "fec-uncorrectable-blocks": "fec_uncorrectable",
}
_PFC = {"in-frames": "rx_pause_frames", "out-frames": "tx_pause_frames", "rx-transitions": "rx_pause_transitions"}
_QUEUE = {
    "transmit-pkts": "queue_packets",
    "transmit-octets": "queue_bytes",
    "dropped-pkts": "queue_dropped_packets",
    "dropped-octets": "queue_dropped_bytes",
    "ecn-marked-pkts": "queue_ecn_packets",
}


def _states() -> list[Leaf]:
    return [
        _leaf(INTERFACE, "state/admin-status", Form.STRING, lambda p: np.ones(p.up.size, np.int64), ("DOWN", "UP")),
        _leaf(INTERFACE, "state/oper-status", Form.STRING, PORT["up"], ("DOWN", "UP")),
        _leaf(INTERFACE, "state/last-change", Form.UINT, lambda p: p.last_change_ns),
        _leaf(INTERFACE, "ethernet/state/port-speed", Form.STRING, _speed_index, _SPEED_NAMES),
        _leaf(INTERFACE, "ethernet/state/negotiated-port-speed", Form.STRING, _speed_index, _SPEED_NAMES),
        _leaf(INTERFACE, "ethernet/state/pre-fec-ber/instant", Form.DOUBLE, PORT["pre_fec_ber"]),
        _leaf(INTERFACE, "ethernet/state/post-fec-ber/instant", Form.DOUBLE, PORT["post_fec_ber"]),
    ]


def _pfc(priority: int) -> list[Leaf]:
    at, values = f"ethernet/pfc/priorities/priority[index={priority}]/state", priority_values(priority)
    pause_ns = scaled(values["rx_pause_us"], 1e3)
    return [
        *_counters(INTERFACE, at, _PFC, values),
        _leaf(INTERFACE, f"{at}/pfc-on-total-rx-time", Form.COUNTER, pause_ns),
    ]


def _lossless_buffer() -> Leaf:
    path = f"ethernet/pfc/priorities/priority[index={LOSSLESS}]/state/all-buffers-octets-max-last-poll"
    return _leaf(INTERFACE, path, Form.UINT, priority_values(LOSSLESS)["queue_peak"])


def _lane(lane: int) -> list[Leaf]:
    at, values = f"transceiver/physical-channels/channel[index={lane}]/state", lane_values(lane)
    return [
        _leaf(COMPONENT, f"{at}/input-power/instant", Form.DOUBLE, values["rx_power"]),
        _leaf(COMPONENT, f"{at}/output-power/instant", Form.DOUBLE, values["tx_power"]),
        _leaf(COMPONENT, f"{at}/laser-bias-current/instant", Form.DOUBLE, scaled(values["bias"], 1e3)),
    ]


def _module() -> list[Leaf]:
    temperature = "transceiver/physical-channels/channel[index=0]/state/laser-temperature/instant"
    return [
        _leaf(COMPONENT, temperature, Form.DOUBLE, PORT["module_celsius"]),
        _leaf(COMPONENT, "transceiver/state/supply-voltage/instant", Form.DOUBLE, PORT["module_volts"]),
        _text(INTERFACE, "state/transceiver", lambda layout, port: layout.ports[port].name),
        _text(COMPONENT, "transceiver/state/vendor", lambda layout, port: VENDOR),
        _text(COMPONENT, "transceiver/state/vendor-part", part),
        _text(COMPONENT, "transceiver/state/serial-no", serial),
        _text(COMPONENT, "transceiver/state/date-code", lambda layout, port: f"{made_on(layout, port)}T00:00:00Z"),
    ]


def _neighbours() -> list[Leaf]:
    return [
        _text(NEIGHBOR, "state/system-name", lambda layout, port: layout.ports[port].peer_device),
        _text(NEIGHBOR, "state/port-id", lambda layout, port: layout.ports[port].peer_name),
        _text(NEIGHBOR, "state/port-id-type", lambda layout, port: "INTERFACE_NAME"),
        _text(
            NEIGHBOR,
            "state/chassis-id",
            lambda layout, port: chassis_id(layout.device_index[layout.ports[port].peer_device]),
        ),
        _text(NEIGHBOR, "state/chassis-id-type", lambda layout, port: "MAC_ADDRESS"),
        _leaf(BGP, "state/session-state", Form.STRING, PORT["session_up"], ("IDLE", "ESTABLISHED")),
    ]


LEAVES: tuple[Leaf, ...] = (
    *_states(),
    *_neighbours(),
    *_counters(INTERFACE, "state/counters", _INTERFACE, PORT),
    *_counters(INTERFACE, "ethernet/state/counters", _ETHERNET, PORT),
    *(leaf for priority in range(PRIORITIES) for leaf in _pfc(priority)),
    _lossless_buffer(),
    *(
        leaf
        for queue in range(PRIORITIES)
        for leaf in _counters(QOS, f"output/queues/queue[name={queue}]/state", _QUEUE, priority_values(queue))
    ),
    *(leaf for lane in range(LANES) for leaf in _lane(lane)),
    *_module(),
)
