"""Made series whose events come again and again, and series that rest: what series with two events each do not show.

The same kind and seed give the same series, byte for byte.
"""

from collections.abc import Callable, Iterator

import numpy as np

from common.units import NS_PER_S
from evaluation.series.injections import extreme
from evaluation.series.labelled import Series, Window
from evaluation.series.signals import Floats, Signal, autoregressive, clock, day, week

TUNING_SEEDS = (1, 2, 3, 4)
REPORT_SEEDS = (1001, 1002, 1003, 1004, 1005, 1006)
_BEGIN_NS = 1_704_067_200 * NS_PER_S  # Monday, 1 January 2024, 00:00 UTC
_SHARE_MAX = 0.02  # of the values are in events: above that they are what is usual
_PROBATION_SHARE, _PROBATION_MAX = 0.15, 750
_LASTS_MAX = 8  # points
_APART = 20  # points between events, at least
_ALIKE = (0.8, 1.25)  # heights of the events of a series, in those of their median

# A healthy signal, and between which numbers of events it gets.
Kind = tuple[Callable[[np.random.Generator], Signal], int, int]


def service_latency(rng: np.random.Generator) -> Signal:
    """By the minute, with the odd slow request, no season to speak of."""
    points, level = 6000, rng.uniform(20, 400)
    noise = autoregressive(points, rng.uniform(0, 0.7), rng)
    values = level * np.exp(0.1 * noise)
    return _signal(60, np.full(points, level), np.full(points, 0.1 * level), values, 0, floor=0.0)


def service_rate(rng: np.random.Generator) -> Signal:
    """Every five minutes, with days and weeks."""
    points = 8000
    seconds = clock(points, 300, rng)
    base = rng.uniform(50, 5000) * (0.2 + day(seconds, rng) * week(seconds, rng.uniform(0.4, 1.0)))
    scale = rng.uniform(0.03, 0.08) * (base + 0.1 * base.mean())
    return _signal(300, base, scale, base + scale * autoregressive(points, 0.5, rng), 288, floor=0.0)


def hourly_short(rng: np.random.Generator) -> Signal:
    """A month of hours, some with days."""
    points = int(rng.integers(600, 1200))
    seconds = clock(points, 3600, rng)
    amplitude = rng.choice([0.0, 0.5, 2.0])
    base = rng.uniform(10, 1000) * (1 + amplitude * day(seconds, rng))
    scale = rng.uniform(0.04, 0.12) * base
    season = 24 if amplitude else 0
    return _signal(3600, base, scale, base + scale * autoregressive(points, 0.4, rng), season, floor=0.0)


def resting_counter(rng: np.random.Generator) -> Signal:
    """Errors by the minute: nothing nine tenths of the time, then a few; pauses of any length are ordinary."""
    points = 8000
    chance = 0.1 * rng.uniform(0.3, 1.0)
    demand = autoregressive(points, 0.95, rng)
    busy = demand > np.quantile(demand, 1 - chance)
    values = np.where(busy, rng.poisson(rng.uniform(1, 4), points), 0).astype(np.float64)
    return _signal(60, np.zeros(points), np.full(points, 1.0), values, 0, floor=0.0, whole=True)


def serving_gpu(rng: np.random.Generator) -> Signal:
    """Duty of a serving GPU, every 30 s: requests come in waves, and between them it rests; all of that is ordinary."""
    points = 8000
    seconds = clock(points, 30, rng)
    demand = 0.3 + 0.5 * day(seconds, rng) + 0.15 * autoregressive(points, 0.98, rng)
    busy = rng.random(points) < np.clip(demand, 0.02, 0.98)
    values = np.where(busy, rng.uniform(55, 100, points), rng.uniform(0, 15, points))
    scale = np.full(points, 20.0)
    return _signal(30, 100 * np.clip(demand, 0, 1), scale, values, 0, floor=0.0, ceiling=100.0)


def serving_memory(rng: np.random.Generator) -> Signal:
    """Memory of a serving pod, by the minute: a plateau, with caches that fill and are cleared at odd times."""
    points, level = 8000, rng.uniform(0.3, 0.7)
    fill, values = 0.0, np.empty(points)
    for i in range(points):
        fill = 0.0 if rng.random() < 0.004 else min(fill + rng.exponential(0.001), 0.2)
        values[i] = level + fill
    values += 0.002 * rng.standard_normal(points)
    return _signal(60, np.full(points, level + 0.1), np.full(points, 0.06), values, 0, floor=0.0, ceiling=1.0)


# Kinds in which nothing is wrong count false alarms only.
KINDS: dict[str, Kind] = {
    "service_latency": (service_latency, 5, 50),
    "service_rate": (service_rate, 5, 50),
    "hourly_short": (hourly_short, 3, 8),
    "resting_counter": (resting_counter, 0, 10),
    "serving_gpu": (serving_gpu, 0, 0),
    "serving_memory": (serving_memory, 0, 0),
}


def corpus(seeds: tuple[int, ...]) -> Iterator[Series]:
    """One series of each kind for each seed."""
    for seed in seeds:
        for kind in KINDS:
            yield generate(kind, seed)


def generate(kind: str, seed: int) -> Series:
    """The series of this kind and seed. KeyError when there is no such kind."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    make, least, most = KINDS[kind]
    signal = make(rng)
    probation = min(int(_PROBATION_SHARE * signal.values.size), _PROBATION_MAX)
    values = signal.values.copy()
    windows = _with_events(signal, values, int(rng.integers(least, most + 1)), probation, rng)
    times_ns = _BEGIN_NS + np.arange(values.size, dtype=np.int64) * signal.step_s * NS_PER_S
    return Series(kind, seed, times_ns, signal.bounded(values), windows, probation)


def _with_events(
    signal: Signal, values: Floats, events: int, probation: int, rng: np.random.Generator
) -> tuple[Window, ...]:
    """Spikes of like height in clusters, upwards or downwards; their lengths are such that they stay rare."""
    if not events:
        return ()
    lasts_max = int(max(min(_SHARE_MAX * values.size / events, _LASTS_MAX), 1))
    height = rng.uniform(1.5, 4) * extreme(signal)
    down = signal.season > 0 and rng.random() < 0.3
    centres = rng.integers(probation + 50, values.size - 100, max(events // 8, 1))
    windows: list[Window] = []
    for _ in range(20 * events):
        if len(windows) == events:
            break
        start = int(rng.choice(centres) + rng.normal(0, 30 * np.sqrt(events)))
        end = start + int(rng.integers(1, lasts_max + 1))
        taken = any(start < each.end + _APART and each.start < end + _APART for each in windows)
        if start <= probation or end >= values.size or taken:
            continue
        at = slice(start, end)
        change = height * rng.uniform(*_ALIKE) * signal.scale[at]
        values[at] = np.maximum(values[at] - change, 0.15 * signal.base[at]) if down else values[at] + change
        windows.append(Window(start, end, "dip" if down else "spike"))
    return tuple(sorted(windows, key=lambda window: window.start))


def _signal(
    step_s: int,
    base: Floats,
    scale: Floats,
    values: Floats,
    season: int,
    *,
    floor: float = -np.inf,
    ceiling: float = np.inf,
    whole: bool = False,
) -> Signal:
    limits = np.clip(values, floor, ceiling)
    return Signal(step_s, base, scale, limits, season, (), floor=floor, ceiling=ceiling, whole=whole)
