"""Labelled series: columns of values, and the windows of injected anomalies in them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.series.injections import INJECTIONS, length_of
from evaluation.series.signals import Floats, Signal

_HEALTHY = 0.2  # share of series without anomalies
_PERMANENT = 0.3  # share of level shifts that stay
_PLACES_TRIED = 10


@dataclass(frozen=True, slots=True)
class Window:
    """Points start..end - 1 of a series are anomalous: ``anomaly``, or "excused" for neither hit nor false alarm."""

    start: int
    end: int
    anomaly: str


@dataclass(frozen=True, slots=True)
class Series:
    """Columns of n points in order of time. windows: what a method should find.

    probation: points at the begin that do not count; no anomaly is injected into them.
    """

    kind: str
    seed: int
    times_ns: NDArray[np.int64]
    values: Floats
    windows: tuple[Window, ...]
    probation: int


def labelled(signal: Signal, times_ns: NDArray[np.int64], kind: str, seed: int, rng: np.random.Generator) -> Series:
    """The signal with one to four anomalies after the probation (15 % of it, at most 750 points), or with none."""
    probation = min(int(0.15 * signal.values.size), 750)
    values = signal.values.copy()
    windows = [Window(start, end, "excused") for start, end in signal.excused]
    if rng.random() >= _HEALTHY:
        for _ in range(int(rng.integers(1, 5))):
            _inject(signal, values, windows, probation, rng)
    return Series(kind, seed, times_ns, values, tuple(sorted(windows, key=lambda window: window.start)), probation)


def _inject(signal: Signal, values: Floats, windows: list[Window], probation: int, rng: np.random.Generator) -> None:
    """One anomaly away from all others; none when ten random places are not free or do not suit it."""
    for _ in range(_PLACES_TRIED):
        anomaly = str(rng.choice(signal.anomalies))
        length = length_of(anomaly, signal, rng)
        if values.size - length - 1 <= probation:
            continue
        start = _start_of(anomaly, signal, probation, length, rng)
        apart = max(20, length // 2)
        if start + length >= values.size or any(
            start < w.end + apart and w.start < start + length + apart for w in windows
        ):
            continue
        stays = anomaly in ("level_up", "level_down") and rng.random() < _PERMANENT and signal.season == 0
        at = slice(start, values.size if stays else start + length)
        if INJECTIONS[anomaly](signal, values, at, rng):
            values[at] = signal.bounded(values[at])
            windows.append(Window(start, start + length, anomaly))
            return


def _start_of(anomaly: str, signal: Signal, probation: int, length: int, rng: np.random.Generator) -> int:
    """A random point; for a missing season the one around its next maximum."""
    start = int(rng.integers(probation + 1, signal.values.size - length))
    if anomaly != "missing_season":
        return start
    ahead = signal.base[start : start + signal.season]
    return int(np.clip(start + np.argmax(ahead) - length // 2, probation + 1, signal.values.size - length - 1))
