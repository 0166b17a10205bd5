"""The interface of all detectors: each judges a tick and returns verdicts, of which the tracker makes findings."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot.block import Migration
from analytics.state.columns import locked
from analytics.state.lookup import lookup, worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

LOADED_SHARE = 0.25  # of a port (assumption)


class Scope(StrEnum):
    """Which series a detector compares, and so where it can run."""

    DEVICE = "device"  # the series of one device: any worker that owns the device
    CLUSTER = "cluster"  # several devices, or jobs: one worker for all


@dataclass(frozen=True)
class EvidenceColumns:
    """Evidence of each verdict as columns of n rows.

    sids: the series; values: what it reports; normals: what it should report, NaN where that is not known.
    unit: '' for the series' own. label: row -> name of a value that is no series; None for the series' key.
    learned: whether ``normals`` are what each series was by itself until now, and so follow a fault that lasts.
    """

    sids: NDArray[np.int64]
    values: NDArray[np.float64]
    normals: NDArray[np.float64]
    unit: str = ""
    label: Callable[[int], str] | None = None
    learned: bool = False


def computed_evidence(
    values: NDArray[np.float64], normals: NDArray[np.float64] | float, unit: str, label: Callable[[int], str]
) -> EvidenceColumns:
    """Evidence that is no series itself. normals: of each row, or one for all."""
    of_each = normals if isinstance(normals, np.ndarray) else np.full(values.size, normals)
    return EvidenceColumns(np.full(values.size, -1), values, of_each, unit, label)


@dataclass(frozen=True)
class Verdicts:
    """One row for each object that could be judged; an object without fresh values has no row.

    objects: int64[n], object numbers, each once. times_ns: int64[n], event time of the sample judged.
    score: float64[n], 1.0 = the detector's limit. breached: bool[n]. confidence: float64[n] or one number.
    onsets_ns: int64[n], when a new breach began; None where that is ``times_ns``.
    cadence_s: float64[n], usual seconds between two verdicts; None: between two values of the first evidence.
    load: float64[n], bytes a second or watts without which a row that does not breach shows nothing, NaN where it is
        not known; None for what shows without load. usual_load: what is usual, NaN where nothing is learned yet.
    loaded_share: of the most load while it breached, or of the usual one where that is less: less shows nothing.
    """

    objects: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    breached: NDArray[np.bool_]
    score: NDArray[np.float64]
    evidence: tuple[EvidenceColumns, ...] = ()
    confidence: float | NDArray[np.float64] = 0.9
    onsets_ns: NDArray[np.int64] | None = None
    cadence_s: NDArray[np.float64] | None = None
    load: NDArray[np.float64] | None = None
    usual_load: NDArray[np.float64] | None = None
    loaded_share: float = LOADED_SHARE


_NO_ROWS, _NO_VALUES = locked(np.zeros(0, np.int64)), locked(np.zeros(0))
_NO_EVIDENCE = EvidenceColumns(_NO_ROWS, _NO_VALUES, _NO_VALUES)
NO_VERDICTS = Verdicts(_NO_ROWS, _NO_ROWS, locked(np.zeros(0, np.bool_)), _NO_VALUES, (_NO_EVIDENCE,))


@dataclass(frozen=True, kw_only=True)
class Detector(ABC):
    """name: unique. kind: of its findings. metrics: canonical names that it reads. scope: see ``Scope``.
    by_targets: whether it judges how targets answer; others are not asked while there is no series of their metrics.

    persist: samples in a row that must breach before there is a finding.
    fire_immediately_score: score from which one sample is enough.
    clear_intervals: without a breach until the finding clears, in the cadence of its evidence.
    light: whether it judges light ticks too, so that one reading opens a finding at once. It learns nothing from
    how often it judges.
    memory: columns of its own memory, by series. memory_format: goes up when the columns change or mean something else;
    what was remembered begins again, or goes on by the ``memory_migrations`` from each earlier format.
    """

    name: str
    kind: FindingKind
    metrics: tuple[str, ...] = ()
    by_targets: bool = False
    scope: Scope = Scope.DEVICE
    persist: int = 1
    fire_immediately_score: float = math.inf
    clear_intervals: float = 3.0
    light: bool = False
    memory: tuple[MemoryColumn, ...] = ()
    memory_format: int = 1
    memory_migrations: Mapping[int, Migration] = field(default_factory=dict, hash=False)

    @abstractmethod
    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        """What this tick shows. Pure: the same view and memory give the same verdicts and the same memory after it.

        memory: a draft of the detector's own, kept when this returns and dropped when it raises.
        """


def verdicts_of(
    column: Column,
    score: NDArray[np.float64],
    *,
    normals: NDArray[np.float64] | None = None,
    values: NDArray[np.float64] | None = None,
    unit: str = "",
    confidence: float = 0.9,
    onsets_ns: NDArray[np.int64] | None = None,
    load: Column | None = None,
    loaded_share: float = LOADED_SHARE,
) -> Verdicts:
    """One verdict an object from the fresh rows of a column: that of its worst series. score >= 1 breaches.

    onsets_ns: int64[k], when a new breach of each row began; None where that is the time of its sample.
    load, loaded_share: what the objects carry, in bytes a second, or draw, in watts; see ``Verdicts``.

    An object that does not breach has none unless it is watched: nothing waits for it to clear.
    """
    rows = _of_interest(column, score)
    if not rows.size:
        return NO_VERDICTS
    rows = rows[worst_of_each(column.objects[rows], score[rows])]
    worst = column.only(rows)
    shown = worst.values if values is None else values[rows]
    normal = worst.level if normals is None else normals[rows]
    evidence = EvidenceColumns(worst.sids, shown, normal, unit=unit, learned=normals is None)
    breached = score[rows] >= 1.0
    onsets = None if onsets_ns is None else onsets_ns[rows]
    verdicts = Verdicts(worst.objects, worst.times_ns, breached, score[rows], (evidence,), confidence, onsets)
    if load is None:
        return verdicts
    load = load.only(load.fresh)
    carried, usual = load.about(worst.objects), np.append(load.level, np.nan)[lookup(load.objects, worst.objects)]
    return replace(verdicts, load=carried, usual_load=usual, loaded_share=loaded_share)


def _of_interest(column: Column, score: NDArray[np.float64]) -> NDArray[np.int64]:
    interesting = score >= 1.0
    if column.watching:
        interesting |= column.watched & ~np.isnan(score)
    rows = interesting.nonzero()[0]
    return np.asarray(rows[column.only(rows).fresh]) if rows.size else rows
