"""CUSUM and Bayesian change points against their definitions."""

import math

import numpy as np
import pytest

from common.units import NS_PER_S
from evaluation.baselines.change_points import _expected_runs, bayesian_change, cusum, forecast_errors
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats


def series(values: Floats, probation: int = 30) -> Series:
    times_ns = np.arange(values.size, dtype=np.int64) * 300 * NS_PER_S
    return Series("test", 0, times_ns, values, (), probation)


def noise(points: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 1.0, points)


def test_an_error_is_the_distance_from_the_weighted_mean_before() -> None:
    # Means: 4, then 4 + 0.5·4 = 6, then 6 + 0.5·(-2) = 5.
    assert forecast_errors(np.array([4.0, 8.0, 4.0, 5.0]), 0.5).tolist() == [0.0, 4.0, -2.0, 0.0]


def test_sums_add_up_beyond_the_allowance_and_restart_after_the_limit() -> None:
    values, allowance, limit = noise(400), 0.5, 3.0
    values[200:] += 3.0 * np.arange(200)  # forecast errors of an exponentially weighted mean tend to 3 / 0.2
    found = cusum(series(values), allowance, limit)
    errors = forecast_errors(values, 0.2)
    mean = variance = up = down = 0.0
    for i, error in enumerate(errors.tolist()):
        expected = 0.0
        if i >= 30:
            z = (error - mean) / np.sqrt(variance)
            up, down = max(0.0, up + z - allowance), max(0.0, down - z - allowance)
            expected = max(up, down)
            if expected > limit:
                up = down = 0.0
        assert found[i] == pytest.approx(expected, rel=1e-9)
        off = error - mean
        mean += 0.003 * off
        variance = (1 - 0.003) * (variance + 0.003 * off * off)
    assert found[200:220].max() > limit > 0


def test_cusum_is_symmetric() -> None:
    values = noise(300)
    assert cusum(series(values)) == pytest.approx(cusum(series(-values)))


def student_t(x: float, freedom: float) -> float:
    """Density of Student's t."""
    height = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    return height * math.pow(1 + x * x / freedom, -(freedom + 1) / 2)


def posterior_mean_run(values: Floats, hazard: float) -> list[float]:
    """Adams and MacKay (2007), algorithm 1, over all run lengths; prior: one point of mean 0 and variance 1."""
    chances, found = np.array([1.0]), []
    for i, value in enumerate(values.tolist()):
        predictive = np.empty(i + 1)
        for r in range(i + 1):
            past = values[i - r : i]
            kappa, mean = 1.0 + r, past.sum() / (1.0 + r)
            beta = 1.0 + 0.5 * (past @ past - kappa * mean * mean)
            alpha = 1.0 + 0.5 * r
            scale = np.sqrt(beta * (kappa + 1) / (alpha * kappa))
            predictive[r] = student_t((value - mean) / scale, 2 * alpha) / scale
        posterior = chances * predictive
        posterior /= posterior.sum()
        chances = np.concatenate([[hazard], (1 - hazard) * posterior])
        found.append(float(chances @ np.arange(i + 2)))
    return found


def test_expected_run_lengths_are_those_of_the_full_recursion() -> None:
    values = np.concatenate([noise(40), 8.0 + noise(20, seed=2)])
    assert _expected_runs(values, 0.01, 1000) == pytest.approx(posterior_mean_run(values, 0.01), rel=1e-6)


def test_run_lengths_are_capped() -> None:
    found = _expected_runs(noise(300), 0.01, 50)
    assert found[100:].max() <= 50
    assert found[:40] == pytest.approx(_expected_runs(noise(300)[:40], 0.01, 1000), rel=1e-6)


def test_a_jump_of_variance_shortens_the_expected_run() -> None:
    values = np.cumsum(np.concatenate([noise(600), 10 * noise(50, seed=2)]))
    found = bayesian_change(series(values, 100))
    assert 600 <= int(found.argmax()) < 606
    assert found.min() == 0.0
