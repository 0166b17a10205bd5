"""The one shape of all detectors: they look at a tick and give verdicts; the findings book makes findings of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analytics.state.view import Column, View, worst_of_each
from telemetry.findings import FindingKind


@dataclass(frozen=True)
class Evidence:
    """Evidence of each verdict as columns of n rows.

    sids: the series; values: what it says; normals: what it should say, NaN where nothing is known.
    unit: '' takes the series' own. label: row -> name of a value that is no series; None takes the series' key.
    """

    sids: NDArray[np.int64]
    values: NDArray[np.float64]
    normals: NDArray[np.float64]
    unit: str = ""
    label: Callable[[int], str] | None = None


@dataclass(frozen=True)
class Verdicts:
    """One row for each object that could be judged; an object about which nothing fresh is known has no row.

    objects: int64[n], registry numbers, each once. times_ns: int64[n], event time of the sample judged.
    score: float64[n], 1.0 = the detector's limit. breached: bool[n]. confidence: float64[n] or one number.
    onsets_ns: int64[n], when a breach that is new began; None where that is ``times_ns``.
    """

    objects: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    breached: NDArray[np.bool_]
    score: NDArray[np.float64]
    evidence: tuple[Evidence, ...] = ()
    confidence: float | NDArray[np.float64] = 0.9
    onsets_ns: NDArray[np.int64] | None = None


class Detector(Protocol):
    """metrics: canonical names that it reads.

    persist: samples in a row that must breach before there is a finding.
    sure: score from which one sample is enough.
    clear_intervals: collection intervals without a breach until it is over.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> FindingKind: ...
    @property
    def metrics(self) -> tuple[str, ...]: ...
    @property
    def persist(self) -> int: ...
    @property
    def sure(self) -> float: ...
    @property
    def clear_intervals(self) -> float: ...

    def judge(self, view: View) -> list[Verdicts]:
        """What this tick shows. Pure: the same view gives the same verdicts."""
        ...


def verdicts_of(
    column: Column,
    score: NDArray[np.float64],
    *,
    normals: NDArray[np.float64] | None = None,
    values: NDArray[np.float64] | None = None,
    unit: str = "",
    confidence: float = 0.9,
) -> Verdicts:
    """One verdict an object from the fresh rows of a column: the worst series speaks for it. score >= 1 breaches.

    An object that does not breach has none unless it is watched: nobody waits for good news of it.
    """
    rows = _of_interest(column, score)
    rows = rows[worst_of_each(column.objects[rows], score[rows])]
    worst = column.only(rows)
    shown = worst.values if values is None else values[rows]
    normal = worst.level if normals is None else normals[rows]
    evidence = Evidence(worst.sids, shown, normal, unit=unit)
    breached = score[rows] >= 1.0
    return Verdicts(worst.objects, worst.times_ns, breached, score[rows], (evidence,), confidence)


def _of_interest(column: Column, score: NDArray[np.float64]) -> NDArray[np.int64]:
    interesting = score >= 1.0
    if column.watching:
        interesting |= column.watched & ~np.isnan(score)
    rows = np.flatnonzero(interesting)
    return np.asarray(rows[column.only(rows).fresh])
