"""Event-wise figures of a method on labelled series, without point adjustment.

A window is found when at least one alert is in it or at most ``LATE`` points after it; its delay is that of the first
one. Alerts elsewhere that are at most ``GAP`` points apart are one false event, and one more for every ``LONGEST``
points that it lasts, so that a method that always alerts has a low precision. Alerts at most ``GAP`` points after a
window are its aftermath: neither hit nor false.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from evaluation.series.labelled import Series, Window
from evaluation.series.signals import DAY_S, Floats

GAP = 12
LATE = 3
LONGEST = 50
# Weight of a false event in the early-detection score: that of NAB's standard profile.
_FALSE_COST = 0.11


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result on one series at one threshold.

    delays: for each window in order, points from its start to its first alert; None where it was missed.
    false_events, points, days: after the probation.
    """

    series: Series
    windows: tuple[Window, ...]
    delays: tuple[int | None, ...]
    false_events: int
    points: int
    days: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Event-wise figures over many series; NaN where the denominator is 0."""

    windows: int
    found: int
    false_events: int
    precision: float
    recall: float
    f1: float
    delay_points: float
    delay_share: float
    false_per_day: float
    false_per_1000: float
    early: float


@dataclass(slots=True)
class PreparedSeries:
    """A series with what does not depend on the threshold. outside: bool[n], where an alert is false."""

    series: Series
    windows: tuple[Window, ...]
    outside: NDArray[np.bool_] = field(init=False)
    days: float = field(init=False)

    def __post_init__(self) -> None:
        n = self.series.values.size
        self.outside = np.ones(n, dtype=np.bool_)
        self.outside[: self.series.probation] = False
        for window in self.series.windows:
            self.outside[window.start : window.end + GAP] = False
        times_ns = self.series.times_ns
        self.days = float(times_ns[-1] - times_ns[self.series.probation]) / (DAY_S * NS_PER_S)


def prepared(series: Series) -> PreparedSeries:
    """Its windows without the excused ones."""
    return PreparedSeries(series, tuple(window for window in series.windows if window.anomaly != "excused"))


def outcome(part: PreparedSeries, alerts: NDArray[np.bool_]) -> Outcome:
    """The outcome of ``alerts``, bool[n]."""
    delays = tuple(_delay(alerts[window.start : window.end + LATE]) for window in part.windows)
    false_at = np.flatnonzero(alerts & part.outside)
    points = part.series.values.size - part.series.probation
    return Outcome(part.series, part.windows, delays, false_events(false_at), points, part.days)


def false_starts(part: PreparedSeries, alerts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[]: the first point of each false event."""
    at = np.flatnonzero(alerts & part.outside)
    return at[np.diff(at, prepend=-GAP - 1) > GAP]


def _delay(inside: NDArray[np.bool_]) -> int | None:
    first = int(np.argmax(inside)) if inside.size else 0
    return first if inside.size and inside[first] else None


def false_events(at: NDArray[np.int64]) -> int:
    """Number of false events of alerts at these points (ascending)."""
    if not at.size:
        return 0
    breaks = np.flatnonzero(np.diff(at) > GAP)
    first, last = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [at.size - 1]])
    return int(np.sum(1 + (at[last] - at[first]) // LONGEST))


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Figures over all outcomes; every window has the same weight."""
    delays = [delay for each in outcomes for delay in each.delays]
    lengths = [window.end - window.start for each in outcomes for window in each.windows]
    hits = [(delay, length) for delay, length in zip(delays, lengths, strict=True) if delay is not None]
    false = sum(each.false_events for each in outcomes)
    points, days = sum(each.points for each in outcomes), sum(each.days for each in outcomes)
    precision = len(hits) / (len(hits) + false) if hits or false else float("nan")
    recall = len(hits) / len(delays) if delays else float("nan")
    return Figures(
        windows=len(delays),
        found=len(hits),
        false_events=false,
        precision=precision,
        recall=recall,
        f1=2 * len(hits) / (len(hits) + false + len(delays)) if delays or false else float("nan"),
        delay_points=float(np.median([delay for delay, _ in hits])) if hits else float("nan"),
        delay_share=float(np.mean([delay / length for delay, length in hits])) if hits else float("nan"),
        false_per_day=false / days if days else float("nan"),
        false_per_1000=1000 * false / points if points else float("nan"),
        early=_early(hits, len(delays), false),
    )


def f1_range(outcomes: Sequence[Outcome], draws: int = 300) -> tuple[float, float]:
    """90 % bootstrap interval of F1: series drawn with replacement."""
    rng = np.random.default_rng(0)
    hits = np.array([sum(delay is not None for delay in each.delays) for each in outcomes])
    counts = 2 * hits, hits + [each.false_events + len(each.delays) for each in outcomes]
    drawn = rng.integers(0, len(outcomes), (draws, len(outcomes)))
    below = np.maximum(counts[1][drawn].sum(axis=1), 1)
    low, high = np.quantile(counts[0][drawn].sum(axis=1) / below, (0.05, 0.95))
    return float(low), float(high)


def _early(hits: Sequence[tuple[int, int]], windows: int, false: int) -> float:
    """In percent: a hit scores NAB's sigmoid of its place in the window, a miss costs 1; no alert is 0, perfect is 100.

    Source: Lavin and Ahmad (2015), Evaluating Real-time Anomaly Detection Algorithms, scaled the same way.
    """
    if not windows:
        return float("nan")
    top = _sigmoid(-1.0)
    scored = sum(_sigmoid(min(delay / length, 1.0) - 1.0) for delay, length in hits) / top
    return 100 * (scored - (windows - len(hits)) - _FALSE_COST * false + windows) / (2 * windows)


def _sigmoid(place: float) -> float:
    return 2 / (1 + float(np.exp(5 * place))) - 1


def thresholds(scores: Sequence[Floats], parts: Sequence[PreparedSeries], count: int = 120) -> Floats:
    """float64[<= count], ascending: levels that decreasing shares of these scores reach."""
    kept = np.concatenate([score[part.series.probation :] for score, part in zip(scores, parts, strict=True)])
    kept = kept[np.isfinite(kept)]
    shares = 1 - np.geomspace(0.3, 3 / kept.size, count)
    return np.unique(np.quantile(kept, shares))


def sweep(scores: Sequence[Floats], parts: Sequence[PreparedSeries], levels: Floats) -> list[Figures]:
    """Figures at each threshold; a score at the threshold alerts."""
    return [
        figures([outcome(part, score >= level) for part, score in zip(parts, scores, strict=True)]) for level in levels
    ]


def average_precision(swept: Sequence[Figures]) -> float:
    """Area under event-wise precision over recall, interpolated (best precision at this recall or more)."""
    pairs = sorted((each.recall, each.precision) for each in swept if each.windows and each.precision == each.precision)
    area, ceiling = 0.0, 0.0
    for i in range(len(pairs) - 1, -1, -1):
        recall, precision = pairs[i]
        ceiling = max(ceiling, precision)
        area += ceiling * (recall - (pairs[i - 1][0] if i else 0.0))
    return area
