"""Labelled series: a healthy signal of some kind, and what was done to it at random places.

The same kind and seed give the same series, byte for byte.
The first 15 % (at most 750 points) hold nothing to be found.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.series import kinds, kinds_more
from evaluation.series.injections import INJECTIONS, length_of
from evaluation.series.signals import Floats, Signal

TUNING_SEEDS = (1, 2, 3)
REPORT_SEEDS = (1001, 1002, 1003, 1004, 1005, 1006)
KINDS: dict[str, Callable[[np.random.Generator], Signal]] = {
    make.__name__: make
    for make in (
        kinds.web_traffic,
        kinds.balancer_requests,
        kinds.ad_clicks,
        kinds.cost_per_click,
        kinds.sales,
        kinds.cpu_batch,
        kinds.cpu_quiet,
        kinds.memory_sawtooth,
        kinds.network_bytes,
        kinds.disk_latency,
        kinds.queue_length,
        kinds.error_count,
        kinds.room_temperature,
        kinds.machine_temperature,
        kinds_more.mentions,
        kinds_more.road_occupancy,
        kinds_more.road_speed,
        kinds_more.daily_plateau,
        kinds_more.square_wave,
        kinds_more.sine,
        kinds_more.noisy_constant,
        kinds_more.random_walk,
        kinds_more.tensor_activity,
        kinds_more.pfc_frames,
    )
}
_NAMES = tuple(KINDS)
_BEGIN_NS = 1_704_067_200_000_000_000  # Monday, 1 January 2024, 00:00 UTC
_HEALTHY = 0.2
_GAPPY = 0.25
_PERMANENT = 0.3


@dataclass(frozen=True, slots=True)
class Window:
    """Points start..end - 1 of a series are unusual, and ``anomaly`` says how; ``excused`` counts for nobody."""

    start: int
    end: int
    anomaly: str


@dataclass(frozen=True, slots=True)
class Series:
    """Columns of n points in order of time, what is to be found in them, and the first point that counts."""

    kind: str
    seed: int
    times_ns: NDArray[np.int64]
    values: Floats
    windows: tuple[Window, ...]
    probation: int


def corpus(seeds: tuple[int, ...]) -> Iterator[Series]:
    """One series of each kind for each seed."""
    for seed in seeds:
        for kind in KINDS:
            yield generate(kind, seed)


def generate(kind: str, seed: int) -> Series:
    """The series that belongs to this kind and seed. Raises KeyError when there is no such kind."""
    rng = np.random.default_rng([seed, _NAMES.index(kind)])
    signal = KINDS[kind](rng)
    times_ns = _BEGIN_NS + np.arange(signal.values.size, dtype=np.int64) * signal.step_s * 1_000_000_000
    whole = labelled(signal, times_ns, kind, seed, rng)
    return _with_gaps(whole, signal.step_s, rng) if rng.random() < _GAPPY else whole


def labelled(signal: Signal, times_ns: NDArray[np.int64], kind: str, seed: int, rng: np.random.Generator) -> Series:
    """The signal with one to four anomalies behind the probation, or with none."""
    probation = min(int(0.15 * signal.values.size), 750)
    values = signal.values.copy()
    windows = [Window(start, end, "excused") for start, end in signal.excused]
    if rng.random() >= _HEALTHY:
        for _ in range(int(rng.integers(1, 5))):
            _inject(signal, values, windows, probation, rng)
    return Series(kind, seed, times_ns, values, tuple(sorted(windows, key=lambda window: window.start)), probation)


def _inject(signal: Signal, values: Floats, windows: list[Window], probation: int, rng: np.random.Generator) -> None:
    """One anomaly at a place where none is near; none when ten throws find no such place."""
    for _ in range(10):
        anomaly = str(rng.choice(signal.anomalies))
        length = length_of(anomaly, signal, rng)
        if values.size - length - 1 <= probation:
            continue
        start = _place(anomaly, signal, probation, length, rng)
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


def _place(anomaly: str, signal: Signal, probation: int, length: int, rng: np.random.Generator) -> int:
    """Anywhere, but a season is missed where it would be highest."""
    start = int(rng.integers(probation + 1, signal.values.size - length))
    if anomaly != "missing_season":
        return start
    ahead = signal.base[start : start + signal.season]
    return int(np.clip(start + np.argmax(ahead) - length // 2, probation + 1, signal.values.size - length - 1))


def _with_gaps(series: Series, step_s: int, rng: np.random.Generator) -> Series:
    """Points lost one by one and in rows, and times that are late by up to a third of a step."""
    n = series.values.size
    keep = rng.random(n) >= rng.uniform(0, 0.05)
    for start in rng.integers(0, n, int(rng.integers(1, 6))):
        keep[start : start + int(rng.integers(2, 30))] = False
    for window in series.windows:
        keep[window.start : window.end] = True
    moved = np.concatenate([[0], np.cumsum(keep)])
    late_ns = (rng.uniform(0, 0.33, n) * step_s * 1e9).astype(np.int64)
    windows = tuple(Window(int(moved[w.start]), int(moved[w.end]), w.anomaly) for w in series.windows)
    return Series(
        series.kind,
        series.seed,
        (series.times_ns + late_ns)[keep],
        series.values[keep],
        windows,
        int(moved[series.probation]),
    )
