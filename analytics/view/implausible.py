"""Series with implausible values: unsupported ones, and zeros that only a fault explains.

*Unsupported*: a metric that changes on a working device (power, clocks, bytes, activity) has been 0, or a number that
means "no value", for as long as it is known, on every device of the same role and model, while other series of the
device have changed. Metrics that count events (errors, drops, pauses) are left out: there 0 is healthy.

*Zero by fault*: a series that has changed before is exactly 0 while a corroborating series of the same object proves
activity; where work may pause by itself, its peers must be at work too.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.group_medians import group_medians
from analytics.state.rates import NEVER
from analytics.view.quality import FRESH, Quality
from analytics.view.tick_data import TickData
from common.jit import compiled
from telemetry.selectors import Selector, rdma_received, rdma_sent, reads, received, writes

_KNOWN_INTERVALS = 12.0
# DCGM's blank integers, the largest numbers of the usual widths, and -1.
_NO_VALUES = np.array([0.0, -1.0, 2147483632.0, 2147483647.0, 4294967295.0, 9223372036854775792.0, 2.0**63, 2.0**64])
_CHANGING = re.compile(
    "(_watts|_hertz|_celsius|_volts|_rpm|_joules_total|_bytes_total|_bytes_per_second|_packets_total"
    "|_operations_total|_active_ratio|_utilization_ratio|_sm_occupancy_ratio|_memory_used_bytes)$"
)
CHANGING_MIN = 3  # series of a target that have changed: then it is at work
_EVENTS = re.compile("error|drop|discard|pause|marked|limit|retired|trimmed|handled|ignored")


@dataclass(frozen=True)
class _Corroboration:
    """A series of the same object. least: value that proves activity, as a share of its job's median if ``of_job``."""

    metric: str
    least: float
    selector: Selector | None = None
    of_job: bool = False


@dataclass(frozen=True)
class _Zero:
    """A zero of ``metric`` is a fault when all others prove activity, and the job's median reaches ``job_least``."""

    metric: str
    corroborating: tuple[_Corroboration, ...]
    job_least: float | None = None


_TENSOR = (_Corroboration("gpu_tensor_active_ratio", 0.05),)
_WORKS = (
    _Corroboration("gpu_power_watts", 0.8, of_job=True),
    _Corroboration("gpu_memory_bandwidth_active_ratio", 0.05),
)
_ZEROS = (
    _Zero("gpu_tensor_active_ratio", _WORKS, job_least=0.05),
    _Zero("gpu_sm_active_ratio", _TENSOR),
    _Zero("gpu_utilization_ratio", _TENSOR),
    _Zero("gpu_power_watts", _TENSOR),
    _Zero("gpu_sm_clock_hertz", _TENSOR),
    _Zero("gpu_memory_bandwidth_active_ratio", _TENSOR),
    _Zero("fabric_port_transmit_bytes_total", (_Corroboration("fabric_queue_transmit_bytes_total", 1e6),)),
    _Zero("fabric_port_transmit_bytes_total", (_Corroboration("fabric_queue_ecn_marked_packets_total", 1.0),)),
    _Zero("fabric_port_receive_bytes_total", (_Corroboration("fabric_port_packets_total", 1e3, received),)),
    _Zero("ib_port_transmit_bytes_total", (_Corroboration("nic_priority_bytes_total", 1e6, rdma_sent),)),
    _Zero("ib_port_receive_bytes_total", (_Corroboration("nic_priority_bytes_total", 1e6, rdma_received),)),
    _Zero("storage_read_bytes_total", (_Corroboration("storage_operations_total", 10.0, reads),)),
    _Zero("storage_written_bytes_total", (_Corroboration("storage_operations_total", 10.0, writes),)),
)


