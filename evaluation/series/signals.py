"""What healthy series are made of: days and weeks, noise with memory or heavy tails, bursts that die away."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DAY_S = 86_400
WEEK_S = 7 * DAY_S


@dataclass(frozen=True, slots=True)
class Signal:
    """A healthy series before anything is injected; columns of n points, ``step_s`` apart.

    base:      float64[n], what the process does on average at that time.
    spread:    float64[n], size of an ordinary deviation at that time, above 0.
    values:    float64[n], what is measured.
    season:    points of the shortest season that a person would name; 0 when there is none.
    anomalies: names in ``injections.INJECTIONS`` that make sense here.
    excused:   (start, end) of unusual points that are no fault, such as a holiday: neither hit nor false alarm.
    """

    step_s: int
    base: Floats
    spread: Floats
    values: Floats
    season: int
    anomalies: tuple[str, ...]
    floor: float = -np.inf
    ceiling: float = np.inf
    whole: bool = False
    excused: tuple[tuple[int, int], ...] = ()

    def bounded(self, values: Floats) -> Floats:
        """``values`` as the metric can report them: within its limits, and whole where it counts."""
        inside = np.clip(values, self.floor, self.ceiling)
        return np.rint(inside) if self.whole else inside


def clock(points: int, step_s: int, rng: np.random.Generator) -> Floats:
    """float64[points]: seconds since a Monday midnight; a series starts at any hour of the week."""
    return float(rng.integers(0, WEEK_S // step_s) * step_s) + step_s * np.arange(points, dtype=np.float64)


def day(seconds: Floats, rng: np.random.Generator) -> Floats:
    """float64[n] from 0 to 1: a day with a quiet night, one or two humps, its own peak hour."""
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


def remembering(points: int, memory: float, rng: np.random.Generator) -> Floats:
    """float64[points]: Gaussian noise of variance 1 whose neighbours correlate by ``memory`` (AR(1))."""
    noise = rng.standard_normal(points)
    fresh = np.sqrt(1 - memory**2)
    for i in range(1, points):
        noise[i] = memory * noise[i - 1] + fresh * noise[i]
    return noise


def bursts(points: int, chance: float, decay: float, rng: np.random.Generator, tail: float = 2.5) -> Floats:
    """float64[points]: bursts of Pareto size with index ``tail``; each fades by the factor ``decay`` a point."""
    struck = np.where(rng.random(points) < chance, 1 + rng.pareto(tail, points), 0.0)
    for i in range(1, points):
        struck[i] = max(struck[i], struck[i - 1] * decay if struck[i - 1] > 0.05 else 0.0)
    return struck


def pulses(seconds: Floats, every_s: float, width_s: float, phase_s: float = 0.0) -> Floats:
    """float64[n]: 1 during the first ``width_s`` of each ``every_s``, else 0."""
    return ((seconds - phase_s) % every_s < width_s).astype(np.float64)
