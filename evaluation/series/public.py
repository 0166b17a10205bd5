"""Public series, recorded by others, with anomalies injected into excerpts of them.

Anomalies that these series already contain are not labelled: alerts there count as false for every method alike.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from common.units import NS_PER_S
from evaluation.series.injections import COMMON
from evaluation.series.labelled import Series, labelled
from evaluation.series.public_files import SOURCES, fetched, series_of
from evaluation.series.signals import DAY_S, WEEK_S, Floats, Signal

# Nothing is tuned on any of these series.
SEEDS = (2001, 2002, 2003, 2004, 2005)
_SHORTEST, _LONGEST = 1000, 5000
_SEASONAL = 0.6  # a season leaves at most this share of the deviation from the median
_SCALE_MIN = 0.25  # of the standard deviation
_SIGMA_PER_MAD = 1.4826
_ANY = (*COMMON, "spike_density")
_WITH_SEASON = ("missing_season", "amplitude")


def corpus(seeds: tuple[int, ...] = SEEDS) -> Iterator[Series]:
    """An excerpt of each series for each seed."""
    for seed in seeds:
        for at, (name, times_ns, values) in enumerate(recorded()):
            yield excerpt(name, times_ns, values, np.random.default_rng([seed, at]), seed)


@cache
def recorded() -> tuple[tuple[str, NDArray[np.int64], Floats], ...]:
    """Name, times and values of every series."""
    return tuple(each for source in SOURCES for each in series_of(source, fetched(source.package)))


def excerpt(name: str, times_ns: NDArray[np.int64], values: Floats, rng: np.random.Generator, seed: int) -> Series:
    """1000 to 5000 consecutive points, or all where there are fewer, with injected anomalies."""
    points = min(int(rng.integers(_SHORTEST, _LONGEST)), values.size)
    start = int(rng.integers(0, values.size - points + 1))
    part = slice(start, start + points)
    return labelled(signal_of(times_ns[part], values[part]), times_ns[part], name, seed, rng)


def signal_of(times_ns: NDArray[np.int64], values: Floats) -> Signal:
    """The expected value of each point and the scale of its deviations, with hindsight (no detector sees them).

    Expected is the median of the same time in the seven nearest weeks, or of the thirteen nearest points where there is
    no such season.
    """
    times_s = times_ns // NS_PER_S
    step_s = int(np.median(np.diff(times_s)))
    frame = pl.DataFrame({"value": values, "slot": times_s % WEEK_S // step_s, "hour": times_s % DAY_S // 3600})
    weeks = _median(frame, pl.col("value").rolling_median(7, min_samples=1, center=True).over("slot"))
    near = _median(frame, pl.col("value").rolling_median(13, min_samples=1, center=True))
    deviation = np.mean(np.abs(values - np.median(values)))
    seasonal = bool(np.mean(np.abs(values - weeks)) < _SEASONAL * deviation)
    base = weeks if seasonal else near
    distance = pl.lit(np.abs(values - base))
    typical = distance.median().over("hour") if seasonal else distance.rolling_median(201, min_samples=1)
    scale_min = _SCALE_MIN * np.std(values - base) + 1e-9
    return Signal(
        step_s=step_s,
        base=base,
        scale=np.maximum(_SIGMA_PER_MAD * _median(frame, typical), scale_min),
        values=values,
        season=(DAY_S if step_s < DAY_S else WEEK_S) // step_s if seasonal else 0,
        anomalies=_ANY + _WITH_SEASON * seasonal,
        floor=0.0 if values.min() >= 0 else -np.inf,
        whole=bool(np.all(values == np.rint(values))),
    )


def _median(frame: pl.DataFrame, median: pl.Expr) -> Floats:
    return frame.select(median.alias("median"))["median"].to_numpy()
