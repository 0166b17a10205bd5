"""Series that others recorded, with known anomalies put into stretches of them.

Life is less regular than a generator: what already happened in these series is not labelled and counts as false for
every method alike.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.series.public_files import SOURCES, fetched, series_of
from evaluation.series.signals import DAY_S, WEEK_S, Floats, Signal
from evaluation.series.synthetic import Series, labelled

# Nothing was tuned on any of these series.
SEEDS = (2001, 2002, 2003, 2004, 2005)
_SHORTEST, _LONGEST = 1000, 5000
_SEASONAL = 0.6  # of the scatter about the median is left at most
_SPREAD_LEAST = 0.25  # of the standard deviation
_SIGMA_PER_MAD = 1.4826
_ANYWHERE = ("spike", "dip", "level_up", "level_down", "flatline", "outage", "noise_burst", "drift", "spike_density")
_OF_SEASONS = ("missing_season", "amplitude")


def corpus(seeds: tuple[int, ...] = SEEDS) -> Iterator[Series]:
    """A stretch of each series for each seed."""
    for seed in seeds:
        for at, (name, times_ns, values) in enumerate(recorded()):
            yield stretch(name, times_ns, values, np.random.default_rng([seed, at]), seed)


@cache
def recorded() -> tuple[tuple[str, NDArray[np.int64], Floats], ...]:
    """Name, times and values of every series."""
    return tuple(each for source in SOURCES for each in series_of(source, fetched(source.package)))


def stretch(name: str, times_ns: NDArray[np.int64], values: Floats, rng: np.random.Generator, seed: int) -> Series:
    """Some 1000 to 5000 points that follow each other, all where there are fewer, with anomalies."""
    points = min(int(rng.integers(_SHORTEST, _LONGEST)), values.size)
    start = int(rng.integers(0, values.size - points + 1))
    part = slice(start, start + points)
    return labelled(signal_of(times_ns[part], values[part]), times_ns[part], name, seed, rng)


def signal_of(times_ns: NDArray[np.int64], values: Floats) -> Signal:
    """What is usual at each point and how far it scatters, with what came later in view too: no detector sees it.

    Usual is the median of the same time in the seven nearest weeks, or of the thirteen nearest points where there is
    no such season.
    """
    times_s = times_ns // 1_000_000_000
    step_s = int(np.median(np.diff(times_s)))
    frame = pl.DataFrame({"value": values, "slot": times_s % WEEK_S // step_s, "hour": times_s % DAY_S // 3600})
    weeks = _median(frame, pl.col("value").rolling_median(7, min_samples=1, center=True).over("slot"))
    near = _median(frame, pl.col("value").rolling_median(13, min_samples=1, center=True))
    scatter = np.mean(np.abs(values - np.median(values)))
    seasonal = bool(np.mean(np.abs(values - weeks)) < _SEASONAL * scatter)
    base = weeks if seasonal else near
    off = pl.lit(np.abs(values - base))
    usual_off = off.median().over("hour") if seasonal else off.rolling_median(201, min_samples=1)
    least = _SPREAD_LEAST * np.std(values - base) + 1e-9
    return Signal(
        step_s=step_s,
        base=base,
        spread=np.maximum(_SIGMA_PER_MAD * _median(frame, usual_off), least),
        values=values,
        season=(DAY_S if step_s < DAY_S else WEEK_S) // step_s if seasonal else 0,
        anomalies=_ANYWHERE + _OF_SEASONS * seasonal,
        floor=0.0 if values.min() >= 0 else -np.inf,
        whole=bool(np.all(values == np.rint(values))),
    )


def _median(frame: pl.DataFrame, median: pl.Expr) -> Floats:
    return frame.select(median.alias("median"))["median"].to_numpy()
