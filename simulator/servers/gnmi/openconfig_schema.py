"""The OpenConfig leaves of a spine, with Arista's PFC paths: which path reads which counter.

Leaves that EOS does not support (queue ``ecn-marked-octets``, ``max-queue-len``) are not here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from simulator.counters.readings import LANES, POST_FEC, PRE_FEC, RX, TX, PortReadings, Readings
from simulator.layout import LOSSLESS, PRIORITIES, Layout
from simulator.servers.gnmi.paths import Elems, parse_elems
from simulator.servers.gnmi.peers import chassis_id, neighbour_known, peer_address


class Form(StrEnum):
    """How a leaf is written. COUNTER and UINT are ``uint_val``; counters are what TARGET_DEFINED samples."""

    COUNTER = "counter"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"


Of = Callable[[PortReadings], NDArray[np.generic]]
"""Values of a leaf for all ports of the cluster."""

Text = Callable[[Layout, int], str]
"""A fixed text about the port at a position of the layout."""


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
    known: Callable[[Readings, NDArray[np.int64]], NDArray[np.bool_]] | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of every port: path below its container, form, and where the value comes from.

    enum: texts of the values 0, 1, … of a string leaf. text: its value when that never changes.
    """

    container: Container
    path: Elems
    form: Form
    of: Of
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


def _leaf(container: Container, path: str, form: Form, of: Of, enum: tuple[str, ...] = ()) -> Leaf:
    return Leaf(container, parse_elems(path), form, of, enum)


def _counter(container: Container, path: str, of: Of) -> Leaf:
    return _leaf(container, path, Form.COUNTER, of)


def _text(path: str, text: Text) -> Leaf:
    return Leaf(NEIGHBOR, parse_elems(path), Form.STRING, lambda p: p.up, text=text)


def _counters() -> list[Leaf]:
    """``state/counters`` and ``ethernet/state/counters``."""
    rows: dict[str, Of] = {
        "in-octets": lambda p: p.bytes[:, RX],
        "out-octets": lambda p: p.bytes[:, TX],
        "in-pkts": lambda p: p.packets[:, RX],
        "out-pkts": lambda p: p.packets[:, TX],
        "in-unicast-pkts": lambda p: p.packets[:, RX],
        "out-unicast-pkts": lambda p: p.packets[:, TX],
        "in-errors": lambda p: p.errors[:, RX],
        "out-errors": lambda p: p.errors[:, TX],
        "in-discards": lambda p: p.discards[:, RX],
        "out-discards": lambda p: p.discards[:, TX],
        "in-fcs-errors": lambda p: p.fcs_errors,
        "carrier-transitions": lambda p: p.flaps,
    }
    ethernet: dict[str, Of] = {
        "in-crc-errors": lambda p: p.fcs_errors,
        "in-symbol-error": lambda p: p.fec_symbol_errors,
        "fec-corrected-blocks": lambda p: p.fec_corrected,
        "fec-uncorrectable-blocks": lambda p: p.fec_uncorrectable,
    }
    below = [("state/counters", rows), ("ethernet/state/counters", ethernet)]
    return [_counter(INTERFACE, f"{where}/{name}", of) for where, group in below for name, of in group.items()]


def _states() -> list[Leaf]:
    return [
        _leaf(INTERFACE, "state/admin-status", Form.STRING, lambda p: np.ones(p.up.size, np.int64), ("DOWN", "UP")),
        _leaf(INTERFACE, "state/oper-status", Form.STRING, lambda p: p.up, ("DOWN", "UP")),
        _leaf(INTERFACE, "state/last-change", Form.UINT, lambda p: p.last_change_ns),
        _leaf(INTERFACE, "ethernet/state/port-speed", Form.STRING, _speed_index, _SPEED_NAMES),
        _leaf(INTERFACE, "ethernet/state/negotiated-port-speed", Form.STRING, _speed_index, _SPEED_NAMES),
        _leaf(INTERFACE, "ethernet/state/pre-fec-ber/instant", Form.DOUBLE, lambda p: p.ber[:, PRE_FEC]),
        _leaf(INTERFACE, "ethernet/state/post-fec-ber/instant", Form.DOUBLE, lambda p: p.ber[:, POST_FEC]),
    ]


