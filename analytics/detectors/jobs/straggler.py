"""Straggler: the one GPU of a job that works while the others wait for it.

It is judged only in jobs that were shown to work in lockstep (``derived/work_classes.py``): elsewhere nobody waits for
a GPU that works more or less than others. In lockstep the slowest member is busy all the time and its peers spin in the
collective. So against the median of its job a straggler has a lower clock that its power limit does not explain, and
works longer for it; or its tensor cores are active for more of the time than they were and than those of the others.
Activity is compared with the GPUs of its own host too: they are read at the same moment, those of other hosts at
another moment of the iteration. While the whole job polls for something else, nobody works longer, and the clock alone
shows a GPU that will be waited for. A GPU that its own power limit holds, as it holds the others, has kernels or a
chip that draw more: that is no fault of it.

A clock is read at one moment, and a GPU that has nothing to do at that moment has the clock of an idle one, as of the
thousand GPUs of a large job some have at any moment around a pause. That a GPU was at work when it was read is shown by
the whole interval after it, so two readings count between which it did not pause.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.jobs import power_cap
from analytics.detectors.jobs.lockstep import (
    coherence_evidence,
    lockstep_groups,
    paused,
    stands_still,
    works_longer,
)
from analytics.detectors.jobs.power_cap import explains_longer_work, power_capped
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts
from analytics.models.group_medians import group_medians
from analytics.models.peers.modes import kind_medians
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.lookup import lookup
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.limits import STRAGGLER_CLOCK_SHARE

_CLOCK_SIGMAS = 5.0  # below the median, where healthy clocks differ: at a deviation of 3 %, one in seventy is 7 % below
_CLOCK_LEAST = 0.8  # … but less than this share is too slow in any case
_SIGMA_PER_MAD = 1.4826
_ACTIVE_TIMES = 1.3  # as active as the job's median …
# … and so far above it as GPUs of a host seldom differ: where each has its own amount of work, one of hundreds always
# has most. In data-parallel work they differ by less than a hundredth, so this changes nothing there.
_ACTIVE_SIGMAS = 5.0
_ACTIVE_SCALE, _ACTIVE_APART = 0.01, 0.05  # experts and pipeline stages are compared with their own kind
_PEERS_MIN = 3
_SMOOTHING = 0.3  # weight of the newest activity: hosts are read at different moments of an iteration
_SAMPLES_MIN = 5
_READINGS = 2  # that show a straggler, in a row and without a pause between them


@dataclass(frozen=True, kw_only=True)
class Straggler(Detector):
    """Judges each working GPU against the working GPUs of its job by medians, which one member cannot move."""

    name: str = "straggler"
    kind: FindingKind = FindingKind.STRAGGLER
    metrics: tuple[str, ...] = (
        "gpu_sm_clock_hertz",
        "gpu_tensor_active_ratio",
        "gpu_utilization_ratio",
        power_cap.SECONDS,
        power_cap.ACTIVE,
    )
    scope: Scope = Scope.CLUSTER
    memory: tuple[MemoryColumn, ...] = (
        MemoryColumn("smooth", settings=("interval_s",)),
        MemoryColumn("seen_s"),
        MemoryColumn("samples"),
        MemoryColumn("run"),
        MemoryColumn("since_ns", dtype="i8"),
        MemoryColumn("read_ns", dtype="i8"),
    )
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: _from_format_1}, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        clock, active = (view.column(metric) for metric in self.metrics[:2])
        smooth = _smooth(memory, active)
        rows = memory.rows(clock.sids)
        named = memory["run"][rows] >= _READINGS  # it is judged in all intervals until it is over
        groups = np.where(named | ~paused(view, clock.objects), lockstep_groups(view)[clock.objects], -1)
        resting = clock.only(clock.fresh & (groups < 0) & ~named)  # what was shown before a pause stays so
        rows = np.flatnonzero(clock.fresh & (groups >= 0))
        clock, groups = clock.only(rows), groups[rows]
        hosts = view.index.device_objects[clock.targets]
        at = lookup(active.objects, clock.objects)
        known = at >= 0
        activity = np.where(known, smooth[at] if len(active) else np.nan, np.nan)
        level = np.where(known, active.level[at] if len(active) else np.nan, np.nan)
        free = np.where(power_capped(view, clock.objects), np.nan, clock.values)
        median_clock = group_medians(groups, free)
        median_activity = kind_medians(groups, activity, _ACTIVE_SCALE, _ACTIVE_APART)
        by_clock = _by_clock(groups, free, median_clock)
        waited_for = works_longer(view, clock.objects, hosts, 1.0 - free / median_clock)
        waited_for |= stands_still(view, clock.objects, groups)
        apart = np.append(view.derived.classes.differs, np.nan)[groups]
        by_activity = _by_activity(groups, hosts, activity, level, median_activity, apart)
        by_activity[explains_longer_work(view, clock.objects, groups)] = 0.0
        score = np.fmax(np.where(waited_for, by_clock, 0.0), by_activity)
        score = np.where(_sizes(groups) < _PEERS_MIN, 0.0, np.nan_to_num(score))
        run, since_ns = _readings(memory, clock, score >= 1.0, resting)
        shown = np.flatnonzero((score < 1.0) | (run >= _READINGS))  # one reading alone is still open
        at, clock, activity = at[shown], clock.only(shown), activity[shown]
        normal_clock = np.where(np.isnan(free), np.nan, median_clock)[shown]
        evidence = (
            EvidenceColumns(clock.sids, clock.values, normal_clock),
            EvidenceColumns(active.sids[at] if len(active) else clock.sids, activity, median_activity[shown]),
            coherence_evidence(view, groups[shown]),
        )
        score, since_ns = score[shown], since_ns[shown]
        return [Verdicts(clock.objects, clock.times_ns, score >= 1.0, score, evidence, 0.85, since_ns)]


def _readings(
    memory: Memory, clock: Column, unlike: NDArray[np.bool_], resting: Column
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """How many readings in a row each GPU was unlike its peers, without a pause in between, and when the first was.

    clock: of those at work; unlike: bool[k], of the newest reading of each. resting: of those that paused since.
    """
    rows, paused = memory.rows(clock.sids), memory.rows(resting.sids)
    run, since_ns, read_ns = memory["run"], memory["since_ns"], memory["read_ns"]
    run[paused], read_ns[paused] = 0.0, resting.times_ns
    new = clock.times_ns > read_ns[rows]
    first = new & unlike & (run[rows] == 0.0)
    since_ns[rows[first]], read_ns[rows] = clock.times_ns[first], clock.times_ns
    run[rows[new]] = np.where(unlike[new], run[rows[new]] + 1.0, 0.0)
    return run[rows], since_ns[rows].astype(np.int64)


def _by_clock(groups: NDArray[np.int64], free: NDArray[np.float64], median: NDArray[np.float64]) -> NDArray[np.float64]:
    """free: clocks, NaN of GPUs at their power limit. median: of each one's job."""
    with np.errstate(divide="ignore", invalid="ignore"):
        below = 1.0 - free / median
        apart = _CLOCK_SIGMAS * _SIGMA_PER_MAD * group_medians(groups, np.abs(below))
        return np.asarray(below / np.clip(apart, 1.0 - STRAGGLER_CLOCK_SHARE, 1.0 - _CLOCK_LEAST))


def _by_activity(
    groups: NDArray[np.int64],
    hosts: NDArray[np.int64],
    activity: NDArray[np.float64],
    level: NDArray[np.float64],
    median: NDArray[np.float64],
    apart: NDArray[np.float64],
) -> NDArray[np.float64]:
    """level: its own usual activity. Who has always worked more is no straggler: stages and experts differ.

    apart: how far the GPUs of one host usually differ in its job, as a part of their level; NaN while unknown.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        times = activity / np.fmax(median, group_medians(hosts, activity))
        change = activity / level
        times_own = change / np.fmax(group_medians(groups, change), group_medians(hosts, change))
        return np.asarray((np.minimum(times, times_own) - 1.0) / np.fmax(_ACTIVE_TIMES - 1.0, _ACTIVE_SIGMAS * apart))


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


def _from_format_1(state: State) -> State:
    """Format 1 counted readings outside of the detector: they are counted again from the first one on."""
    size = len(state.arrays["sid"])
    new = {"run": np.zeros(size), "since_ns": np.zeros(size, np.int64), "read_ns": np.zeros(size, np.int64)}
    return State(state.head, {**state.arrays, **new})
