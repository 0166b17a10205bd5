"""What anomaly scores cost: samples per CPU-second with all experts on, bytes a series, snapshot and restore."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import anomaly

from analytics.scoring.detector import Detector
from analytics.scoring.layout import STATE_BYTES

_START_NS = 1_700_000_000 * 10**9
_STEP_NS = 1800 * 10**9
Floats = NDArray[np.float64]


def _rounds(series: int, rounds: int) -> list[Floats]:
    """A day and noise for each series, half-hourly."""
    rng = np.random.default_rng(1)
    phase = 2 * np.pi * np.arange(rounds) / 48
    return [100 + 30 * np.sin(at) + rng.normal(0, 3, series) for at in phase]


def many_series(order: NDArray[np.int64], rounds: int = 144, counted: int = 24) -> float:
    """Samples per CPU-second, one of each series a round, once days are known and all experts work."""
    detector, given = Detector(), _rounds(order.size, rounds)
    for number, values in enumerate(given):
        if number == rounds - counted:
            began = time.process_time()
        detector.score(np.full(order.size, _START_NS + number * _STEP_NS), values, order)
    return order.size * counted / (time.process_time() - began)


def one_series(points: int = 1_000_000) -> float:
    """Points per CPU-second of one long series."""
    times_ns = _START_NS + np.arange(points, dtype=np.int64) * 60 * 10**9
    values = 100 + 30 * np.sin(np.arange(points) * 2 * np.pi / 1440) + np.random.default_rng(1).normal(0, 3, points)
    began = time.process_time()
    Detector().score(times_ns, values)
    return points / (time.process_time() - began)


def river_rate(samples: int = 20_000) -> float:
    """Half-space trees with their defaults, of one series' values scaled to 0..1."""
    model: Any = anomaly.HalfSpaceTrees(seed=1)
    values = np.random.default_rng(1).uniform(0, 1, samples).tolist()
    began = time.process_time()
    for value in values:
        model.score_one({"value": value})
        model.learn_one({"value": value})
    return samples / (time.process_time() - began)


def python_rate(series: int = 100_000, rounds: int = 4) -> float:
    """A robust level and spread, and nothing else, in a loop over samples."""
    level, spread, count = [0.0] * series, [0.0] * series, [0] * series
    given = [values.tolist() for values in _rounds(series, rounds)]
    began = time.process_time()
    for values in given:
        for number, value in enumerate(values):
            count[number] += 1
            error = value - level[number]
            clip = 3.0 * spread[number] if count[number] > 30 else abs(error)
            rate = max(0.003, 1.0 / count[number])
            level[number] += rate * min(max(error, -clip), clip)
            spread[number] += rate * (min(abs(error), clip) - spread[number])
            _ = error / (1.2533 * spread[number]) if spread[number] else 0.0
    return series * rounds / (time.process_time() - began)


def snapshot_seconds(series: int = 1_000_000) -> tuple[float, float]:
    """Wall seconds to write the state of all series to files in memory, and to go on from them: a disk adds its own."""
    detector = Detector()
    detector.score(np.full(series, _START_NS), np.zeros(series), np.arange(series))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        began = time.monotonic()
        for name, array in detector.state().items():
            np.save(Path(folder, name), array)
        written = time.monotonic()
        del detector
        Detector().restore({path.stem: np.load(path) for path in Path(folder).iterdir()})
        return written - began, time.monotonic() - written


def run() -> list[dict[str, Any]]:
    """One entry a figure, for ``make bench``."""
    one_series(1000)  # compiles
    river, loop = river_rate(), python_rate()
    in_order, shuffled = np.arange(100_000), np.random.default_rng(1).permutation(100_000)
    by_target = many_series(in_order)
    saved_s, restored_s = snapshot_seconds()
    return [
        _entry("scoring: 100,000 series, all experts, against River HalfSpaceTrees", by_target, river),
        _entry("scoring: 100,000 series, all experts, against a Python loop of robust z", by_target, loop),
        _entry("scoring: 100,000 series in random order, against the same loop", many_series(shuffled), loop),
        _entry("scoring: one long series", one_series(), river),
        {"name": "scoring: state of a series", "unit": "bytes", "value": STATE_BYTES},
        {"name": "scoring: snapshot of 1,000,000 series, without the disk", "unit": "s", "value": round(saved_s, 2)},
        {"name": "scoring: restore of 1,000,000 series, without the disk", "unit": "s", "value": round(restored_s, 2)},
    ]


def _entry(name: str, value: float, reference: float) -> dict[str, Any]:
    rounded = {"value": round(value), "reference": round(reference), "ratio": round(value / reference, 1)}
    return {"name": name, "unit": "samples/CPU-s", **rounded}


if __name__ == "__main__":
    for entry in run():
        print(entry)