def _pfc(priority: int) -> list[Leaf]:
    at = f"ethernet/pfc/priorities/priority[index={priority}]/state"
    return [
        _counter(INTERFACE, f"{at}/in-frames", lambda p: p.pause_frames[:, priority, RX]),
        _counter(INTERFACE, f"{at}/out-frames", lambda p: p.pause_frames[:, priority, TX]),
        _counter(INTERFACE, f"{at}/rx-transitions", lambda p: p.pause_transitions[:, priority, RX]),
        _counter(INTERFACE, f"{at}/pfc-on-total-rx-time", lambda p: p.pause_us[:, priority, RX] * 1e3),
    ]


def _lossless_buffer() -> Leaf:
    path = f"ethernet/pfc/priorities/priority[index={LOSSLESS}]/state/all-buffers-octets-max-last-poll"
    return _leaf(INTERFACE, path, Form.UINT, lambda p: p.queue_peak[:, LOSSLESS])


def _queue(queue: int) -> list[Leaf]:
    rows: dict[str, Of] = {
        "transmit-pkts": lambda p: p.queue_packets[:, queue],
        "transmit-octets": lambda p: p.queue_bytes[:, queue],
        "dropped-pkts": lambda p: p.queue_dropped_packets[:, queue],
        "dropped-octets": lambda p: p.queue_dropped_bytes[:, queue],
        "ecn-marked-pkts": lambda p: p.queue_ecn_packets[:, queue],
    }
    return [_counter(QOS, f"output/queues/queue[name={queue}]/state/{name}", of) for name, of in rows.items()]


def _lane(lane: int) -> list[Leaf]:
    at = f"transceiver/physical-channels/channel[index={lane}]/state"
    return [
        _leaf(COMPONENT, f"{at}/input-power/instant", Form.DOUBLE, lambda p: p.rx_power_dbm[:, lane]),
        _leaf(COMPONENT, f"{at}/output-power/instant", Form.DOUBLE, lambda p: p.tx_power_dbm[:, lane]),
        _leaf(COMPONENT, f"{at}/laser-bias-current/instant", Form.DOUBLE, lambda p: p.bias_amperes[:, lane] * 1e3),
    ]


def _module() -> list[Leaf]:
    temperature = "transceiver/physical-channels/channel[index=0]/state/laser-temperature/instant"
    return [
        _leaf(COMPONENT, temperature, Form.DOUBLE, lambda p: p.module_celsius),
        _leaf(COMPONENT, "transceiver/state/supply-voltage/instant", Form.DOUBLE, lambda p: p.module_volts),
    ]


def _neighbours() -> list[Leaf]:
    return [
        _text("state/system-name", lambda layout, port: layout.ports[port].peer_device),
        _text("state/port-id", lambda layout, port: layout.ports[port].peer_name),
        _text("state/port-id-type", lambda layout, port: "INTERFACE_NAME"),
        _text("state/chassis-id", lambda layout, port: chassis_id(layout.device_index[layout.ports[port].peer_device])),
        _text("state/chassis-id-type", lambda layout, port: "MAC_ADDRESS"),
        _leaf(BGP, "state/session-state", Form.STRING, lambda p: p.up, ("IDLE", "ESTABLISHED")),
    ]


LEAVES: tuple[Leaf, ...] = (
    *_states(),
    *_neighbours(),
    *_counters(),
    *(leaf for priority in range(PRIORITIES) for leaf in _pfc(priority)),
    _lossless_buffer(),
    *(leaf for queue in range(PRIORITIES) for leaf in _queue(queue)),
    *(leaf for lane in range(LANES) for leaf in _lane(lane)),
    *_module(),
)
