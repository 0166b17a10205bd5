"""Slow storage target: operations take far longer than on its siblings, or than they used to take on itself."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.base import Evidence, Verdicts
from analytics.statistics import baseline
from analytics.statistics.groups import group_medians
from analytics.view import Column, View, lookup, worst_of_each
from telemetry.findings import FindingKind

_TIMES_SIBLINGS = 3.0
_TIMES_OWN = 5.0  # a checkpoint makes every target slower than usual, so the own past needs more
_SECONDS_MIN = 0.02  # below that nobody waits for storage
_OPERATIONS_PER_SECOND_MIN = 1.0
_SIBLINGS_MIN = 3


def of_server(labels: Mapping[str, str]) -> bool:
    return labels.get("side") == "server" and labels.get("op") in ("read", "write")


@dataclass(frozen=True)
class StorageSlow:
    """Judges the mean time of operations since the last sample, reads and writes apart."""

    name: str = "storage_slow"
    kind: FindingKind = FindingKind.STORAGE_SLOW
    metrics: tuple[str, ...] = ("storage_operation_duration_seconds_sum", "storage_operation_duration_seconds_count")
    persist: int = 2
    sure: float = 3.0
    clear_intervals: float = 3.0

    def judge(self, view: View) -> list[Verdicts]:
        column, seconds = self._latency(view)
        siblings = group_medians(_group(view, column), seconds)
        alone = _group_sizes(_group(view, column)) < _SIBLINGS_MIN
        own = _own_level(view, column, seconds)
        score = np.where(
            alone | np.isnan(siblings), seconds / (_TIMES_OWN * own), seconds / (_TIMES_SIBLINGS * siblings)
        )
        score = np.minimum(score, seconds / _SECONDS_MIN)
        rows = np.flatnonzero(~np.isnan(score))
        rows = rows[worst_of_each(column.objects[rows], score[rows])]
        normal = np.where(alone | np.isnan(siblings), own, siblings)
        evidence = Evidence(column.sids[rows], seconds[rows], normal[rows], unit="seconds an operation")
        breached = score[rows] >= 1.0
        return [Verdicts(column.objects[rows], column.times_ns[rows], breached, score[rows], (evidence,), 0.85)]

    def _latency(self, view: View) -> tuple[Column, NDArray[np.float64]]:
        """The sums' column, and seconds an operation: NaN where too few were done."""
        sums, counts = (view.column(metric, of_server) for metric in self.metrics)
        at = lookup(_place(view, counts), _place(view, sums))
        usable = (at >= 0) & sums.fresh
        rate = np.where(usable, counts.values[at] if len(counts) else 0.0, 0.0)
        enough = rate >= _OPERATIONS_PER_SECOND_MIN
        return sums, np.where(enough, sums.values / np.where(enough, rate, 1.0), np.nan)


def _place(view: View, column: Column) -> NDArray[np.int64]:
    """One number for target, object and labels: the same for the sum and the count of one operation."""
    columns = view.registry.columns
    return np.asarray((column.objects << 24) + columns["variant"][column.sids] + (column.targets.astype("i8") << 44))


def _group(view: View, column: Column) -> NDArray[np.int64]:
    """One number for all targets of a file system and operation."""
    names = view.registry.objects.names
    systems = {n: names[n].partition(":")[2].partition("/")[0] for n in set(column.objects.tolist())}
    numbers = {name: number for number, name in enumerate(sorted(set(systems.values())))}
    own = np.array([numbers[systems[n]] for n in column.objects.tolist()], np.int64)
    return np.asarray((own << 24) + view.registry.columns["variant"][column.sids])


def _group_sizes(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    _, at, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(sizes[at])


def _own_level(view: View, column: Column, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Learns the times of this tick's new samples; the level before that, NaN while it is not known."""
    memory = view.series["memory"]
    model = memory[column.sids]
    level = np.where(model[:, baseline.COUNT] >= baseline.WARMUP, model[:, baseline.LEVEL], np.nan)
    new = view.series["valued_ns"][column.sids] >= view.end_ns - view.config.tick_ns
    ignored, scores = np.empty(len(column)), np.empty(len(memory))
    values = np.where(new, seconds, np.nan)
    view.learn(column.sids, values, memory, ignored, scores)
    return level
