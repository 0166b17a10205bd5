"""What goes wrong with a series. Each injection changes values[start:end] in place; from subtle to obvious."""

from collections.abc import Callable

import numpy as np

from evaluation.series.signals import Floats, Signal

Injection = Callable[[Signal, Floats, slice, np.random.Generator], bool]


def extreme(signal: Signal) -> float:
    """The largest ordinary deviation, in units of the spread: 1 in 500 healthy points is beyond it."""
    return float(max(np.quantile(np.abs(signal.values - signal.base) / signal.spread, 0.998), 2.0))


def _strength(rng: np.random.Generator, least: float, most: float) -> float:
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def spike(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    size = _strength(rng, 1.5, 8) * extreme(signal)
    shape = rng.uniform(0.7, 1.0, values[at].size)
    shape[0] = 1.0
    values[at] += size * shape * signal.spread[at]
    return True


def dip(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    size = _strength(rng, 1.5, 8) * extreme(signal)
    room = float(np.min((signal.base[at] - signal.floor) / signal.spread[at]))
    if room < 1.3 * extreme(signal):
        return False
    values[at] -= min(size, room) * signal.spread[at]
    return True


def level_up(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    values[at] += _strength(rng, 3, 12) * signal.spread[at]
    return True


def level_down(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    size = _strength(rng, 3, 12)
    room = float(np.median((signal.base[at] - signal.floor) / signal.spread[at]))
    if room < 3:
        return False
    values[at] -= min(size, room) * signal.spread[at]
    return True


def flatline(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """The last value, again and again; of a series that is seldom the same twice."""
    if np.mean(np.diff(signal.values) == 0) > 0.2:
        return False
    values[at] = values[at.start - 1]
    return True


def outage(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """Nothing, of something that is always there."""
    floor = max(signal.floor, 0.0)
    if np.min((signal.base[at] - floor) / signal.spread[at]) < 3 or np.mean(signal.values <= floor) > 0.001:
        return False
    values[at] = floor
    return True


def noise_burst(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    values[at] = signal.base[at] + (values[at] - signal.base[at]) * _strength(rng, 3, 10)
    return True


def missing_season(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """The busiest half of a season looks like its quietest moment."""
    around = signal.base[max(0, at.start - signal.season) : at.stop]
    night = np.quantile(around, 0.1)
    if np.mean((signal.base[at] - night) / signal.spread[at]) < 3:
        return False
    values[at] = night + (values[at] - signal.base[at]) * np.min(signal.spread[at]) / signal.spread[at]
    return True


def drift(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    values[at] += np.linspace(0, _strength(rng, 6, 20), values[at].size) * signal.spread[at]
    return True


def changed_period(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """The same shape, faster or slower than ever."""
    pace = _strength(rng, 1.5, 3) if rng.random() < 0.5 else 1 / _strength(rng, 1.5, 3)
    there = at.start + (np.arange(values[at].size) * pace).astype(np.int64) % max(values.size - at.start, 1)
    values[at] = signal.base[there] + (values[at] - signal.base[at])
    return True


def amplitude(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """The season swings wider or less wide about the same middle."""
    factor = _strength(rng, 1.5, 2.5) if rng.random() < 0.5 else 1 / _strength(rng, 2, 5)
    middle = np.median(signal.base[max(0, at.start - signal.season) : at.stop])
    change = (factor - 1) * (signal.base[at] - middle)
    if np.quantile(np.abs(change) / signal.spread[at], 0.7) < 3:
        return False
    values[at] += change
    return True


def spike_density(signal: Signal, values: Floats, at: slice, rng: np.random.Generator) -> bool:
    """Spikes of a size that is seen now and then, far too many of them."""
    usual = extreme(signal) * rng.uniform(0.6, 1.0, values[at].size)
    values[at] += np.where(rng.random(values[at].size) < _strength(rng, 0.2, 0.6), usual, 0) * signal.spread[at]
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
    """Points that an anomaly lasts: spikes a few, shifts hours, seasons at least half of one."""
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
