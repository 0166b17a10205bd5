"""Synthetic series: a healthy signal of some kind with injected, labelled anomalies.

The same kind and seed give the same series, byte for byte.
"""

from collections.abc import Iterator

import numpy as np

from common.units import NS_PER_S
from evaluation.series.kinds import KINDS
from evaluation.series.labelled import Series, Window, labelled

TUNING_SEEDS = (1, 2, 3)
REPORT_SEEDS = (1001, 1002, 1003, 1004, 1005, 1006)
_NAMES = tuple(KINDS)
_BEGIN_NS = 1_704_067_200 * NS_PER_S  # Monday, 1 January 2024, 00:00 UTC
_WITH_GAPS = 0.25  # share of the series


def corpus(seeds: tuple[int, ...]) -> Iterator[Series]:
    """One series of each kind for each seed."""
    for seed in seeds:
        for kind in KINDS:
            yield generate(kind, seed)


def generate(kind: str, seed: int) -> Series:
    """The series of this kind and seed. KeyError when there is no such kind."""
    rng = np.random.default_rng([seed, _NAMES.index(kind)])
    signal = KINDS[kind](rng)
    times_ns = _BEGIN_NS + np.arange(signal.values.size, dtype=np.int64) * signal.step_s * NS_PER_S
    complete = labelled(signal, times_ns, kind, seed, rng)
    return _with_gaps(complete, signal.step_s, rng) if rng.random() < _WITH_GAPS else complete


def _with_gaps(series: Series, step_s: int, rng: np.random.Generator) -> Series:
    """The series with single and consecutive points missing, and times late by up to a third of a step."""
    n = series.values.size
    keep = rng.random(n) >= rng.uniform(0, 0.05)
    for start in rng.integers(0, n, int(rng.integers(1, 6))):
        keep[start : start + int(rng.integers(2, 30))] = False
    for window in series.windows:
        keep[window.start : window.end] = True
    position = np.concatenate([[0], np.cumsum(keep)])
    late_ns = (rng.uniform(0, 0.33, n) * step_s * NS_PER_S).astype(np.int64)
    windows = tuple(Window(int(position[w.start]), int(position[w.end]), w.anomaly) for w in series.windows)
    return Series(
        series.kind,
        series.seed,
        (series.times_ns + late_ns)[keep],
        series.values[keep],
        windows,
        int(position[series.probation]),
    )
