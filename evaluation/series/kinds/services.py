"""Kinds of healthy series: web sites, shops and load balancers."""

import numpy as np

from evaluation.series.injections import SEASONAL
from evaluation.series.signals import DAY_S, Signal, autoregressive, bursts, clock, day, week


def web_traffic(rng: np.random.Generator) -> Signal:
    """Requests a second every 5 minutes for three to five weeks: day, week, growth, perhaps a holiday."""
    n, step = int(rng.integers(6000, 10_000)), 300
    t = clock(n, step, rng)
    growth = 1 + rng.uniform(-0.05, 0.3) * np.arange(n) / n
    base = 10 ** rng.uniform(1, 4) * growth * (rng.uniform(0.1, 0.5) + day(t, rng)) * week(t, rng.uniform(0.4, 1.0))
    scale = base * rng.uniform(0.02, 0.08)
    values = base + scale * autoregressive(n, rng.uniform(0.2, 0.8), rng)
    excused: tuple[tuple[int, int], ...] = ()
    if rng.random() < 0.4:
        start = int(np.argmax(t >= (int(t[0] // DAY_S) + rng.integers(15, n * step // DAY_S - 1)) * DAY_S))
        values[start : start + 288] *= rng.uniform(0.4, 0.7)
        excused = ((start, start + 289),)
    return Signal(step, base, scale, np.maximum(values, 0), 288, SEASONAL, floor=0, excused=excused)


def balancer_requests(rng: np.random.Generator) -> Signal:
    """Requests in 5 minutes at one load balancer, two weeks: a day whose counts scatter a lot."""
    n, step = 4032, 300
    t = clock(n, step, rng)
    base = rng.uniform(20, 400) * (0.15 + day(t, rng)) * week(t, rng.uniform(0.6, 1.0))
    mean = base * rng.gamma(8, 1 / 8, n)
    return Signal(
        step,
        base,
        np.sqrt(base + base**2 / 8),
        rng.poisson(mean).astype(np.float64),
        288,
        SEASONAL,
        floor=0,
        whole=True,
    )


def ad_clicks(rng: np.random.Generator) -> Signal:
    """Clicks an hour, two to six weeks, heavy tails and a week."""
    n, step = int(rng.integers(350, 1000)), 3600
    t = clock(n, step, rng)
    base = rng.uniform(50, 2000) * (0.3 + day(t, rng)) * week(t, rng.uniform(0.5, 1.1))
    scale = base * rng.uniform(0.08, 0.2)
    values = np.maximum(base + scale * rng.standard_t(4, n), 0)
    return Signal(step, base, scale, np.rint(values), 24, SEASONAL, floor=0, whole=True)


def cost_per_click(rng: np.random.Generator) -> Signal:
    """Cost of a click an hour: no season worth the name, log-normal, now and then twice the usual."""
    n = int(rng.integers(500, 1700))
    base = np.full(n, rng.uniform(0.2, 4)) * (1 + rng.uniform(-0.2, 0.2) * np.arange(n) / n)
    width = rng.uniform(0.1, 0.25)
    values = base * np.exp(width * rng.standard_normal(n)) + base * 0.5 * bursts(n, 0.004, 0.2, rng)
    return Signal(
        3600,
        base,
        base * width,
        values,
        0,
        ("spike", "level_up", "level_down", "flatline", "noise_burst", "drift"),
        floor=0,
    )


def sales(rng: np.random.Generator) -> Signal:
    """Orders an hour: a closed night, a strong week, small counts."""
    n, step = int(rng.integers(500, 1400)), 3600
    t = clock(n, step, rng)
    base = rng.uniform(15, 200) * day(t, rng) * week(t, rng.uniform(0.3, 1.8)) + 0.5
    values = rng.poisson(base * rng.gamma(20, 1 / 20, n)).astype(np.float64)
    return Signal(
        step,
        base,
        np.sqrt(base + base**2 / 20),
        values,
        24,
        ("spike", "level_up", *("missing_season", "amplitude") * 2),
        floor=0,
        whole=True,
    )


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
        floor=0,
        whole=True,
    )
