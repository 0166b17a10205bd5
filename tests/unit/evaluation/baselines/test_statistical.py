"""Statistical baselines on small series, by hand or by their definition."""

import numpy as np
import pytest

from common.units import NS_PER_S
from evaluation.baselines.statistical import (
    distances,
    ewma,
    ewma_of_steps,
    naive_day,
    naive_week,
    robust_z,
    spectral_residual,
)
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats

HOUR_NS = 3600 * NS_PER_S


def series(values: Floats, step_ns: int = HOUR_NS, probation: int = 30) -> Series:
    return Series("test", 0, np.arange(values.size, dtype=np.int64) * step_ns, values, (), probation)


def noise(points: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(10.0, 1.0, points)


@pytest.mark.parametrize(
    ("before", "value", "score"),
    [
        # Median 3, deviations 2 1 0 1 2: their median 1, one sigma 1.4826.
        ([1.0, 2.0, 3.0, 4.0, 5.0], 3.0 + 2 * 1.4826, 2.0),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 3.0 - 3 * 1.4826, 3.0),
        # Mostly one value: a tenth of the standard deviation sqrt(10²·0.2·0.8) = 4 instead of 0.
        ([0.0, 0.0, 0.0, 0.0, 10.0], 0.8, 2.0),
        ([7.0, 7.0, 7.0], 7.0, 0.0),
        ([7.0, 7.0, 7.0], 8.0, 1e6),  # at most
    ],
)
def test_a_distance_is_in_median_absolute_deviations(before: list[float], value: float, score: float) -> None:
    assert distances(np.array([before]), np.array([value])) == pytest.approx([score], rel=1e-6)


def test_the_window_ends_before_the_value() -> None:
    values = noise(400)
    found = robust_z(series(values), window=50)
    assert not found[:30].any()
    for at in (30, 49, 50, 51, 399):
        before = values[max(0, at - 50) : at]
        mad = 1.4826 * np.median(np.abs(before - np.median(before)))
        expected = abs(values[at] - np.median(before)) / max(mad, 0.1 * before.std())
        assert found[at] == pytest.approx(expected, rel=1e-6)


def test_ewma_scores_by_the_moments_of_what_was_before() -> None:
    values = noise(60)
    found, alpha = ewma(series(values), alpha=0.1), 0.1
    weights = alpha * (1 - alpha) ** np.arange(48, -1, -1)
    weights[0] /= alpha  # the first value has what is left
    mean = weights @ values[:49]
    variance = weights @ (values[:49] - mean) ** 2  # Finch (2009), equation 124: the same by recursion
    assert not found[:30].any()
    assert found[49] == pytest.approx(abs(values[49] - mean) / np.sqrt(variance))


def test_ewma_of_differences_is_blind_to_the_level() -> None:
    values = np.concatenate([noise(200), 1000.0 + noise(200, seed=2)])
    found = ewma_of_steps(series(values))
    assert found.argmax() == 200
    assert found == pytest.approx(ewma_of_steps(series(values + 5000.0)))


@pytest.mark.parametrize("method", [ewma, ewma_of_steps, robust_z])
def test_a_constant_series_scores_nothing(method) -> None:
    assert not method(series(np.full(500, 3.0))).any()


def test_a_seasonal_naive_forecast_is_the_value_a_day_ago() -> None:
    hours = np.arange(24 * 10)
    values = 100.0 * np.sin(2 * np.pi * hours / 24) + np.tile(noise(24), 10)
    assert naive_day(series(values)).max() == pytest.approx(0.0, abs=1e-3), "each day is like the one before"
    values[24 * 8 + 5] += 1.0
    found = naive_day(series(values))
    assert np.flatnonzero(found > 1.0).tolist() == [24 * 8 + 5, 24 * 9 + 5], "and the day after"


def test_a_week_is_compared_with_the_day_before_while_there_is_none() -> None:
    rng = np.random.default_rng(3)
    weekday = np.repeat([1.0, 1, 1, 1, 1, 5, 5], 24)
    values = np.tile(weekday, 4) + 0.01 * rng.normal(size=4 * 168)
    week, day = naive_week(series(values)), naive_day(series(values))
    saturdays = [168 * k + 5 * 24 for k in range(1, 4)]
    assert day[saturdays].min() > 10 > week[saturdays[1:]].max()
    assert week[24:168] == pytest.approx(day[24:168])


def test_without_a_day_there_is_no_score() -> None:
    assert not naive_day(series(noise(20))).any()


def test_the_spectral_residual_is_most_salient_at_a_spike() -> None:
    values = np.sin(2 * np.pi * np.arange(600) / 32) + 0.05 * noise(600)
    values[400] += 5.0
    found = spectral_residual(series(values))
    assert not found[:127].any()
    assert found.argmax() == 400
    # One window by the paper: the saliency of its newest point over the mean of the 21 before.
    window = values[273:401]
    slope = np.mean([(window[-1] - window[-1 - k]) / k for k in range(1, 6)])
    extended = np.concatenate([window, np.full(5, window[-5] + 5 * slope)])
    spectrum = np.fft.fft(extended)[: extended.size // 2 + 1]
    logs = np.log(np.abs(spectrum))
    smooth = np.array([np.mean([logs[max(i - k, 0)] for k in range(4)]) for i in range(logs.size)])
    saliency = np.abs(np.fft.irfft(np.exp(logs - smooth) * spectrum / np.abs(spectrum), extended.size))
    usual = saliency[106:127].mean()
    assert found[400] == pytest.approx((saliency[127] - usual) / usual)
    assert not spectral_residual(series(noise(128))).any(), "no window before the newest point"
