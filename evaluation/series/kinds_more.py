"""Kinds of healthy series: crowds, roads, textbook shapes, and a cluster of GPUs."""

import numpy as np

from evaluation.series.signals import Signal, bursts, clock, day, pulses, remembering, week

_SHAPED = ("spike", "level_up", "level_down", "flatline", "noise_burst")


def mentions(rng: np.random.Generator) -> Signal:
    """Mentions of a brand in 5 minutes: a faint day, and talk that flares up and dies away."""
    n, step = int(rng.integers(6000, 10_000)), 300
    t = clock(n, step, rng)
    base = rng.uniform(3, 60) * (0.4 + day(t, rng))
    mean = base * rng.gamma(4, 1 / 4, n) * (1 + rng.uniform(1, 3) * bursts(n, 0.001, 0.6, rng))
    values = rng.poisson(mean).astype(np.float64)
    return Signal(
        step,
        base,
        np.sqrt(base + base**2 / 4),
        values,
        288,
        ("spike", "spike", "level_up", "spike_density"),
        0,
        whole=True,
    )


def road_occupancy(rng: np.random.Generator) -> Signal:
    """Percent of time that a sensor in a road is covered, 5 to 15 minutes: rush hours on working days."""
    n, step = int(rng.integers(1200, 3500)), int(rng.choice([300, 600, 900]))
    t = clock(n, step, rng)
    base = 1 + rng.uniform(5, 15) * day(t, rng) * week(t, 0.5)
    spread = 0.3 + 0.2 * base
    season = 86_400 // step
    return Signal(
        step,
        base,
        spread,
        np.clip(base + spread * rng.standard_normal(n), 0, 100),
        season,
        ("spike", "level_up", "flatline", "missing_season", "amplitude"),
        0,
        100,
    )


def road_speed(rng: np.random.Generator) -> Signal:
    """Miles an hour past a sensor: free flow, and slower in the rush hours."""
    n, step = int(rng.integers(1200, 3500)), int(rng.choice([300, 600]))
    t = clock(n, step, rng)
    base = rng.uniform(60, 75) - rng.uniform(0, 15) * day(t, rng) * week(t, 0.3)
    spread = np.full(n, rng.uniform(1.5, 4))
    values = np.rint(base + spread * rng.standard_normal(n))
    return Signal(
        step,
        base,
        spread,
        np.clip(values, 0, 100),
        86_400 // step,
        ("dip", "level_down", "noise_burst", "outage", "drift"),
        0,
        100,
        whole=True,
    )


def daily_plateau(rng: np.random.Generator) -> Signal:
    """A job that lifts the level for the same hours of each day, every 5 minutes for two weeks."""
    n, step = 4032, 300
    t = clock(n, step, rng)
    base = 20 + rng.uniform(20, 60) * pulses(t, 86_400, rng.uniform(4, 10) * 3600, 3600.0 * rng.integers(0, 24))
    spread = np.full(n, rng.uniform(0.5, 4))
    values = base + spread * rng.uniform(-1.7, 1.7, n)
    return Signal(
        step,
        base,
        spread,
        values,
        288,
        ("level_up", "level_down", "missing_season", "missing_season", "amplitude", "flatline", "spike"),
    )


def square_wave(rng: np.random.Generator) -> Signal:
    """On and off at a steady pace, with hardly any noise."""
    n, period = int(rng.integers(1500, 4000)), int(rng.integers(12, 90))
    t = np.arange(n, dtype=np.float64)
    base = rng.uniform(0, 20) + rng.uniform(20, 80) * pulses(t, period, period * rng.uniform(0.2, 0.8))
    spread = np.full(n, rng.uniform(0.05, 1.5))
    return Signal(
        60,
        base,
        spread,
        base + spread * rng.standard_normal(n),
        period,
        ("spike", "flatline", "flatline", "changed_period", "changed_period", "amplitude", "level_up"),
    )


def sine(rng: np.random.Generator) -> Signal:
    """A smooth swing, and some noise."""
    n, period = int(rng.integers(1500, 4000)), int(rng.integers(20, 200))
    base = 50 + rng.uniform(5, 30) * np.sin(2 * np.pi * np.arange(n) / period)
    spread = np.full(n, rng.uniform(0.3, 3))
    return Signal(
        60,
        base,
        spread,
        base + spread * rng.standard_normal(n),
        period,
        ("spike", "flatline", "changed_period", "amplitude", "level_up", "noise_burst"),
    )


def noisy_constant(rng: np.random.Generator) -> Signal:
    """Nothing but noise about a constant, Gaussian or even."""
    n = int(rng.integers(1000, 4000))
    base = np.full(n, rng.uniform(-50, 500))
    spread = np.full(n, 10 ** rng.uniform(-1, 1.5))
    noise = rng.standard_normal(n) if rng.random() < 0.5 else rng.uniform(-1.73, 1.73, n)
    return Signal(300, base, spread, base + spread * noise, 0, (*_SHAPED, "dip", "drift"))


def random_walk(rng: np.random.Generator) -> Signal:
    """A level that wanders without returning, such as a disk's free space or an exchange rate."""
    n = int(rng.integers(1500, 4000))
    step = 10 ** rng.uniform(-2, 1)
    base = 1000 * step + np.cumsum(step * rng.standard_normal(n))
    spread = np.full(n, 2 * step)
    values = base + 0.3 * step * rng.standard_normal(n)
    return Signal(300, base, spread, values, 0, ("spike", "dip", "flatline", "noise_burst", "level_up"))


def tensor_activity(rng: np.random.Generator) -> Signal:
    """Share of time that the tensor cores of a GPU work, every 10 seconds: a steady job that stops for checkpoints."""
    n, every = int(rng.integers(2500, 5000)), float(rng.integers(120, 360)) * 10
    t = 10.0 * np.arange(n, dtype=np.float64)
    base = rng.uniform(0.4, 0.9) * (1 - rng.uniform(0.6, 1) * pulses(t, every, rng.integers(2, 7) * 10.0))
    spread = np.full(n, rng.uniform(0.005, 0.02))
    values = np.clip(base + spread * remembering(n, 0.3, rng), 0, 1)
    return Signal(
        10,
        base,
        spread,
        values,
        int(every // 10),
        ("level_down", "level_down", "outage", "flatline", "noise_burst", "drift", "dip"),
        0,
        1,
    )


def pfc_frames(rng: np.random.Generator) -> Signal:
    """Pause frames a second at a port, every 10 seconds: mostly none, now and then a burst."""
    n = int(rng.integers(2500, 5000))
    usual = 10 ** rng.uniform(1, 4)
    base = np.full(n, 0.02 * usual)
    values = usual * bursts(n, rng.uniform(0.001, 0.01), 0.4, rng)
    return Signal(
        10, base, np.full(n, 0.2 * usual), np.rint(values), 0, ("spike", "level_up", "spike_density"), 0, whole=True
    )