def with_implausible(tick: TickData, quality: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[series]: ``quality``, with fresh series marked that are unsupported or zero by a fault."""
    fresh = quality == FRESH
    marked = quality.copy()
    for zero in _ZEROS:
        sids = _zeros(tick, zero, fresh)
        marked[sids] = int(Quality.ZERO)
    sids = _unsupported(tick)
    marked[sids[fresh[sids]]] = int(Quality.UNSUPPORTED)
    return marked


class _Changing(NamedTuple):
    """k series of metrics that change on a working device.

    targets: int64[k], of each. kinds: int64[k], a number for each one's metric, labels, and role and model of its
    object, below ``size``.
    """

    sids: NDArray[np.int64]
    targets: NDArray[np.int64]
    kinds: NDArray[np.int64]
    size: int


def _changing(tick: TickData) -> _Changing:
    index, columns = tick.index, tick.index.columns
    names = index.metrics.names
    changes = np.array([bool(_CHANGING.search(name)) and not _EVENTS.search(name) for name in names], bool)
    sids = np.flatnonzero(changes[columns["metric"]]) if names else np.zeros(0, np.int64)
    model = tick.topology_index.groups["model"]
    pairs = columns["metric"][sids].astype(np.int64) * len(index.variants) + columns["variant"][sids]
    of = pairs * (1 + model.tags.size) + 1 + model.of[columns["object"][sids]]
    known, kinds = np.unique(of, return_inverse=True)
    return _Changing(sids, columns["target"][sids].astype(np.int64), kinds, known.size)


def _unsupported(tick: TickData) -> NDArray[np.int64]:
    changing = tick.selections.per_physical(_changing, tick.topology_index.physical, lambda: _changing(tick))
    first_ns = tick.end_ns - round(_KNOWN_INTERVALS * tick.config.interval_ns)
    found = np.empty(changing.sids.size, np.bool_)
    _look(changing, tick.series["moved_ns"], tick.series["raw"], tick.targets["first_ns"], first_ns, found)
    return np.asarray(changing.sids[found])


@compiled
def _look(
    changing: _Changing,
    moved_ns: NDArray[np.int64],
    raw: NDArray[np.float64],
    known_ns: NDArray[np.int64],
    first_ns: int,
    found: NDArray[np.bool_],
) -> None:
    """Whether each of the series is unsupported. known_ns: int64[targets], since when; first_ns: the last that will do.

    moved_ns, raw: when each series changed, and its newest value.
    """
    sids, targets, kinds, size = changing
    busy, has_values = np.zeros(known_ns.size, np.int64), np.zeros(size, np.bool_)
    for i in range(sids.size):
        changed = moved_ns[sids[i]] != NEVER
        busy[targets[i]] += changed
        found[i] = not changed and known_ns[targets[i]] <= first_ns and _is_no_value(raw[sids[i]])
        has_values[kinds[i]] |= not found[i]
    for i in range(sids.size):
        found[i] = found[i] and busy[targets[i]] >= CHANGING_MIN and not has_values[kinds[i]]


@compiled
def _is_no_value(value: float) -> bool:
    for each in _NO_VALUES:  # noqa: SIM110  # what is compiled has no any()
        if value == each:
            return True
    return False


def _zeros(tick: TickData, zero: _Zero, fresh: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The series of a rule that are zero by a fault."""
    sids, series = tick.sids(zero.metric), tick.series
    zero_twice = (series["value"][sids] == 0.0) & (series["streak"][sids] == 0)
    suspects = np.asarray(sids[fresh[sids] & zero_twice & (series["moved_ns"][sids] != NEVER)])
    if not suspects.size:
        return suspects
    if zero.job_least is not None:
        suspects = suspects[_job_median(tick, sids, fresh, suspects) >= zero.job_least]
    for other in zero.corroborating:
        suspects = suspects[_is_active(tick, other, fresh, suspects)]
    return suspects


def _is_active(
    tick: TickData, other: _Corroboration, fresh: NDArray[np.bool_], suspects: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether any series of the other metric proves that the object of each suspect is active."""
    sids = tick.sids(other.metric, other.selector)
    least = other.least * _job_median(tick, sids, fresh, sids) if other.of_job else other.least
    active = sids[fresh[sids] & (tick.series["value"][sids] >= least)]
    objects = tick.index.columns["object"]
    is_active = np.zeros(len(tick.index.objects), np.bool_)
    is_active[objects[active]] = True
    return np.asarray(is_active[objects[suspects]])


def _job_median(
    tick: TickData, sids: NDArray[np.int64], fresh: NDArray[np.bool_], of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Median of the fresh values of ``sids`` in the job of each of ``of``, a part of them; NaN without a job."""
    jobs = tick.topology_index.job[tick.index.columns["object"][sids]]
    values = np.where(fresh[sids] & (jobs >= 0), tick.series["value"][sids], np.nan)
    medians = group_medians(jobs, values)
    return np.asarray(medians[np.searchsorted(sids, of)])
