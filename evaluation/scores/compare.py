"""Every method on every series: thresholds chosen on the tuning seeds, figures on the other seeds."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from analytics.models.scoring.scorer import REASONS, SeriesScorer
from evaluation.scores.figures import (
    Figures,
    Outcome,
    PreparedSeries,
    average_precision,
    f1_range,
    false_starts,
    figures,
    outcome,
    prepared,
    sweep,
    thresholds,
)
from evaluation.scores.methods import METHODS, OURS
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats
from evaluation.series.synthetic import TUNING_SEEDS, corpus


@dataclass(frozen=True, slots=True)
class MethodResult:
    """A method at one threshold for all series, on other seeds than those that its threshold was chosen on.

    outcomes: one a series. area: average precision over all thresholds, event-wise.
    f1_range: 90 % bootstrap interval of F1 over series of the same kinds.
    recall_at_equal_false: the highest recall with no more false events than the product has at 1.0, at a threshold
    chosen with hindsight.
    """

    method: str
    threshold: float
    figures: Figures
    f1_range: tuple[float, float]
    area: float
    recall_at_equal_false: float
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """Series and their scores by method: ``scores[method][i]`` is of ``parts[i]``."""

    parts: tuple[PreparedSeries, ...]
    scores: dict[str, list[Floats]]


def run(series: Iterable[Series]) -> list[MethodResult]:
    """On these series: the product at 1.0, then each method, the product too, at its best tuning threshold."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        tuning = score(corpus(TUNING_SEEDS), METHODS, pool)
        report = score(series, METHODS, pool)
    at_default = [outcome(part, each >= 1.0) for part, each in zip(report.parts, report.scores[OURS], strict=True)]
    false_events = figures(at_default).false_events
    tuned = [result(method, best_threshold(method, tuning), report, false_events) for method in METHODS]
    return [result(OURS, 1.0, report, false_events), *tuned]


def score(series: Iterable[Series], methods: Iterable[str], pool: ProcessPoolExecutor) -> Scored:
    parts = tuple(prepared(each) for each in series)
    jobs = {method: [pool.submit(_score_one, method, part.series) for part in parts] for method in methods}
    return Scored(parts, {method: [job.result() for job in each] for method, each in jobs.items()})


def _score_one(method: str, series: Series) -> Floats:
    return METHODS[method](series)


def best_threshold(method: str, scored: Scored) -> float:
    """The threshold of the highest event-wise F1 over all series together."""
    scores = scored.scores[method]
    levels = thresholds(scores, scored.parts)
    f1 = [each.f1 for each in sweep(scores, scored.parts, levels)]
    return float(levels[int(np.nanargmax(f1))])


def result(method: str, threshold: float, scored: Scored, false_events: int) -> MethodResult:
    """false_events: the number of false events at which recalls are compared."""
    scores = scored.scores[method]
    swept = sweep(scores, scored.parts, thresholds(scores, scored.parts))
    recall = max((each.recall for each in swept if each.false_events <= false_events), default=0.0)
    outcomes = tuple(outcome(part, each >= threshold) for part, each in zip(scored.parts, scores, strict=True))
    area = average_precision(swept)
    return MethodResult(method, threshold, figures(outcomes), f1_range(outcomes), area, recall, outcomes)


def by_reason(series: Iterable[Series]) -> dict[str, tuple[int, int]]:
    """By reason of the product's first alert: windows found, and false events."""
    counts = {reason: [0, 0] for reason in REASONS if reason}
    for each in series:
        part = prepared(each)
        found = SeriesScorer().score(each.times_ns, each.values)
        for window, delay in zip(part.windows, outcome(part, found.alert).delays, strict=True):
            if delay is not None:
                counts[REASONS[found.reason[window.start + delay]]][0] += 1
        for start in false_starts(part, found.alert):
            counts[REASONS[found.reason[start]]][1] += 1
    return {reason: (hits, false) for reason, (hits, false) in counts.items() if hits or false}


def by_kind(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """Figures by kind of series."""
    kinds = dict.fromkeys(each.series.kind for each in outcomes)
    return {kind: figures([each for each in outcomes if each.series.kind == kind]) for kind in kinds}


def by_anomaly(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """By type of anomaly: how many windows were found, of how many."""
    found: dict[str, tuple[int, int]] = {}
    for each in outcomes:
        for window, delay in zip(each.windows, each.delays, strict=True):
            hits, total = found.get(window.anomaly, (0, 0))
            found[window.anomaly] = hits + (delay is not None), total + 1
    return dict(sorted(found.items()))
