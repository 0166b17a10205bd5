"""Values of all ports by name: what the canonical series and both gNMI schemas read, in the readings' units."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator.counters.readings import POST_FEC, PRE_FEC, RX, TX, PortReadings

Values = NDArray[np.generic]
OfPort = Callable[[PortReadings], Values]
"""[P] values of all ports, in layout order."""

PORT: dict[str, OfPort] = {
    "rx_bytes": lambda p: p.bytes[:, RX],
    "tx_bytes": lambda p: p.bytes[:, TX],
    "rx_packets": lambda p: p.packets[:, RX],
    "tx_packets": lambda p: p.packets[:, TX],
    "rx_errors": lambda p: p.errors[:, RX],
    "tx_errors": lambda p: p.errors[:, TX],
    "rx_discards": lambda p: p.discards[:, RX],
    "tx_discards": lambda p: p.discards[:, TX],
    "fcs_errors": lambda p: p.fcs_errors,
    "fec_corrected": lambda p: p.fec_corrected,
    "fec_uncorrectable": lambda p: p.fec_uncorrectable,
    "fec_corrected_bits": lambda p: p.fec_corrected_bits,
    "fec_symbol_errors": lambda p: p.fec_symbol_errors,
    "pre_fec_ber": lambda p: p.ber[:, PRE_FEC],
    "post_fec_ber": lambda p: p.ber[:, POST_FEC],
    "up": lambda p: p.up,
    "session_up": lambda p: p.up & ~p.daemon_down,
    "flaps": lambda p: p.flaps,
    "speed": lambda p: p.speed,
    "module_celsius": lambda p: p.module_celsius,
    "module_volts": lambda p: p.module_volts,
}


def priority_values(k: int) -> dict[str, OfPort]:
    """Of priority ``k``, which is also queue and priority group ``k``."""
    return {
        "rx_pause_frames": lambda p: p.pause_frames[:, k, RX],
        "tx_pause_frames": lambda p: p.pause_frames[:, k, TX],
        "rx_pause_us": lambda p: p.pause_us[:, k, RX],
        "rx_pause_transitions": lambda p: p.pause_transitions[:, k, RX],
        "queue_bytes": lambda p: p.queue_bytes[:, k],
        "queue_packets": lambda p: p.queue_packets[:, k],
        "queue_dropped_bytes": lambda p: p.queue_dropped_bytes[:, k],
        "queue_dropped_packets": lambda p: p.queue_dropped_packets[:, k],
        "queue_ecn_bytes": lambda p: p.queue_ecn_bytes[:, k],
        "queue_ecn_packets": lambda p: p.queue_ecn_packets[:, k],
        "queue_occupancy": lambda p: p.queue_occupancy[:, k],
        "queue_peak": lambda p: p.queue_peak[:, k],
        "pg_occupancy_peak": lambda p: p.pg_occupancy_peak[:, k],
        "pg_headroom_peak": lambda p: p.pg_headroom_peak[:, k],
        "pg_dropped_packets": lambda p: p.pg_dropped_packets[:, k],
    }


def lane_values(k: int) -> dict[str, OfPort]:
    """Of lane ``k`` of the transceiver: dBm and amperes."""
    return {
        "rx_power": lambda p: p.rx_power_dbm[:, k],
        "tx_power": lambda p: p.tx_power_dbm[:, k],
        "bias": lambda p: p.bias_amperes[:, k],
    }


def scaled(of: OfPort, factor: float) -> OfPort:
    """The values in another unit."""
    return lambda p: of(p) * factor  # type: ignore[operator]  # numbers
