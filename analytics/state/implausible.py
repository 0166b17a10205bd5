"""Series that carry values which nobody should believe: unsupported ones, and zeros that only a fault explains.

*Unsupported*: a metric that a working device moves (power, clocks, bytes, activity) has been at 0, or at a number that
stands for "no value", for as long as it is known, on every device of the same role and model, while the device itself
has moved many others. What counts events (errors, drops, pauses) is not judged: there 0 is good news.

*Zero by fault*: a series that has moved before is exactly 0 while another series of the same object proves activity;
where work may rest by itself, its peers must be at work too.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.models.group_medians import group_medians
from analytics.state.quality import Quality
from analytics.state.rates import NEVER
from analytics.state.series_index import SeriesIndex
from analytics.state.tick_data import TickData
from telemetry.selectors import Selector, reads, received, sent, writes

_KNOWN_INTERVALS = 12.0
# DCGM's blank integers, the largest numbers of the usual widths, and -1.
_NO_VALUES = np.array([0.0, -1.0, 2147483632.0, 2147483647.0, 4294967295.0, 9223372036854775792.0, 2.0**63, 2.0**64])
_MOVES = re.compile(
    "(_watts|_hertz|_celsius|_volts|_rpm|_joules_total|_bytes_total|_bytes_per_second|_packets_total"
    "|_operations_total|_active_ratio|_utilization_ratio|_sm_occupancy_ratio|_memory_used_bytes)$"
)
_NONE = np.zeros(0, np.int64)
CHANGING_MIN = 3  # series of a target that must change before it counts as working
_EVENTS = re.compile("error|drop|discard|pause|marked|limit|retired|trimmed|handled|ignored")


@dataclass(frozen=True)
class _Corroboration:
    """A series of the same object. least: value from which on it proves activity, or share of its job's median."""

    metric: str
    least: float
    selector: Selector | None = None
    of_job: bool = False


@dataclass(frozen=True)
class _Zero:
    """A zero of ``metric`` is a fault when all others prove activity; with ``job_least``, the job's median too."""

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
    _Zero("ib_port_transmit_bytes_total", (_Corroboration("nic_priority_bytes_total", 1e6, sent),)),
    _Zero("ib_port_receive_bytes_total", (_Corroboration("nic_priority_bytes_total", 1e6, received),)),
    _Zero("storage_read_bytes_total", (_Corroboration("storage_operations_total", 10.0, reads),)),
    _Zero("storage_written_bytes_total", (_Corroboration("storage_operations_total", 10.0, writes),)),
)


def with_implausible(tick: TickData, quality: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[series]: the quality given, and which of the fresh series are unsupported or zero by a fault."""
    fresh = quality == int(Quality.FRESH)
    marked = quality.copy()
    for zero in _ZEROS:
        sids = _zeros(tick, zero, fresh)
        marked[sids] = int(Quality.ZERO)
    sids = _unsupported(tick)
    marked[sids[fresh[sids]]] = int(Quality.UNSUPPORTED)
    return marked


@dataclass(frozen=True)
class _Movers:
    """Series of metrics that a working device moves, and a number of each one's metric and labels."""

    sids: NDArray[np.int64]
    pairs: NDArray[np.int64]


def _movers(index: SeriesIndex) -> _Movers:
    names = index.metrics.names
    moves = np.array([bool(_MOVES.search(name)) and not _EVENTS.search(name) for name in names], bool)
    sids = np.flatnonzero(moves[index.columns["metric"]]) if names else np.zeros(0, np.int64)
    pairs = index.columns["metric"][sids].astype(np.int64) * len(index.variants)
    _, numbers = np.unique(pairs + index.columns["variant"][sids], return_inverse=True)
    return _Movers(sids, np.asarray(numbers))


def _unsupported(tick: TickData) -> NDArray[np.int64]:
    movers, series, columns = tick.per_series(_movers), tick.series, tick.index.columns
    moved = series["moved_ns"][movers.sids] != NEVER
    known_ns = tick.targets["first_ns"][columns["target"][movers.sids]] + round(
        _KNOWN_INTERVALS * tick.config.interval_ns
    )
    blank = ~moved & np.isin(series["raw"][movers.sids], _NO_VALUES) & (known_ns <= tick.end_ns)
    if not blank.any():
        return _NONE
    models = tick.topology_index.groups["model"].of[columns["object"][movers.sids]] + 1
    keys = movers.pairs * (1 + int(models.max())) + models
    alive = np.bincount(keys, weights=~blank) > 0
    busy = np.bincount(columns["target"][movers.sids], weights=moved, minlength=len(tick.targets["first_ns"]))
    at_work = busy[columns["target"][movers.sids]] >= CHANGING_MIN
    return np.asarray(movers.sids[blank & at_work & ~alive[keys]])


def _zeros(tick: TickData, zero: _Zero, fresh: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The series of the rule that are zero by a fault."""
    sids, series = tick.sids(zero.metric), tick.series
    still = (series["value"][sids] == 0.0) & (series["streak"][sids] == 0)  # gauges: twice in a row
    suspects = np.asarray(sids[fresh[sids] & still & (series["moved_ns"][sids] != NEVER)])
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
    return np.isin(objects[suspects], objects[active])


def _job_median(
    tick: TickData, sids: NDArray[np.int64], fresh: NDArray[np.bool_], of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Median of the fresh values of ``sids`` in the job of each of ``of``, some of them; NaN without a job."""
    jobs = tick.topology_index.job[tick.index.columns["object"][sids]]
    values = np.where(fresh[sids] & (jobs >= 0), tick.series["value"][sids], np.nan)
    medians = group_medians(jobs, values)
    return np.asarray(medians[np.searchsorted(sids, of)])
