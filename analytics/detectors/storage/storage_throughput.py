"""Throughput collapse: clients wait for a storage target all the time, and it moves a small part of its usual bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.levels import LEVEL, learned_level
from analytics.detectors.spec import Detector, EvidenceColumns, Verdicts
from analytics.detectors.storage.operations import WAITING_MIN
from analytics.detectors.storage.storage_slow import ONE_CLIENT_CONFIDENCE, ONE_CLIENT_OPERATIONS
from analytics.models import baseline
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.selectors import server_traffic

_BYTES = ("storage_read_bytes_total", "storage_written_bytes_total")
_WAITING = ("storage_operation_duration_seconds_sum", "storage_queue_depth")
_OPERATIONS = "storage_operation_duration_seconds_count"
_COLLAPSED_SHARE = 0.1  # of its own throughput while it works
# What moves a tenth for as many clients takes ten times as long for each operation; what takes hardly longer than usual
# is asked for less, or for smaller pieces. Twice is more than a queue of other length makes (assumption).
_LONGER_TIMES, _SCORE_ASKED_LESS = 2.0, 0.99
_CONFIDENCE = 0.75


@dataclass(frozen=True, kw_only=True)
class StorageThroughput(Detector):
    """Judges reads and writes together, while clients wait; a target without work is not judged.

    ``storage_slow`` compares targets with each other; this one sees a whole file system that gets slow.
    """

    name: str = "storage_throughput"
    kind: FindingKind = FindingKind.STORAGE_SLOW
    metrics: tuple[str, ...] = (*_BYTES, *_WAITING, _OPERATIONS)
    persist: int = 2
    memory: tuple[MemoryColumn, ...] = (*LEVEL, LEVEL[0]._replace(name="seconds"))
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: _from_format_1}, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        written = view.column(_BYTES[1], server_traffic)
        _, rows = np.unique(written.objects, return_index=True)  # disks of one host are one object
        targets = written.only(rows)
        moved = _sums(view, targets, _BYTES)
        waiting = _sums(view, targets, _WAITING)
        busy = waiting >= WAITING_MIN
        usual = learned_level(view, memory, targets, np.where(busy, moved, np.nan))
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(busy, np.minimum(_COLLAPSED_SHARE * usual / np.fmax(moved, 1.0), 10.0), 0.0)
            operations = _sums(view, targets, (_OPERATIONS,))  # none where nobody counts them
            seconds = np.where(operations > 0.0, _sums(view, targets, _WAITING[:1]) / operations, np.nan)
            usual_s = learned_level(view, memory, targets, np.where(busy, seconds, np.nan), "seconds")
            score = np.where(seconds < _LONGER_TIMES * usual_s, np.minimum(score, _SCORE_ASKED_LESS), score)
        known = np.flatnonzero(targets.fresh & ~np.isnan(score) & ~np.isnan(moved))
        shown, score = targets.only(known), score[known]
        evidence = (
            EvidenceColumns(shown.sids, moved[known], usual[known], "bytes/s"),
            EvidenceColumns(shown.sids, waiting[known], np.full(known.size, np.nan), "operations in progress"),
        )
        confidence = np.where(waiting[known] > ONE_CLIENT_OPERATIONS, _CONFIDENCE, ONE_CLIENT_CONFIDENCE)
        return [Verdicts(shown.objects, shown.times_ns, score >= 1.0, score, evidence, confidence)]


def _sums(view: TickView, targets: Column, metrics: tuple[str, ...]) -> NDArray[np.float64]:
    """Of all fresh series of each target."""
    column = view.joined([view.column(metric, server_traffic) for metric in metrics])
    column = column.only(column.fresh & np.isin(column.objects, targets.objects))
    at = np.searchsorted(targets.objects, column.objects)
    return np.bincount(at, column.values, len(targets)).astype(np.float64)


def _from_format_1(state: State) -> State:
    """Format 1 knew no times of operations: they are learned again from the first sample on."""
    return State(state.head, {**state.arrays, "seconds": np.zeros((len(state.arrays["sid"]), baseline.WIDTH))})
