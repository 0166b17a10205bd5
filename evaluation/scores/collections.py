"""Methods on collections of recordings: thresholds chosen on one half of each, figures on the other.

A recording of many columns has one score a row, of the scores of its columns: their greatest, or the row score of
``analytics/offline/rows.py``, whichever does better in the half for choosing. Both are tried for every method but the
isolation forest: it takes many columns together. The product at 1.0 has its row score.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from analytics.models.scoring.scorer import REASONS, SeriesScorer
from analytics.offline.rows import row_score
from evaluation.baselines.learned import isolation_forest_of_rows
from evaluation.scores.compare import Scored, best_threshold
from evaluation.scores.events import Event, events_of
from evaluation.scores.figures import Figures, Outcome, false_starts, figures, outcome, prepared
from evaluation.scores.methods import METHODS, OURS
from evaluation.series import recurring
from evaluation.series.folders import Recording, halves
from evaluation.series.signals import Floats

GREATEST, ROW, TOGETHER = "greatest", "row score", "together"
_FOREST = "isolation forest, windows"
BASELINES = (
    "EWMA",
    "seasonal naive, day",
    "seasonal naive, week",
    "level and jump, calibrated",
    _FOREST,
    "KNN-CAD",
    "FluxEV",
)


@dataclass(frozen=True, slots=True)
class Collection:
    """choosing: recordings that thresholds and the product's numbers are chosen on. report: those of the figures."""

    name: str
    choosing: tuple[Recording, ...]
    report: tuple[Recording, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A method at one threshold for all recordings of a collection. columns: how those of a row become one score.

    chosen: its figures on the recordings for choosing. report, outcomes: on the others.
    """

    collection: str
    method: str
    columns: str
    threshold: float
    chosen: Figures
    report: Figures
    outcomes: tuple[Outcome, ...]


def labelled(recordings: Iterable[Recording]) -> list[Collection]:
    """The collections of a folder, each in two halves."""
    by_name: dict[str, list[Recording]] = {}
    for each in recordings:
        by_name.setdefault(each.collection, []).append(each)
    return [Collection(name, *map(tuple, halves(found))) for name, found in by_name.items()]


def made() -> Collection:
    """The made series with many events, of seeds for tuning and of others."""
    choosing, report = (
        tuple(Recording("recurring", f"{each.kind}-{each.seed}-{at}", (each,)) for at, each in enumerate(of_seeds))
        for of_seeds in map(recurring.corpus, (recurring.TUNING_SEEDS, recurring.REPORT_SEEDS))
    )
    return Collection("recurring", choosing, report)


def row_scores(method: str, recording: Recording) -> dict[str, Floats]:
    """float64[rows], by the way in which the scores of columns become one."""
    if method == _FOREST and len(recording.columns) > 1:
        return {TOGETHER: isolation_forest_of_rows(recording.columns)}
    scores = np.array([METHODS[method](column) for column in recording.columns])
    if len(scores) == 1:
        return {GREATEST: scores[0]}
    return {ROW: row_score(np.maximum(scores, 0.0)), GREATEST: scores.max(axis=0)}


def judge(collection: Collection, pool: Executor, methods: Sequence[str] = BASELINES) -> list[Judged]:
    """The product at 1.0, at the best threshold, and each of the methods at its best."""
    found: list[Judged] = []
    for method in (OURS, *methods):
        scores = [
            list(pool.map(row_scores, [method] * len(part), part)) for part in (collection.choosing, collection.report)
        ]
        if method == OURS:
            found.append(_judged(collection, method, next(iter(scores[0][0])), scores, 1.0))
        each_way = [_judged(collection, method, way, scores, None) for way in scores[0][0]]
        found.append(max(each_way, key=lambda each: np.nan_to_num(each.chosen.f1)))
    return found


def _judged(
    collection: Collection, method: str, way: str, scores: Sequence[Sequence[Mapping[str, Floats]]], level: float | None
) -> Judged:
    """level: the threshold; None for that of the best F1 on the recordings for choosing."""
    choosing, report = (
        Scored(tuple(prepared(each.columns[0]) for each in part), {method: [each[way] for each in of_part]})
        for part, of_part in zip((collection.choosing, collection.report), scores, strict=True)
    )
    threshold = best_threshold(method, choosing) if level is None else level
    chosen, outcomes = (
        tuple(outcome(part, each >= threshold) for part, each in zip(of.parts, of.scores[method], strict=True))
        for of in (choosing, report)
    )
    return Judged(collection.name, method, way, threshold, figures(chosen), figures(outcomes), outcomes)


def events(collection: Collection, judged: Judged) -> list[tuple[Event, bool]]:
    """Each event of the report, and whether it was found."""
    return [
        (event, delay is not None)
        for recording, found in zip(collection.report, judged.outcomes, strict=True)
        for event, delay in zip(events_of(recording), found.delays, strict=True)
    ]


def experts(collection: Collection) -> dict[str, tuple[int, int]]:
    """By reason of the product's first alert in any column, the highest: events found, and false ones."""
    hits, false = Counter[str](), Counter[str]()
    for recording in collection.report:
        scores = [SeriesScorer().score(each.times_ns, each.values, bands=False) for each in recording.columns]
        highest = np.argmax([each.score for each in scores], axis=0)
        reason = np.array([each.reason for each in scores])[highest, np.arange(highest.size)]
        alert = np.any([each.alert for each in scores], axis=0)
        part = prepared(recording.columns[0])
        for window, delay in zip(part.windows, outcome(part, alert).delays, strict=True):
            if delay is not None:
                hits[REASONS[reason[window.start + delay]]] += 1
        false.update(REASONS[reason[start]] for start in false_starts(part, alert))
    return {name: (hits[name], false[name]) for name in REASONS if hits[name] or false[name]}
