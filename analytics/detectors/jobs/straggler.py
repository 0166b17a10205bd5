"""Straggler: the one GPU of a job that works while the others wait for it.

In lockstep training the slowest member is busy all the time and its peers spin in the collective. So against the median
of its job a straggler has a lower clock, or its tensor cores are active for more of the time. Activity is compared with
the GPUs of its own host too: they are read at the same moment, those of other hosts at another moment of the iteration.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts
from analytics.models.group_medians import group_medians
from analytics.models.peers.modes import kind_medians
from analytics.state.lookup import lookup
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_CLOCK_SHARE = 0.93  # of the job's median: boost clocks of healthy GPUs of one model seldom differ by more
_CLOCK_SIGMAS = 5.0  # … and so far below it where they do: at a deviation of 3 %, one in seventy is 7 % below
_CLOCK_LEAST = 0.8  # … but less than this share is too slow in any case
_SIGMA_PER_MAD = 1.4826
_ACTIVE_TIMES = 1.3  # as active as the job's median
_ACTIVE_SCALE, _ACTIVE_APART = 0.01, 0.05  # experts and pipeline stages are compared with their own kind
_PEERS_MIN = 3
_SMOOTHING = 0.3  # weight of the newest activity: hosts are read at different moments of an iteration
_SAMPLES_MIN = 5
_NOT_IMMEDIATE = 0.99  # of the score from which one sample is enough


@dataclass(frozen=True, kw_only=True)
class Straggler(Detector):
    """Judges each working GPU against the working GPUs of its job by medians, which one member cannot move."""

    name: str = "straggler"
    kind: FindingKind = FindingKind.STRAGGLER
    metrics: tuple[str, ...] = ("gpu_sm_clock_hertz", "gpu_tensor_active_ratio", "gpu_utilization_ratio")
    scope: Scope = Scope.CLUSTER
    persist: int = 2
    fire_immediately_score: float = 3.0
    memory: tuple[MemoryColumn, ...] = (
        MemoryColumn("smooth", settings=("interval_s",)),
        MemoryColumn("seen_s"),
        MemoryColumn("samples"),
    )

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        clock, active = (view.column(metric) for metric in self.metrics[:2])
        smooth = _smooth(memory, active)
        groups = view.derived.working_job[clock.objects]
        rows = np.flatnonzero(clock.fresh & (groups >= 0))
        clock, groups = clock.only(rows), groups[rows]
        at = lookup(active.objects, clock.objects)
        activity = np.where(at >= 0, smooth[at] if len(active) else np.nan, np.nan)
        median_clock = group_medians(groups, clock.values)
        median_activity = kind_medians(groups, activity, _ACTIVE_SCALE, _ACTIVE_APART)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = 1.0 - clock.values / median_clock
            apart = _CLOCK_SIGMAS * _SIGMA_PER_MAD * group_medians(groups, np.abs(below))
            by_clock = below / np.clip(apart, 1.0 - _CLOCK_SHARE, 1.0 - _CLOCK_LEAST)
            usual = np.fmax(median_activity, group_medians(_hosts(view, clock), activity))
            by_activity = (activity / usual - 1.0) / (_ACTIVE_TIMES - 1.0)
        score = np.maximum(np.nan_to_num(by_clock), np.nan_to_num(by_activity))
        score[_sizes(groups) < _PEERS_MIN] = 0.0
        # A job ends for all GPUs of a host at once, and clocks fall before utilisation, which is an average: a change
        # of the whole host needs a second sample.
        alone = clock.values < _CLOCK_SHARE * group_medians(_hosts(view, clock), clock.values)
        score = np.where(alone, score, np.minimum(score, _NOT_IMMEDIATE * self.fire_immediately_score))
        evidence = (
            EvidenceColumns(clock.sids, clock.values, median_clock),
            EvidenceColumns(active.sids[at] if len(active) else clock.sids, activity, median_activity),
        )
        return [Verdicts(clock.objects, clock.times_ns, score >= 1.0, score, evidence, 0.85)]


def _hosts(view: TickView, clock: Column) -> NDArray[np.int64]:
    """Number of each GPU's host."""
    return view.index.device_objects[clock.targets]


def _sizes(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    _, at, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(sizes[at] if groups.size else groups)


def _smooth(memory: Memory, active: Column) -> NDArray[np.float64]:
    """Activity averaged over the last collections, NaN until there were enough."""
    rows = memory.rows(active.sids)
    smooth, seen_s, samples = memory["smooth"], memory["seen_s"], memory["samples"]
    at_s = active.times_ns * 1e-9
    new = active.fresh & (at_s > seen_s[rows])
    weight = np.maximum(_SMOOTHING, 1.0 / (samples[rows] + 1.0))
    smooth[rows] += np.where(new, weight * (active.values - smooth[rows]), 0.0)
    seen_s[rows[new]], samples[rows[new]] = at_s[new], samples[rows[new]] + 1.0
    return np.where(samples[rows] >= _SAMPLES_MIN, smooth[rows], np.nan)
