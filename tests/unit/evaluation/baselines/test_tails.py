"""Tails of errors: moments, the generalised Pareto distribution, and what is not learned."""

import math

import numpy as np
import pytest

from common.units import NS_PER_S
from evaluation.baselines.tails import anomaly_likelihood, dspot, level_and_jump, surprise, with_peak
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats


def series(values: Floats, probation: int = 200) -> Series:
    times_ns = np.arange(values.size, dtype=np.int64) * 300 * NS_PER_S
    return Series("test", 0, times_ns, values, (), probation)


def noise(points: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 1.0, points)


def test_moments_of_peaks_are_updated_one_by_one() -> None:
    peaks = np.array([3.0, 1.0, 5.0, 7.0])
    state = (0.0, 0.0, 0.0)
    for peak in peaks.tolist():
        state = with_peak(*state, peak)
    assert state == pytest.approx((4.0, peaks.mean(), (peaks**2).mean()))


@pytest.mark.parametrize("shape", [0.1, 0.3])
@pytest.mark.parametrize("excess", [0.5, 3.0, 40.0])
def test_a_heavy_tail_is_a_generalised_pareto_distribution_by_its_moments(shape: float, excess: float) -> None:
    scale = 2.0
    mean = scale / (1 - shape)
    variance = scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape))
    beyond = (1 + shape * excess / scale) ** (-1 / shape)  # share of peaks with at least this excess
    assert surprise(excess, 0.02, mean, variance + mean**2) == pytest.approx(-math.log(0.02 * beyond))


def test_a_tail_without_excess_variance_is_exponential() -> None:
    # An exponential distribution has the mean as its standard deviation.
    assert surprise(6.0, 0.1, 2.0, 8.0) == pytest.approx(3.0 - np.log(0.1))
    # One that is bounded (uniform up to 4) would make all beyond 4 equally impossible.
    assert surprise(6.0, 0.1, 2.0, 4.0**2 / 3) == pytest.approx(3.0 - np.log(0.1))


def test_all_beyond_measure_is_capped() -> None:
    assert surprise(1e300, 0.1, 1e-6, 2e-12) == 1e6


def test_dspot_begins_after_the_first_part_and_scores_only_beyond_its_threshold() -> None:
    values = noise(1000)
    found = dspot(series(values))
    assert not found[:200].any()
    assert 0.005 < np.mean(found[200:] > 0) < 0.06, "about 2 % of points are beyond the 98th percentile"


def test_dspot_does_not_learn_what_is_too_rare() -> None:
    values = noise(600)
    values[400:410] += 30.0
    found = dspot(series(values))
    assert found[400:410].min() > -np.log(1e-4), "ten in a row: the window holds none of them"
    assert found[411:420].max() < 10
    spike = values.copy()
    spike[400:410] = noise(10, seed=3)
    assert found[420:].max() == pytest.approx(dspot(series(spike))[420:].max(), rel=0.5)


def test_dspot_follows_a_drift() -> None:
    values = noise(1500) + 0.02 * np.arange(1500)
    assert np.mean(dspot(series(values))[200:] > -np.log(1e-4)) < 0.01


def test_likelihood_compares_the_last_errors_with_those_before() -> None:
    values = noise(400)
    found = anomaly_likelihood(series(values), alpha=0.2, long=100, short=10)
    forecast, errors = values[0], np.zeros(400)
    for i, value in enumerate(values.tolist()):
        errors[i] = abs(value - forecast)
        forecast += 0.2 * (value - forecast)
    for at in (100, 250, 399):
        recent, past = errors[at - 9 : at + 1], errors[max(0, at - 109) : at - 9]
        expected = (recent.mean() - past.mean()) / past.std()
        assert found[at] == pytest.approx(max(expected, 0.0), rel=1e-6)
    assert not found[:100].any()


@pytest.mark.parametrize("only", ["level", "jump"])
def test_level_and_jump_is_the_mean_of_both_surprises(only: str) -> None:
    values = noise(1500)
    if only == "level":  # reached so slowly that no step is unusual
        values[1000:1030] += np.linspace(0.0, 9.0, 30)
        both, at = 9.0, slice(1029, 1030)
    else:  # from one end of the usual range to the other
        values[1099], values[1100] = -2.9, 2.9
        both, at = 2.9, slice(1100, 1101)
    alone = level_and_jump(series(values))[at].max()
    values[at] = both + 9.0
    assert 0.0 < alone < level_and_jump(series(values))[at].max()
