"""Slow storage target: operations take far longer than on its siblings or in its own past, or hardly any finish."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.levels import LEVEL, learned_level
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts
from analytics.detectors.storage.operations import (
    BUSY_TIMES,
    BYTES,
    NEW_INTERVALS,
    OPERATIONS_PER_SECOND_MIN,
    PEAK_FADES_S,
    SCORE_BUSY,
    byte_rows,
    bytes_per_second,
    counterparts,
    members,
    owners,
    sums_of,
)
from analytics.detectors.storage.short_times import (
    SHORT_TIMES,
    OperationTimes,
    score_with_short_times,
    without_short_times,
)
from analytics.models.group_medians import group_medians
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.selectors import server_io, server_traffic

_METRICS = ("storage_operation_duration_seconds_sum", "storage_operation_duration_seconds_count")
_TIMES_SIBLINGS = 3.0
_TIMES_OWN = 5.0  # a checkpoint makes every target slower than usual, so the factor is larger for its own past
# Requests wait for each other where a target is busy: with a single queue 1 / (1 - load) times as long as they take
# (M/M/1: Kleinrock, Queueing Systems, 1975). So a target that does more than its siblings may take longer for each.
# What it can do is the most that it has done, which fades within days (assumptions: that, and that from four fifths of
# it on nothing more is known of the queue).
_LOAD_MAX = 0.8
# Means over an interval show less load than there was in a burst. But a target that is three times slower finishes a
# third of what it could at most (utilisation law: Denning and Buzen, The Operational Analysis of Queueing Network
# Models, 1978). So one that finishes more than that, and half as much again as its siblings, is asked for more than
# they are, whatever its times are. What siblings have done at most counts too, as a target may never have been well.
# In a burst that all of them have, a checkpoint, none does half as much again as the others. What a target can do is
# known then without them: that it has done three times the usual at most says that this was in a burst (assumption).
# A burst begins within an interval, which shows little of it: one that does more than its siblings, if only a little,
# is not known to be slow before the next sample, which shows whether it is asked for more. Nor is one that does at
# least half of its usual where there are bursts: siblings that are read seconds earlier do not show one that has begun.
_MORE_TIMES, _SCORE_MORE = 1.05, 2.4
_BURST_TIMES, _USUAL_SHARE = 3.0, 0.5
# A target that hangs finishes nothing, so it has no times: a tenth of what busy siblings do is a collapse. The score is
# too low for one sample, since servers are read at different moments of a burst.
_COLLAPSED_SHARE, _BUSY_OPERATIONS_PER_SECOND, _COLLAPSED_SCORE = 0.1, 10.0, 2.0
_SIBLINGS_MIN = 3
_ANY_TIME_S = 1e-9  # siblings that take less than is counted take 0
# What one client has in flight at most (Lustre: max_rpcs_in_flight, 8), and some that began in the interval before.
# Where no more operations wait, the path of that client may be slow and not the target: a link that loses packets.
ONE_CLIENT_OPERATIONS, CONFIDENCE, ONE_CLIENT_CONFIDENCE = 10.0, 0.85, 0.5


@dataclass(frozen=True)
class _About:
    """Of each of k series of sums. counts, moved: row of its counts and of its bytes, -1 without.

    owners: number, below k, of its target, all operations together; groups: of its file system and operation.
    few: whether that has too few targets to compare. shared: whether it is no disk of one host.
    """

    counts: NDArray[np.int64]
    moved: NDArray[np.int64]
    owners: NDArray[np.int64]
    groups: NDArray[np.int64]
    few: NDArray[np.bool_]
    shared: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class StorageSlow(Detector):
    """Judges the mean time of operations since the last sample, reads and writes separately."""

    name: str = "storage_slow"
    kind: FindingKind = FindingKind.STORAGE_SLOW
    metrics: tuple[str, ...] = (*_METRICS, *BYTES)
    scope: Scope = Scope.CLUSTER
    persist: int = 2
    fire_immediately_score: float = 2.5
    memory: tuple[MemoryColumn, ...] = (*LEVEL, MemoryColumn("peak"), *SHORT_TIMES)
    memory_format: int = 3
    memory_migrations: Mapping[int, Migration] = field(
        default_factory=lambda: {1: _from_format_1, 2: without_short_times}, hash=False
    )

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        about = view.data.per_series(_about)
        column, rate, usual_rate = self._operations(view, about)
        seconds = np.where(rate >= OPERATIONS_PER_SECOND_MIN, column.values / np.fmax(rate, 1e-9), np.nan)
        groups = about.groups
        alone = members(groups, ~np.isnan(seconds)) < _SIBLINGS_MIN  # idle siblings have no times
        siblings = group_medians(groups, seconds)
        load, busy, more = self._load(view, memory, column, rate, usual_rate, about)
        unloaded = seconds * (1.0 - load)
        # The normal is learned from siblings: a slow target must not learn from itself while they are idle.
        own = learned_level(view, memory, column, np.where(about.few, seconds, np.where(alone, np.nan, siblings)))
        alone |= np.isnan(siblings)
        normal = np.where(alone, _TIMES_OWN * own, _TIMES_SIBLINGS * siblings)
        like_load = _TIMES_SIBLINGS * np.where(alone, own, group_medians(groups, unloaded))
        slow = np.minimum(seconds / np.maximum(normal, _ANY_TIME_S), unloaded / np.maximum(like_load, _ANY_TIME_S))
        slow = np.where(more & ~alone, np.minimum(slow, _SCORE_MORE), slow)
        slow = np.where(busy & ~alone, np.minimum(slow, SCORE_BUSY), slow)
        moved = bytes_per_second(view, server_traffic, about.moved)
        times = OperationTimes(rate, moved, seconds, groups, np.where(alone, np.nan, siblings))
        slow = score_with_short_times(view, memory, column, slow, times)
        sibling_rate = group_medians(groups, rate)
        collapsed = _alone_idle(groups, rate) & (rate < _COLLAPSED_SHARE * sibling_rate)
        if collapsed.any():
            collapsed &= usual_rate >= group_medians(groups, usual_rate) / 2
        score = np.fmax(slow, np.where(collapsed, _COLLAPSED_SCORE, np.nan))
        rows = np.flatnonzero(~np.isnan(score))
        rows = rows[worst_of_each(column.objects[rows], score[rows])]
        worst, breached = column.only(rows), score[rows] >= 1.0
        certain = collapsed[rows] | ~about.shared[rows] | (worst.values > ONE_CLIENT_OPERATIONS)
        evidence = (
            EvidenceColumns(worst.sids, seconds[rows], np.where(alone, own, siblings)[rows], "seconds an operation"),
            EvidenceColumns(worst.sids, rate[rows], sibling_rate[rows], "operations/s"),
        )
        confidence = np.where(certain, CONFIDENCE, ONE_CLIENT_CONFIDENCE)
        return [Verdicts(worst.objects, worst.times_ns, breached, score[rows], evidence, confidence)]

    def _load(
        self,
        view: TickView,
        memory: Memory,
        column: Column,
        rate: NDArray[np.float64],
        usual_rate: NDArray[np.float64],
        about: _About,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """How much of what its target has done at most it does now, by operations of all kinds; 0..``_LOAD_MAX``.

        Whether it does more than a slow one could, and more than its siblings do or than is usual: its times show
        nothing then. And whether a burst may just have begun that their values do not show yet.
        """
        total = sums_of(about.owners, rate)
        rows = memory.rows(column.sids)
        fade = np.exp(-view.config.interval_s / PEAK_FADES_S)
        peak = np.fmax(total, memory["peak"][rows] * np.where(column.new, fade, 1.0))
        memory["peak"][rows] = peak
        most = np.fmax(peak, group_medians(about.groups, peak))
        siblings = group_medians(about.groups, total)
        own_usual = sums_of(about.owners, usual_rate)
        usual = group_medians(about.groups, own_usual)
        has_bursts = (usual > 0.0) & (most >= _BURST_TIMES * usual)
        more = (total >= _MORE_TIMES * siblings) | (has_bursts & (total >= _USUAL_SHARE * own_usual))
        busy = (_TIMES_SIBLINGS * total >= most) & (has_bursts | (total >= BUSY_TIMES * siblings))
        return np.minimum(total / np.fmax(peak, 1e-9), _LOAD_MAX), busy, more

    def _operations(self, view: TickView, about: _About) -> tuple[Column, NDArray[np.float64], NDArray[np.float64]]:
        """The sums' column, operations a second and their usual number; NaN where no fresh value is known."""
        sums, counts = (view.column(metric, server_io) for metric in _METRICS)
        new = view.series["valued_ns"][sums.sids] >= view.end_ns - round(NEW_INTERVALS * view.config.interval_ns)
        known = (about.counts >= 0) & sums.fresh & new
        nothing = np.full(len(sums), np.nan)
        if not len(counts):
            return sums, nothing, nothing
        at = about.counts
        return sums, np.where(known, counts.values[at], np.nan), np.where(known, counts.level[at], np.nan)


