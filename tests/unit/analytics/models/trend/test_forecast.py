"""Series with a known date, which must be in the interval, and series without a trend, which have none."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.trend.forecast import DAYS, DAYS_HIGH, DAYS_LOW, PER_DAY, RECENT_DAYS, forecasts

Floats = NDArray[np.float64]
Series = Callable[[np.random.Generator, Floats], Floats]
SEEDS, HORIZON = 200, 14.0
LEVEL, RISE, LIMIT = 0.5, 0.02, 0.95


def forecast_of(
    series: Series, days: int, *, daily: bool = False, limit: float = LIMIT, stepwise: bool = False
) -> Floats:
    """[SEEDS, columns]: forecasts of as many series of one form."""
    times, rng = np.arange(PER_DAY * days) / PER_DAY, np.random.default_rng(5)
    history = np.array([series(rng, times) for _ in range(SEEDS)], np.float32)
    return forecasts(history, np.full(SEEDS, limit), np.full(SEEDS, daily), np.full(SEEDS, stepwise), PER_DAY)


def alarms(found: Floats) -> float:
    """Share of series with a finding: the date is near, by the newest part as well."""
    return float(np.mean((found[:, DAYS] <= HORIZON) & (found[:, RECENT_DAYS] <= 2 * HORIZON)))


def autocorrelated(rng: np.random.Generator, size: int, correlation: float, sigma: float) -> Floats:
    """Noise in which each value depends on the previous one."""
    noise = rng.normal(0.0, sigma, size)
    for at in range(1, size):
        noise[at] += correlation * noise[at - 1]
    return noise


def linear(rng: np.random.Generator, times: Floats) -> Floats:
    return LEVEL + RISE * times + rng.normal(0.0, 0.005, times.size)


def sluggish(rng: np.random.Generator, times: Floats) -> Floats:
    return LEVEL + RISE * times + autocorrelated(rng, times.size, 0.8, 0.003)


def spiky(rng: np.random.Generator, times: Floats) -> Floats:
    spikes = np.where(rng.random(times.size) < 0.1, rng.uniform(-0.3, 0.3, times.size), 0.0)
    return linear(rng, times) + spikes


def daily_swing(rng: np.random.Generator, times: Floats) -> Floats:
    return linear(rng, times) + 0.05 * np.sin(2 * np.pi * times + rng.uniform(0.0, 6.3))


def with_holes(rng: np.random.Generator, times: Floats) -> Floats:
    return np.where(rng.random(times.size) < 0.4, np.nan, linear(rng, times))


@pytest.mark.parametrize(
    ("series", "days"),
    [(series, days) for series in (linear, sluggish, spiky, daily_swing, with_holes) for days in (4, 7, 14)],
)
def test_the_true_date_lies_in_the_interval(series: Series, days: int) -> None:
    found = forecast_of(series, days, daily=series is daily_swing)
    known = ~np.isnan(found[:, DAYS])
    assert known.mean() > (0.6 if days == 4 else 0.95)
    true = (LIMIT - LEVEL) / RISE - days
    inside = (found[known, DAYS_LOW] <= true) & (true <= found[known, DAYS_HIGH])
    assert inside.mean() > 0.93
    assert np.median(found[known, DAYS]) == pytest.approx(true, rel=0.06)


def test_a_falling_series_has_a_date_too() -> None:
    found = forecast_of(lambda rng, times: -linear(rng, times), 7, limit=-LIMIT)
    assert np.median(found[:, DAYS]) == pytest.approx(15.5, rel=0.05)


def flat(rng: np.random.Generator, times: Floats) -> Floats:
    return LEVEL + rng.normal(0.0, 0.01, times.size)


def flat_sluggish(rng: np.random.Generator, times: Floats) -> Floats:
    return LEVEL + autocorrelated(rng, times.size, 0.95, 0.005)


def flat_daily(rng: np.random.Generator, times: Floats) -> Floats:
    return flat(rng, times) + 0.1 * np.sin(2 * np.pi * times + rng.uniform(0.0, 6.3))


def random_walk(rng: np.random.Generator, times: Floats) -> Floats:
    return LEVEL + np.cumsum(rng.normal(0.0, 0.003, times.size))


def saturating(rng: np.random.Generator, times: Floats) -> Floats:
    return 0.9 - 0.4 * np.exp(-times / 2.0) + rng.normal(0.0, 0.003, times.size)


def constant(rng: np.random.Generator, times: Floats) -> Floats:
    return np.full(times.size, LEVEL)


@pytest.mark.parametrize("days", [3, 7, 14])
@pytest.mark.parametrize("series", [flat, flat_sluggish, flat_daily, random_walk, saturating, constant])
def test_a_series_without_a_trend_gives_no_finding(series: Series, days: int) -> None:
    assert alarms(forecast_of(series, days, daily=series is flat_daily)) <= 0.01


@pytest.mark.parametrize("days", [4, 8, 14])
def test_growth_that_began_half_way_is_forecast_by_its_new_slope(days: int) -> None:
    def knee(rng: np.random.Generator, times: Floats) -> Floats:
        return LEVEL + 0.04 * np.maximum(0.0, times - days / 2) + rng.normal(0.0, 0.003, times.size)

    found = forecast_of(knee, days)
    true = 0.45 / 0.04 - days / 2
    assert alarms(found) > 0.95
    known = ~np.isnan(found[:, DAYS])
    inside = (found[known, DAYS_LOW] <= true) & (true <= found[known, DAYS_HIGH])
    assert inside.mean() > 0.93


@pytest.mark.parametrize("daily", [2.0, 8.0])
def test_rare_events_are_forecast_by_their_rate(daily: float) -> None:
    def events(rng: np.random.Generator, times: Floats) -> Floats:
        return np.cumsum(rng.poisson(daily / PER_DAY, times.size)).astype(np.float64)

    found = forecast_of(events, 14, limit=512.0, stepwise=True)
    known = ~np.isnan(found[:, DAYS])
    assert known.mean() > 0.95
    true = 512.0 / daily - 14
    assert ((found[known, DAYS_LOW] <= true) & (true <= found[known, DAYS_HIGH])).mean() > 0.93


def test_too_little_history_gives_no_forecast() -> None:
    assert np.isnan(forecast_of(linear, 1)[:, DAYS]).mean() < 0.8
    times, rng = np.arange(10) / PER_DAY, np.random.default_rng(1)
    short = np.array([linear(rng, times)], np.float32)
    assert np.isnan(forecasts(short, np.array([LIMIT]), np.zeros(1, bool), np.zeros(1, bool), PER_DAY)[:, DAYS]).all()
    assert np.isnan(forecast_of(daily_swing, 2, daily=True)[:, DAYS]).mean() > 0.95
