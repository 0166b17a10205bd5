"""Made series that show what a score means: one with a day, two with the same jump, one for each reason."""

from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np

from analytics.models.scoring.scorer import Scores, SeriesScorer
from evaluation.pictures.day import Floats

STEP_S: Final = 300
DAY: Final = 86_400 // STEP_S
_START_S: Final = 1_767_225_600  # 2026-01-01, a midnight in UTC


class Example(NamedTuple):
    """values: float64[n], one each five minutes. first: of the rows that are drawn. event: rows in which it is unusual.

    title: what is unusual, in words.
    """

    reason: str
    title: str
    values: Floats
    first: int
    event: slice


def times_ns(n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return (_START_S + STEP_S * np.arange(n)) * 10**9


def scored(values: Floats) -> Scores:
    return SeriesScorer().score(times_ns(values.size), values)


def port() -> Example:
    """Throughput of a port with a day, in Gbit/s, and half an hour of what is usual only at another hour."""
    values = _day(14 * DAY, 1) * 4 + 60
    event = slice(13 * DAY + 170, 13 * DAY + 176)
    values[event] = 73 + np.random.default_rng(2).normal(0, 1, 6)
    return Example("season", "throughput of a port", values, 12 * DAY, event)


def jumps() -> tuple[Example, Example]:
    """The same jump in a calm series and in one that jumps often."""
    rng, event = np.random.default_rng(4), slice(1400, 1401)
    calm = rng.normal(50, 1, 1500)
    restless = rng.normal(50, 1, 1500) + np.where(rng.random(1500) < 0.04, rng.exponential(12, 1500), 0.0)
    for values in (calm, restless):
        values[event] = 70
    return Example("level", "a calm series", calm, 1200, event), Example("", "a restless one", restless, 1200, event)


def reasons() -> list[Example]:
    """One series for each reason that shows alone: one that varies more than usual mostly is far off too."""
    level = np.random.default_rng(6).normal(50, 1, 1500)
    level[1416:1422] += np.linspace(3, 16, 6)
    season = _day(14 * DAY, 7)
    season[13 * DAY + 144 : 13 * DAY + 146] = -6
    steps = np.random.default_rng(7).normal(0, 0.3, 1500)
    steps[1420] += 3
    wandering = np.array(list(accumulate(steps, lambda value, step: 0.98 * value + step)))
    drift = np.random.default_rng(7).normal(50, 1, 1500)
    drift[1400:1450] += 2.7
    silence = np.random.default_rng(8).normal(50, 1, 1500)
    silence[1420:1450] = silence[1420]
    rng = np.random.default_rng(9)
    turns = np.tile(np.r_[np.full(35, 100.0), np.full(15, 20.0)], 42) + rng.normal(0, 2, 2100)
    turns[2000:2035] = 20 + rng.normal(0, 2, 35)
    noon = 13 * DAY + 144
    return [
        Example("level", "far from its level", level, 1350, slice(1416, 1422)),
        Example("season", "unusual at this hour", season, 12 * DAY + 72, slice(noon, noon + 2)),
        Example("shape", "a jump unlike its steps", wandering, 1350, slice(1420, 1421)),
        Example("drift", "off to one side for long", drift, 1350, slice(1400, 1450)),
        Example("silence", "unchanged for too long", silence, 1350, slice(1420, 1450)),
        Example("phase", "a turn that did not come", turns, 1800, slice(2000, 2040)),
    ]


def _day(n: int, seed: int) -> Floats:
    """A day of ±8 about 0, with a standard deviation of 0.5."""
    phase = 2 * np.pi * np.arange(n) / DAY
    return np.asarray(-8 * np.cos(phase) + np.random.default_rng(seed).normal(0, 0.5, n))