def _from_format_1(state: State) -> State:
    """Format 1 knew no peaks: they are learned again from the first sample on."""
    return State(state.head, {**state.arrays, "peak": np.zeros(len(state.arrays["sid"]))})


def _about(index: SeriesIndex) -> _About:
    sums, counts = (index.select(metric, server_io) for metric in _METRICS)
    groups = _groups(index, sums)
    few = members(groups, np.ones(sums.size, bool)) < _SIBLINGS_MIN
    names = index.objects.names
    shared = [names[number].startswith("storage_target:") for number in index.columns["object"][sums].tolist()]
    counted, moved = counterparts(index, sums, counts), byte_rows(index, sums, server_traffic)
    return _About(counted, moved, owners(index, sums), groups, few, np.array(shared, bool))


def _groups(index: SeriesIndex, sids: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for all targets of a file system and operation."""
    names, objects = index.objects.names, index.columns["object"][sids].tolist()
    systems = {number: names[number].partition(":")[2].partition("/")[0] for number in set(objects)}
    numbers = {name: number for number, name in enumerate(sorted(set(systems.values())))}
    own = np.array([numbers[systems[number]] for number in objects], np.int64)
    _, groups = np.unique((own << 24) + index.columns["variant"][sids], return_inverse=True)
    return np.asarray(groups)


def _alone_idle(groups: NDArray[np.int64], rate: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Targets that do little while every other one is busy: when the others are idle too, there is no work."""
    known, busy = ~np.isnan(rate), rate >= _BUSY_OPERATIONS_PER_SECOND
    count = members(groups, known)
    return np.asarray(known & ~busy & (count >= _SIBLINGS_MIN) & (members(groups, busy) == count - 1))
