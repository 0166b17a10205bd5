"""Building blocks of healthy series: days and weeks, autoregressive noise, decaying bursts, pulses."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DAY_S = 86_400
WEEK_S = 7 * DAY_S


@dataclass(frozen=True, slots=True)
class Signal:
    """A healthy series before anything is injected; columns of n points, ``step_s`` apart.

    base:      float64[n], expected value at that time.
    scale:     float64[n], size of an ordinary deviation at that time, above 0.
    values:    float64[n], what is measured.
    season:    points of the shortest season; 0 when there is none.
    anomalies: names in ``injections.INJECTIONS`` that make sense here.
    floor, ceiling, whole: limits of the metric, and whether it is a whole number.
    excused:   (start, end) of unusual points that are no fault, such as a holiday: neither hit nor false alarm.
    """

    step_s: int
    base: Floats
    scale: Floats
    values: Floats
    season: int
    anomalies: tuple[str, ...]
    _: KW_ONLY
    floor: float = -np.inf
    ceiling: float = np.inf
    whole: bool = False
    excused: tuple[tuple[int, int], ...] = ()

    def bounded(self, values: Floats) -> Floats:
        """``values`` within the limits of the metric, rounded when it is a whole number."""
        inside = np.clip(values, self.floor, self.ceiling)
        return np.rint(inside) if self.whole else inside


def clock(points: int, step_s: int, rng: np.random.Generator) -> Floats:
    """float64[points]: seconds since a Monday midnight; a series starts at any hour of the week."""
    return float(rng.integers(0, WEEK_S // step_s) * step_s) + step_s * np.arange(points, dtype=np.float64)


def day(seconds: Floats, rng: np.random.Generator) -> Floats:
    """float64[n] from 0 to 1: a day with a low night, one or two peaks, at random hours."""
    hour = seconds % DAY_S / 3600
    peak, second = rng.uniform(11, 17), rng.uniform(18, 22)
    sharp = rng.uniform(1.0, 3.0)
    shape = np.exp(sharp * (np.cos((hour - peak) * np.pi / 12) - 1))
    shape += rng.uniform(0, 0.6) * np.exp(-0.5 * ((hour - second) / 1.5) ** 2)
    return np.asarray((shape - shape.min()) / max(np.ptp(shape), 1e-9))


def week(seconds: Floats, weekend: float) -> Floats:
    """float64[n]: 1 on working days, ``weekend`` on Saturday and Sunday, an hour or two in between."""
    days = seconds % WEEK_S / DAY_S
    off = np.clip((days - 5) * 12, 0, 1) * np.clip((7 - days) * 12, 0, 1)
    return np.asarray(1 - (1 - weekend) * off)


def autoregressive(points: int, correlation: float, rng: np.random.Generator) -> Floats:
    """float64[points]: AR(1) noise of variance 1; neighbours correlate by ``correlation``."""
    noise = rng.standard_normal(points)
    innovation = np.sqrt(1 - correlation**2)
    for i in range(1, points):
        noise[i] = correlation * noise[i - 1] + innovation * noise[i]
    return noise


def bursts(points: int, chance: float, decay: float, rng: np.random.Generator, tail: float = 2.5) -> Floats:
    """float64[points]: bursts of Pareto size with index ``tail``; each decays by the factor ``decay`` a point."""
    heights = np.where(rng.random(points) < chance, 1 + rng.pareto(tail, points), 0.0)
    for i in range(1, points):
        heights[i] = max(heights[i], heights[i - 1] * decay if heights[i - 1] > 0.05 else 0.0)
    return heights


def pulses(seconds: Floats, every_s: float, width_s: float, phase_s: float = 0.0) -> Floats:
    """float64[n]: 1 during the first ``width_s`` of each ``every_s``, else 0."""
    return ((seconds - phase_s) % every_s < width_s).astype(np.float64)
