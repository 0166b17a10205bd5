"""Noise with memory: its variance, its correlation, its tails."""

import numpy as np
import pytest

from simulator.conditions.processes import SlowNoise, log_normal_of_mean


def series(tail: float = 0.0, dt: float = 1.0) -> np.ndarray:
    noise = SlowNoise(np.random.default_rng(1), 200, tau_s=20.0, tail=tail)
    return np.array([noise.advance(dt) for _ in range(2000)])


@pytest.mark.parametrize("tail", [0.0, 4.0])
@pytest.mark.parametrize("dt", [0.5, 1.0, 5.0])
def test_variance_is_1_and_the_correlation_falls_to_1_over_e_within_tau(tail: float, dt: float) -> None:
    found = series(tail, dt)
    assert abs(found.mean()) < 0.05
    assert abs(found.var() - 1.0) < 0.1
    lag = round(20.0 / dt)
    assert abs((found[lag:] * found[:-lag]).mean() / found.var() - np.exp(-1.0)) < 0.06


def test_it_is_stationary_from_the_start() -> None:
    first = np.array([SlowNoise(np.random.default_rng(k), 100, 20.0).advance(1.0) for k in range(50)])
    assert abs(first.var() - 1.0) < 0.1


def test_a_tail_makes_jumps() -> None:
    jumps, smooth = (np.abs(np.diff(series(tail), axis=0)) for tail in (3.0, 0.0))
    assert jumps.max() / jumps.std() > 2.0 * smooth.max() / smooth.std()


def test_log_normal_values_have_mean_1() -> None:
    values = log_normal_of_mean(np.random.default_rng(2).normal(0.0, 1.0, 200_000), 0.8)
    assert abs(values.mean() - 1.0) < 0.02
    assert (values > 0.0).all()
