"""What anomaly scores cost: samples per CPU-second with all experts, beside others, live and of a file."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from river import anomaly

from analytics.models.scoring.layout import STATE_BYTES
from analytics.models.scoring.scorer import SeriesScorer
from benchmarks.references.scoring_python import in_python, scored
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S

_START_NS = 1_700_000_000 * NS_PER_S
_STEP_NS = 1800 * NS_PER_S
_ROUNDS = 144  # three days, after which all experts work
Floats = NDArray[np.float64]


def _rounds(series: int, rounds: int) -> list[Floats]:
    """A day and noise for each series, half-hourly."""
    rng = np.random.default_rng(1)
    phase = 2 * np.pi * np.arange(rounds) / 48
    return [100 + 30 * np.sin(at) + rng.normal(0, 3, series) for at in phase]


def _times(series: int, number: int) -> NDArray[np.int64]:
    return np.full(series, _START_NS + number * _STEP_NS)


def many_series(order: NDArray[np.int64], counted: int = 24) -> float:
    """Samples per CPU-second as live, one of each series a round, once days are known and all experts work.

    Of the best round: other programs share memory and caches.
    """
    detector, best, kinds = SeriesScorer(), 0.0, np.zeros(order.size, np.int64)
    for number, values in enumerate(_rounds(order.size, _ROUNDS)):
        times_ns, began = _times(order.size, number), time.process_time()
        detector.score(times_ns, values, order, kinds, bands=False)
        if number >= _ROUNDS - counted:
            best = max(best, order.size / (time.process_time() - began))
    return best


def python_rate(series: int = 5000, counted: int = 4) -> float:
    """Samples per CPU-second of the same code as plain Python, on the same data; AssertionError unless the scores are
    the same but for the last of seven digits: numpy rounds products of single precision where machine code does not.
    """
    detector, given = SeriesScorer(), np.stack(_rounds(series, _ROUNDS))
    times_ns = np.stack([_times(series, number) for number in range(_ROUNDS)])
    scored(detector, times_ns[:-counted], given[:-counted])
    found, cpu_s = in_python(detector.state().arrays, times_ns[-counted:], given[-counted:])
    for name, column in scored(detector, times_ns[-counted:], given[-counted:]).items():
        np.testing.assert_allclose(found[name], column, rtol=1e-6, err_msg=name)
    return series * counted / cpu_s


def river_rate(series: int = 500, counted: int = 40) -> float:
    """Half-space trees with their defaults, a model a series, of the same data in 0..1, after their first window.

    As many models as fill a gigabyte; few of them stay in the cache and are up to three times as fast. Of the best
    round, as ours.
    """
    models: list[Any] = [anomaly.HalfSpaceTrees(seed=1) for _ in range(series)]
    rounds, best = 250 + counted, 0.0
    for number, values in enumerate(_rounds(series, rounds)):
        given, began = ((values - 50) / 100).tolist(), time.process_time()
        for model, value in zip(models, given, strict=True):
            model.score_one({"value": value})
            model.learn_one({"value": value})
        if number >= rounds - counted:
            best = max(best, series / (time.process_time() - began))
    return best


def _one_series(points: int) -> tuple[NDArray[np.int64], Floats]:
    times_ns = _START_NS + np.arange(points, dtype=np.int64) * 60 * NS_PER_S
    noise = np.random.default_rng(1).normal(0, 3, points)
    return times_ns, 100 + 30 * np.sin(np.arange(points) * 2 * np.pi / 1440) + noise


def one_series(points: int = 1_000_000) -> float:
    """Points per CPU-second of one long series."""
    times_ns, values = _one_series(points)
    began = time.process_time()
    SeriesScorer().score(times_ns, values)
    return points / (time.process_time() - began)


def file_rate(points: int) -> float:
    """Points per CPU-second of ``fabricscope detect``, from CSV to CSV, start of the program included."""
    times_ns, values = _one_series(points)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.csv"), Path(folder, "found.csv")
        times = pl.Series("time", times_ns).cast(pl.Datetime("ns"))
        pl.DataFrame([times, pl.Series("value", values.round(3))]).write_csv(given)
        return points / _cpu_s("detect", given, "--output", found)


def start_cpu_s() -> float:
    """CPU seconds of ``fabricscope detect`` of two rows, the least of five starts: what a start takes."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "given.csv")
        given.write_text("time,value\n2024-01-01,1\n2024-01-02,2\n")
        return min(_cpu_s("detect", given) for _ in range(5))


def _cpu_s(*arguments: object) -> float:
    """CPU seconds of a command, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "fabricscope", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> list[Row]:
    one_series(1000)  # compiles
    river, python = river_rate(), python_rate()
    in_order, shuffled = np.arange(100_000), np.random.default_rng(1).permutation(100_000)
    by_target, points = many_series(in_order), 2_000_000
    return [
        row(
            "scoring: 100,000 series, all experts, against a River HalfSpaceTrees each",
            by_target,
            "samples/CPU-s",
            river,
        ),
        row(
            "scoring: 100,000 series, all experts, against the same code as plain Python",
            by_target,
            "samples/CPU-s",
            python,
        ),
        row(
            "scoring: 100,000 series in random order, against the same", many_series(shuffled), "samples/CPU-s", python
        ),
        row("scoring: one long series", one_series(), "points/CPU-s", river_rate(10, 2000)),
        row(
            f"scoring: fabricscope detect, one series of {points:,} points, CSV to CSV",
            file_rate(points),
            "points/CPU-s",
        ),
        row("scoring: start of fabricscope detect", start_cpu_s(), "CPU-s"),
        row("scoring: state of a series", STATE_BYTES, "bytes"),
    ]


if __name__ == "__main__":
    print_rows(run())
