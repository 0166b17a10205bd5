"""Scores of every method on every series, the threshold of each from the tuning seeds, figures on the other seeds."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from analytics.models.scoring.scorer import REASONS, SeriesScorer
from evaluation.baselines import change_points, decomposed, learned, neighbours, random_cut_forest, statistical, tails
from evaluation.series.events import (
    Figures,
    Judged,
    Outcome,
    average_precision,
    f1_range,
    false_starts,
    figures,
    judged,
    outcome,
    sweep,
    thresholds,
)
from evaluation.series.signals import Floats
from evaluation.series.synthetic import TUNING_SEEDS, Series, corpus

Method = Callable[[Series], Floats]
OURS = "fabricscope"


def fabricscope(series: Series) -> Floats:
    return SeriesScorer().score(series.times_ns, series.values).score


RIVALS: dict[str, Method] = {
    "robust z-score": statistical.robust_z,
    "EWMA": statistical.ewma,
    "EWMA of differences": statistical.ewma_of_steps,
    "seasonal naive, day": statistical.naive_day,
    "seasonal naive, week": statistical.naive_week,
    "DSPOT": tails.dspot,
    "anomaly likelihood": tails.anomaly_likelihood,
    "isolation forest, windows": learned.isolation_forest,
    "half-space trees (River)": learned.half_space_trees,
    "spectral residual": statistical.spectral_residual,
    "left matrix profile": learned.left_discord,
    "KNN-CAD": neighbours.knn_cad,
    "random cut forest": random_cut_forest.random_cut_forest,
    "CUSUM": change_points.cusum,
    "Bayesian change points": change_points.bayesian_change,
    "FluxEV": decomposed.fluxev,
    "OneShotSTL": decomposed.one_shot_stl,
}
METHODS: dict[str, Method] = {OURS: fabricscope, **RIVALS}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A method at one threshold for all series, on seeds that its threshold was not chosen on.

    outcomes: one a series. area: average precision over all thresholds, event-wise.
    f1_range: within which 90 % of F1 lie when other series of the same kinds are drawn.
    recall_as_calm: the highest recall with no more false events than ours makes at 1.0; chosen after the fact.
    """

    method: str
    threshold: float
    figures: Figures
    f1_range: tuple[float, float]
    area: float
    recall_as_calm: float
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """Series and what each method says of them; ``scores[method][i]`` belongs to ``parts[i]``."""

    parts: tuple[Judged, ...]
    scores: dict[str, list[Floats]]


def run(of: Iterable[Series]) -> list[Verdict]:
    """Ours at 1.0 and at its best tuning threshold, then each rival at its best tuning threshold, on these series."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        tuning = score(corpus(TUNING_SEEDS), METHODS, pool)
        report = score(of, METHODS, pool)
    as_it_comes = [outcome(part, each >= 1.0) for part, each in zip(report.parts, report.scores[OURS], strict=True)]
    calm = figures(as_it_comes).false_events
    tuned = [verdict(method, best_threshold(method, tuning), report, calm) for method in METHODS]
    return [verdict(OURS, 1.0, report, calm), *tuned]


def score(of: Iterable[Series], methods: Iterable[str], pool: ProcessPoolExecutor) -> Scored:
    parts = tuple(judged(series) for series in of)
    jobs = {method: [pool.submit(_score_one, method, part.series) for part in parts] for method in methods}
    return Scored(parts, {method: [job.result() for job in each] for method, each in jobs.items()})


def _score_one(method: str, series: Series) -> Floats:
    return METHODS[method](series)


def best_threshold(method: str, scored: Scored) -> float:
    """That of the highest event-wise F1 over all series together."""
    scores = scored.scores[method]
    levels = thresholds(scores, scored.parts)
    f1 = [each.f1 for each in sweep(scores, scored.parts, levels)]
    return float(levels[int(np.nanargmax(f1))])


def verdict(method: str, threshold: float, scored: Scored, calm: int) -> Verdict:
    """``calm``: false events at which recalls are compared."""
    scores = scored.scores[method]
    swept = sweep(scores, scored.parts, thresholds(scores, scored.parts))
    as_calm = max((each.recall for each in swept if each.false_events <= calm), default=0.0)
    outcomes = tuple(outcome(part, each >= threshold) for part, each in zip(scored.parts, scores, strict=True))
    return Verdict(
        method, threshold, figures(outcomes), f1_range(outcomes), average_precision(swept), as_calm, outcomes
    )


def by_reason(of: Iterable[Series]) -> dict[str, tuple[int, int]]:
    """For each reason that ours gives: windows that it noticed first, and false events that it began."""
    counts = {reason: [0, 0] for reason in REASONS if reason}
    for series in of:
        part = judged(series)
        found = SeriesScorer().score(series.times_ns, series.values)
        for window, delay in zip(part.windows, outcome(part, found.alert).delays, strict=True):
            if delay is not None:
                counts[REASONS[found.reason[window.start + delay]]][0] += 1
        for start in false_starts(part, found.alert):
            counts[REASONS[found.reason[start]]][1] += 1
    return {reason: (hits, false) for reason, (hits, false) in counts.items() if hits or false}


def by_kind(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    kinds = dict.fromkeys(each.series.kind for each in outcomes)
    return {kind: figures([each for each in outcomes if each.series.kind == kind]) for kind in kinds}


def by_anomaly(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """For each sort of anomaly: how many were found, of how many."""
    found: dict[str, tuple[int, int]] = {}
    for each in outcomes:
        for window, delay in zip(each.windows, each.delays, strict=True):
            hits, all_of_them = found.get(window.anomaly, (0, 0))
            found[window.anomaly] = hits + (delay is not None), all_of_them + 1
    return dict(sorted(found.items()))
