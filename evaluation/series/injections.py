"""Anomalies that are injected into a series. Each changes ``values[at]`` in place, from subtle to obvious.

An injection returns False, and changes nothing, where it would not be visible in this signal.
"""

from collections.abc import Callable

import numpy as np

from evaluation.series.signals import Floats, Signal

Injection = Callable[[Signal, Floats, slice, np.random.Generator], bool]
# Names of injections that suit most signals, and those with a season; some more likely than others.
COMMON = ("spike", "dip", "level_up", "level_down", "flatline", "outage", "noise_burst", "drift")
SEASONAL = (*COMMON, "missing_season", "missing_season", "amplitude", "amplitude")


def extreme(signal: Signal) -> float:
    """The largest ordinary deviation, in units of ``scale``: the 99.8th percentile, at least 2."""
    return float(max(np.quantile(np.abs(signal.values - signal.base) / signal.scale, 0.998), 2.0))


def _strength(rng: np.random.Generator, least: float, most: float) -> float:
    """Log-uniform between ``least`` and ``most``."""
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def spike(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    size = _strength(rng, 1.5, 8) * extreme(signal)
    shape = rng.uniform(0.7, 1.0, values[at].size)
    shape[0] = 1.0
    values[at] += size * shape * signal.scale[at]
    return True


def dip(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    size = _strength(rng, 1.5, 8) * extreme(signal)
    room = float(np.min((signal.base[at] - signal.floor) / signal.scale[at]))
    if room < 1.3 * extreme(signal):
        return False
    values[at] -= min(size, room) * signal.scale[at]
    return True


def level_up(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    values[at] += _strength(rng, 3, 12) * signal.scale[at]
    return True


def level_down(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    size = _strength(rng, 3, 12)
    room = float(np.median((signal.base[at] - signal.floor) / signal.scale[at]))
    if room < 3:
        return False
    values[at] -= min(size, room) * signal.scale[at]
    return True


def flatline(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """Repeats the last value; only of a series whose values seldom repeat."""
    if np.mean(np.diff(signal.values) == 0) > 0.2:
        return False
    values[at] = values[at.start - 1]
    return True


def outage(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """Zero, or the floor, of a series that is almost never there."""
    floor = max(signal.floor, 0.0)
    if np.min((signal.base[at] - floor) / signal.scale[at]) < 3 or np.mean(signal.values <= floor) > 0.001:
        return False
    values[at] = floor
    return True


def noise_burst(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    values[at] = signal.base[at] + (values[at] - signal.base[at]) * _strength(rng, 3, 10)
    return True


def missing_season(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """The busiest half of a season is as low as its lowest decile."""
    around = signal.base[max(0, at.start - signal.season) : at.stop]
    low = np.quantile(around, 0.1)
    if np.mean((signal.base[at] - low) / signal.scale[at]) < 3:
        return False
    values[at] = low + (values[at] - signal.base[at]) * np.min(signal.scale[at]) / signal.scale[at]
    return True


def drift(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    values[at] += np.linspace(0, _strength(rng, 6, 20), values[at].size) * signal.scale[at]
    return True


def changed_period(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """The same shape, 1.5 to 3 times as fast or as slow."""
    pace = _strength(rng, 1.5, 3) if rng.random() < 0.5 else 1 / _strength(rng, 1.5, 3)
    source = at.start + (np.arange(values[at].size) * pace).astype(np.int64) % max(values.size - at.start, 1)
    values[at] = signal.base[source] + (values[at] - signal.base[at])
    return True


def amplitude(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """The season has a larger or smaller amplitude about the same median."""
    factor = _strength(rng, 1.5, 2.5) if rng.random() < 0.5 else 1 / _strength(rng, 2, 5)
    median = np.median(signal.base[max(0, at.start - signal.season) : at.stop])
    change = (factor - 1) * (signal.base[at] - median)
    if np.quantile(np.abs(change) / signal.scale[at], 0.7) < 3:
        return False
    values[at] += change
    return True


def spike_density(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """Spikes of an ordinary size, far more often than usual."""
    usual = extreme(signal) * rng.uniform(0.6, 1.0, values[at].size)
    values[at] += np.where(rng.random(values[at].size) < _strength(rng, 0.2, 0.6), usual, 0) * signal.scale[at]
    return True


INJECTIONS: dict[str, Injection] = {
    "spike": spike,
    "dip": dip,
    "level_up": level_up,
    "level_down": level_down,
    "flatline": flatline,
    "outage": outage,
    "noise_burst": noise_burst,
    "missing_season": missing_season,
    "drift": drift,
    "changed_period": changed_period,
    "amplitude": amplitude,
    "spike_density": spike_density,
}


def length_of(anomaly: str, signal: Signal, rng: np.random.Generator) -> int:
    """Duration of an anomaly in points: spikes a few, shifts hours, seasonal ones at least half a season."""
    if anomaly in ("spike", "dip"):
        return int(rng.integers(1, 7))
    if anomaly == "outage":
        return int(rng.integers(3, 40))
    if anomaly == "missing_season":
        return max(signal.season // 2, 4)
    if anomaly == "amplitude":
        return max(signal.season, 8)
    if anomaly == "changed_period":
        return max(3 * signal.season, 24) if signal.season < 150 else signal.season
    if anomaly == "drift":
        return int(rng.integers(80, 250))
    if anomaly == "flatline" and 0 < signal.season < 150:
        return int(1.5 * signal.season) + int(rng.integers(12, 60))
    return int(rng.integers(24, 120))
