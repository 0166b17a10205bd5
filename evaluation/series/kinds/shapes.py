"""Kinds of healthy series: textbook shapes."""

import numpy as np

from evaluation.series.signals import DAY_S, Signal, clock, pulses


def daily_plateau(rng: np.random.Generator) -> Signal:
    """A job that lifts the level for the same hours of each day, every 5 minutes for two weeks."""
    n, step = 4032, 300
    t = clock(n, step, rng)
    base = 20 + rng.uniform(20, 60) * pulses(t, DAY_S, rng.uniform(4, 10) * 3600, 3600.0 * rng.integers(0, 24))
    scale = np.full(n, rng.uniform(0.5, 4))
    values = base + scale * rng.uniform(-1.7, 1.7, n)
    return Signal(
        step,
        base,
        scale,
        values,
        288,
        ("level_up", "level_down", "missing_season", "missing_season", "amplitude", "flatline", "spike"),
    )


def square_wave(rng: np.random.Generator) -> Signal:
    """On and off at a steady pace, with hardly any noise."""
    n, period = int(rng.integers(1500, 4000)), int(rng.integers(12, 90))
    t = np.arange(n, dtype=np.float64)
    base = rng.uniform(0, 20) + rng.uniform(20, 80) * pulses(t, period, period * rng.uniform(0.2, 0.8))
    scale = np.full(n, rng.uniform(0.05, 1.5))
    return Signal(
        60,
        base,
        scale,
        base + scale * rng.standard_normal(n),
        period,
        ("spike", "flatline", "flatline", "changed_period", "changed_period", "amplitude", "level_up"),
    )


def sine(rng: np.random.Generator) -> Signal:
    """A smooth swing, and some noise."""
    n, period = int(rng.integers(1500, 4000)), int(rng.integers(20, 200))
    base = 50 + rng.uniform(5, 30) * np.sin(2 * np.pi * np.arange(n) / period)
    scale = np.full(n, rng.uniform(0.3, 3))
    return Signal(
        60,
        base,
        scale,
        base + scale * rng.standard_normal(n),
        period,
        ("spike", "flatline", "changed_period", "amplitude", "level_up", "noise_burst"),
    )


def noisy_constant(rng: np.random.Generator) -> Signal:
    """Nothing but noise about a constant, Gaussian or even."""
    n = int(rng.integers(1000, 4000))
    base = np.full(n, rng.uniform(-50, 500))
    scale = np.full(n, 10 ** rng.uniform(-1, 1.5))
    noise = rng.standard_normal(n) if rng.random() < 0.5 else rng.uniform(-1.73, 1.73, n)
    return Signal(
        300,
        base,
        scale,
        base + scale * noise,
        0,
        ("spike", "level_up", "level_down", "flatline", "noise_burst", "dip", "drift"),
    )


def random_walk(rng: np.random.Generator) -> Signal:
    """A level that wanders without returning, such as a disk's free space or an exchange rate."""
    n = int(rng.integers(1500, 4000))
    step = 10 ** rng.uniform(-2, 1)
    base = 1000 * step + np.cumsum(step * rng.standard_normal(n))
    scale = np.full(n, 2 * step)
    values = base + 0.3 * step * rng.standard_normal(n)
    return Signal(300, base, scale, values, 0, ("spike", "dip", "flatline", "noise_burst", "level_up"))
