"""Software changed: a device shows another version of a component than it showed before.

A version is a label, so a new one is a series of its own, and the one before is not in the collections any more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import NO_VERDICTS, Detector, EvidenceColumns, Verdicts, computed_evidence
from analytics.detectors.telemetry.software import METRIC, Change, evidence_key
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.rates import NEVER
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_LASTS_INTERVALS = 6.0  # exporters of a device start one after the other: what is new then is one finding
_CONFIDENCE = 0.95
_TEXT_MAX = 64  # of a version, as people read it


@dataclass(frozen=True, kw_only=True)
class SoftwareChanged(Detector):
    """A finding about a moment. Versions side by side, as of NICs of two types, are no change while both are there."""

    name: str = "software_changed"
    kind: FindingKind = FindingKind.SOFTWARE_CHANGED
    metrics: tuple[str, ...] = (METRIC,)
    clear_intervals: float = 1.0
    memory: tuple[MemoryColumn, ...] = (MemoryColumn("since_ns", dtype="i8"),)  # first seen as it is now; 0: it is gone

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.column(METRIC)
        if not len(column):
            return [NO_VERDICTS]
        rows, part = memory.rows(column.sids), view.data.per_series(_components)
        seen_ns = view.index.columns["seen_ns"][column.sids]
        newest_ns = np.full(part.max() + 1, seen_ns.min())
        np.maximum.at(newest_ns, part, seen_ns)
        known_ns = np.where(memory["since_ns"][rows] > 0, memory["since_ns"][rows], seen_ns)
        since_ns = memory["since_ns"][rows] = np.where(seen_ns == newest_ns[part], known_ns, 0)
        recent = since_ns >= view.end_ns - round(_LASTS_INTERVALS * view.config.interval_ns)
        if not (recent.any() or column.watched.any()):
            return [NO_VERDICTS]
        new = {at: had for at in np.flatnonzero(recent).tolist() if (had := _before(part, seen_ns, since_ns, at)) >= 0}
        return [_verdicts(view, column, new, seen_ns, since_ns)]


def _before(part: NDArray[np.int64], seen_ns: NDArray[np.int64], since_ns: NDArray[np.int64], at: int) -> int:
    """The row of the version that a component had until this one came; -1 without one."""
    gone = np.flatnonzero((part == part[at]) & (since_ns == 0) & (seen_ns != NEVER) & (seen_ns < since_ns[at]))
    return int(gone[np.argmax(seen_ns[gone])]) if gone.size else -1


def _verdicts(
    view: TickView, column: Column, new: Mapping[int, int], seen_ns: NDArray[np.int64], since_ns: NDArray[np.int64]
) -> Verdicts:
    """One for each device that has a new version, or had one and is watched. new: by row that of the version before."""
    objects, first, row_of = np.unique(column.objects, return_index=True, return_inverse=True)
    changes: list[list[Change]] = [[] for _ in objects]
    onsets_ns, newest_ns = seen_ns[first], seen_ns[first]
    np.maximum.at(newest_ns, row_of, seen_ns)
    for at, had in new.items():
        row, (component, version) = row_of[at], _labels(view.index, column.sids[at])
        onsets_ns[row] = min(since_ns[at], onsets_ns[row]) if changes[row] else since_ns[at]
        changes[row].append(Change(component, version, _labels(view.index, column.sids[had])[1]))
    changed = np.array([bool(each) for each in changes])
    judged = np.flatnonzero(changed | column.watched[first])
    evidence = _evidence(view, objects[judged], [sorted(changes[row]) for row in judged.tolist()])
    cadence_s = view.target_cadence_s[column.targets[first[judged]]]
    score = changed[judged] * 1.0
    times_ns, onsets_ns = newest_ns[judged], onsets_ns[judged]
    return Verdicts(objects[judged], times_ns, changed[judged], score, evidence, _CONFIDENCE, onsets_ns, cadence_s)


def _evidence(view: TickView, objects: NDArray[np.int64], changes: list[list[Change]]) -> tuple[EvidenceColumns, ...]:
    """A column for the first change of each device, one for the second, …"""

    def of(place: int) -> EvidenceColumns:
        def key(row: int) -> str:
            return evidence_key(view.index.object_ref(int(objects[row])).name, changes[row][place])

        there = np.array([1.0 if place < len(each) else np.nan for each in changes])
        return computed_evidence(there, np.nan, "version", key)

    return tuple(of(place) for place in range(max(map(len, changes), default=0)))


def _components(index: SeriesIndex) -> NDArray[np.int64]:
    """int64[k]: of each series the number of its component, as its target reports it."""
    sids = index.select(METRIC).tolist()
    keys = [(int(index.columns["target"][sid]), _labels(index, sid)[0]) for sid in sids]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)


def _labels(index: SeriesIndex, sid: int) -> tuple[str, str]:
    labels = index.labels(sid)
    return labels.get("component", ""), labels.get("version", "")[:_TEXT_MAX]
