"""Which metrics members are compared by, within which group, and from which difference on it matters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from telemetry.selectors import Selector, on_server

FLOOR, LEAST, LIMIT, BUSY, WORSE, WHOLE = range(6)  # columns of ``limits_of``
HIGH, LOW = 1.0, -1.0


@dataclass(frozen=True)
class Rule:
    """One comparison. group: ``job`` (its working GPUs), ``rail`` (NICs in one place of a job's hosts), ``leaf`` (ports
    of one switch with one kind of neighbour), ``filesystem`` (its storage targets) or ``role`` (devices).

    worse: which side is odd. least: with a number, values are compared by their ratio and smaller ones count as this
    much; None compares differences. floor, effect, limit: least standard deviation, least difference that matters, and
    the difference that is odd even where it was always so; as a ratio's logarithm or in the metric's unit.
    busy: the median of the group below which it rests and nobody is compared. whole: whether all members of a host may
    be odd. Hosts are read at different moments of an iteration, so what follows it is compared within the host.
    """

    metric: str
    group: str
    worse: float
    least: float | None
    floor: float
    effect: float
    limit: float = math.inf
    busy: float = -math.inf
    selector: Selector | None = None
    whole: bool = True


# What makes the others of a job wait. A lower clock does the same work more slowly, so its tensor cores are active for
# more of the time; boost clocks of healthy GPUs differ by one or two per cent.
SLOWING = (
    Rule("gpu_sm_clock_hertz", "job", LOW, 1e8, 0.005, 0.02, limit=0.05),
    Rule("gpu_memory_clock_hertz", "job", LOW, 1e8, 0.005, 0.02, limit=0.05),
    Rule("gpu_tensor_active_ratio", "job", HIGH, 0.02, 0.01, 0.04, busy=0.05, whole=False),
)
_EVENTS = math.log(8.0)  # times the least rate that is told apart from none

# What supports another finding.
SUPPORTING = (
    Rule("gpu_power_watts", "job", LOW, 50.0, 0.01, 0.08, whole=False),
    Rule("gpu_temperature_celsius", "job", HIGH, None, 1.5, 8.0, limit=20.0),
    Rule("gpu_nvlink_bytes_per_second", "job", LOW, 1e8, 0.05, 0.25, busy=1e9, whole=False),
    Rule("gpu_pcie_bytes_per_second", "job", LOW, 1e7, 0.1, 0.5, busy=1e8, whole=False),
    Rule("ib_port_transmit_bytes_total", "rail", LOW, 1e8, 0.05, 0.25, busy=1e9),
    Rule("ib_port_receive_errors_total", "rail", HIGH, 0.1, 0.5, _EVENTS),
    Rule("nic_pfc_pause_seconds_total", "rail", HIGH, None, 0.01, 0.05),
    Rule("rdma_out_of_sequence_total", "rail", HIGH, 10.0, 0.5, _EVENTS),
    Rule("rdma_packet_sequence_errors_total", "rail", HIGH, 10.0, 0.5, _EVENTS),
    Rule("rdma_ack_timeouts_total", "rail", HIGH, 1.0, 0.5, _EVENTS),
    Rule("fabric_port_errors_total", "leaf", HIGH, 0.1, 0.5, _EVENTS),
    Rule("fabric_transceiver_temperature_celsius", "leaf", HIGH, None, 1.5, 10.0),
    Rule("fabric_device_temperature_celsius", "role", HIGH, None, 1.5, 10.0),
    Rule("storage_read_bytes_total", "filesystem", LOW, 1e6, 0.1, 0.7, busy=1e8, selector=on_server),
    Rule("storage_written_bytes_total", "filesystem", LOW, 1e6, 0.1, 0.7, busy=1e8, selector=on_server),
)


def limits_of(rules: Sequence[Rule]) -> NDArray[np.float64]:
    """float64[rules, 6]: what compiled code needs of each rule; busy is a logarithm where values are."""
    rows = [(r.floor, r.effect, r.limit, _busy(r), r.worse, float(r.whole)) for r in rules]
    return np.array(rows, np.float64).reshape(len(rows), 6)


def _busy(rule: Rule) -> float:
    return rule.busy if rule.least is None else math.log(max(rule.busy, rule.least))
