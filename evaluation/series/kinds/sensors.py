"""Kinds of healthy series: sensors: temperatures and road traffic."""

import numpy as np

from evaluation.series.signals import DAY_S, Signal, autoregressive, clock, day, week


def room_temperature(rng: np.random.Generator) -> Signal:
    """Degrees an hour for months: slow weather, a day, a week."""
    n, step = int(rng.integers(2000, 5000)), 3600
    t = clock(n, step, rng)
    base = 20 + rng.uniform(0.5, 3) * day(t, rng) * week(t, 0.4) + rng.uniform(1, 3) * autoregressive(n, 0.998, rng)
    scale = np.full(n, rng.uniform(0.15, 0.4))
    return Signal(
        step,
        base,
        scale,
        base + scale * autoregressive(n, 0.6, rng),
        24,
        ("spike", "dip", "level_up", "level_down", "flatline", "drift"),
    )


def machine_temperature(rng: np.random.Generator) -> Signal:
    """Degrees of a machine every 5 minutes: wanders, with ordinary stops."""
    n = int(rng.integers(4000, 8000))
    base = 80 + rng.uniform(2, 5) * autoregressive(n, 0.997, rng)
    scale = np.full(n, rng.uniform(0.4, 0.9))
    return Signal(
        300,
        base,
        scale,
        base + scale * autoregressive(n, 0.5, rng),
        0,
        ("spike", "dip", "level_down", "level_down", "flatline", "noise_burst", "drift"),
    )


def road_occupancy(rng: np.random.Generator) -> Signal:
    """Percent of time that a sensor in a road is covered, 5 to 15 minutes: rush hours on working days."""
    n, step = int(rng.integers(1200, 3500)), int(rng.choice([300, 600, 900]))
    t = clock(n, step, rng)
    base = 1 + rng.uniform(5, 15) * day(t, rng) * week(t, 0.5)
    scale = 0.3 + 0.2 * base
    season = DAY_S // step
    return Signal(
        step,
        base,
        scale,
        np.clip(base + scale * rng.standard_normal(n), 0, 100),
        season,
        ("spike", "level_up", "flatline", "missing_season", "amplitude"),
        floor=0,
        ceiling=100,
    )


def road_speed(rng: np.random.Generator) -> Signal:
    """Miles an hour past a sensor: free flow, and slower in the rush hours."""
    n, step = int(rng.integers(1200, 3500)), int(rng.choice([300, 600]))
    t = clock(n, step, rng)
    base = rng.uniform(60, 75) - rng.uniform(0, 15) * day(t, rng) * week(t, 0.3)
    scale = np.full(n, rng.uniform(1.5, 4))
    values = np.rint(base + scale * rng.standard_normal(n))
    return Signal(
        step,
        base,
        scale,
        np.clip(values, 0, 100),
        DAY_S // step,
        ("dip", "level_down", "noise_burst", "outage", "drift"),
        floor=0,
        ceiling=100,
        whole=True,
    )
