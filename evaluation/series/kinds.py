"""Kinds of healthy series: what web sites, shops, hosts and sensors report."""

import numpy as np

from evaluation.series.signals import DAY_S, Signal, bursts, clock, day, pulses, remembering, week

_COMMON = ("spike", "dip", "level_up", "level_down", "flatline", "outage", "noise_burst", "drift")
_SEASONAL = (*_COMMON, "missing_season", "missing_season", "amplitude", "amplitude")
_COUNTS = ("spike", "level_up", "spike_density")


def web_traffic(rng: np.random.Generator) -> Signal:
    """Requests a second every 5 minutes for three to five weeks: day, week, growth, perhaps a holiday."""
    n, step = int(rng.integers(6000, 10_000)), 300
    t = clock(n, step, rng)
    growth = 1 + rng.uniform(-0.05, 0.3) * np.arange(n) / n
    base = 10 ** rng.uniform(1, 4) * growth * (rng.uniform(0.1, 0.5) + day(t, rng)) * week(t, rng.uniform(0.4, 1.0))
    spread = base * rng.uniform(0.02, 0.08)
    values = base + spread * remembering(n, rng.uniform(0.2, 0.8), rng)
    excused: tuple[tuple[int, int], ...] = ()
    if rng.random() < 0.4:
        start = int(np.argmax(t >= (int(t[0] // DAY_S) + rng.integers(15, n * step // DAY_S - 1)) * DAY_S))
        values[start : start + 288] *= rng.uniform(0.4, 0.7)
        excused = ((start, start + 289),)
    return Signal(step, base, spread, np.maximum(values, 0), 288, _SEASONAL, floor=0, excused=excused)


def balancer_requests(rng: np.random.Generator) -> Signal:
    """Requests in 5 minutes at one load balancer, two weeks: a day whose counts scatter a lot."""
    n, step = 4032, 300
    t = clock(n, step, rng)
    base = rng.uniform(20, 400) * (0.15 + day(t, rng)) * week(t, rng.uniform(0.6, 1.0))
    mean = base * rng.gamma(8, 1 / 8, n)
    return Signal(
        step, base, np.sqrt(base + base**2 / 8), rng.poisson(mean).astype(np.float64), 288, _SEASONAL, 0, whole=True
    )


def ad_clicks(rng: np.random.Generator) -> Signal:
    """Clicks an hour, two to six weeks, heavy tails and a week."""
    n, step = int(rng.integers(350, 1000)), 3600
    t = clock(n, step, rng)
    base = rng.uniform(50, 2000) * (0.3 + day(t, rng)) * week(t, rng.uniform(0.5, 1.1))
    spread = base * rng.uniform(0.08, 0.2)
    values = np.maximum(base + spread * rng.standard_t(4, n), 0)
    return Signal(step, base, spread, np.rint(values), 24, _SEASONAL, 0, whole=True)


def cost_per_click(rng: np.random.Generator) -> Signal:
    """Cost of a click an hour: no season worth the name, log-normal, now and then twice the usual."""
    n = int(rng.integers(500, 1700))
    base = np.full(n, rng.uniform(0.2, 4)) * (1 + rng.uniform(-0.2, 0.2) * np.arange(n) / n)
    width = rng.uniform(0.1, 0.25)
    values = base * np.exp(width * rng.standard_normal(n)) + base * 0.5 * bursts(n, 0.004, 0.2, rng)
    return Signal(
        3600, base, base * width, values, 0, ("spike", "level_up", "level_down", "flatline", "noise_burst", "drift"), 0
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
        0,
        whole=True,
    )


def cpu_batch(rng: np.random.Generator) -> Signal:
    """CPU in percent with a batch job every few hours and cron spikes, two weeks."""
    n, step = 4032, 300
    t = clock(n, step, rng)
    every = float(rng.choice([3600, 7200, 14_400, 21_600, DAY_S]))
    base = rng.uniform(4, 35) + rng.uniform(10, 40) * pulses(
        t, every, every * rng.uniform(0.1, 0.3), rng.integers(0, 12) * 300.0
    )
    spread = np.full(n, rng.uniform(0.5, 2.5))
    cron = rng.uniform(4, 10) * spread * (rng.random(n) < rng.uniform(0.002, 0.01))
    values = base + spread * remembering(n, 0.4, rng) + cron
    kinds = (*_COMMON, "changed_period", "amplitude")
    return Signal(step, base, spread, np.clip(values, 0, 100), int(every // step), kinds, 0, 100)


def cpu_quiet(rng: np.random.Generator) -> Signal:
    """CPU in percent of a host with little to do; short peaks that mean nothing."""
    n = 4032
    base = np.full(n, rng.uniform(1, 60))
    spread = np.full(n, rng.uniform(0.03, 0.15)) * np.sqrt(base)
    values = base + spread * (rng.standard_t(5, n) + rng.uniform(3, 6) * bursts(n, 0.004, 0.3, rng))
    return Signal(300, base, spread, np.clip(values, 0, 100), 0, _COMMON, 0, 100)


def memory_sawtooth(rng: np.random.Generator) -> Signal:
    """Memory in bytes: it fills, is collected or restarted at a threshold, and fills again."""
    n = int(rng.integers(2500, 5000))
    low, rise = rng.uniform(0.5e9, 4e9), rng.uniform(0.5e9, 3e9)
    pace = rng.lognormal(0, 0.3, n) / rng.uniform(60, 400)
    base = low + rise * (np.cumsum(pace) % 1.0)
    spread = np.full(n, rise * rng.uniform(0.01, 0.03))
    return Signal(
        300,
        base,
        spread,
        base + spread * rng.standard_normal(n),
        0,
        ("spike", "level_up", "flatline", "noise_burst"),
        0,
    )


def network_bytes(rng: np.random.Generator) -> Signal:
    """Bytes a second into a host: a quiet level and transfers of every size."""
    n = int(rng.integers(3000, 4800))
    base = np.full(n, 10 ** rng.uniform(4, 8))
    width = rng.uniform(0.1, 0.4)
    values = base * (
        np.exp(width * rng.standard_normal(n)) + rng.uniform(0.5, 3) * bursts(n, rng.uniform(0.002, 0.02), 0.5, rng)
    )
    return Signal(
        300,
        base,
        base * width,
        values,
        0,
        ("spike", "level_up", "outage", "flatline", "spike_density", "noise_burst"),
        0,
    )


def disk_latency(rng: np.random.Generator) -> Signal:
    """Seconds a write, each minute; heavy tails."""
    n = int(rng.integers(2500, 4500))
    base = np.full(n, 10 ** rng.uniform(-3.3, -1.7))
    values = base * np.exp(rng.uniform(0.15, 0.35) * rng.standard_t(4, n))
    return Signal(60, base, base * 0.3, values, 0, ("spike", "level_up", "drift", "spike_density", "noise_burst"), 0)


def queue_length(rng: np.random.Generator) -> Signal:
    """Jobs that wait, each minute: mostly few, with queues that build up and drain."""
    n = int(rng.integers(2500, 4500))
    usual = rng.uniform(2, 30)
    base = np.full(n, usual)
    values = usual * np.exp(0.35 * remembering(n, 0.9, rng)) + usual * bursts(n, 0.003, 0.85, rng)
    return Signal(
        60, base, base * 0.5, np.rint(values), 0, ("spike", "level_up", "flatline", "drift", "outage"), 0, whole=True
    )


def error_count(rng: np.random.Generator) -> Signal:
    """Errors a minute: mostly none."""
    n = int(rng.integers(2500, 4500))
    base = np.full(n, rng.uniform(0.02, 0.6))
    values = rng.poisson(base * rng.gamma(1.5, 1 / 1.5, n)).astype(np.float64)
    return Signal(60, base, np.sqrt(base + base**2 / 1.5), values, 0, _COUNTS, 0, whole=True)


def room_temperature(rng: np.random.Generator) -> Signal:
    """Degrees an hour for months: slow weather, a day, a week."""
    n, step = int(rng.integers(2000, 5000)), 3600
    t = clock(n, step, rng)
    base = 20 + rng.uniform(0.5, 3) * day(t, rng) * week(t, 0.4) + rng.uniform(1, 3) * remembering(n, 0.998, rng)
    spread = np.full(n, rng.uniform(0.15, 0.4))
    return Signal(
        step,
        base,
        spread,
        base + spread * remembering(n, 0.6, rng),
        24,
        ("spike", "dip", "level_up", "level_down", "flatline", "drift"),
    )


def machine_temperature(rng: np.random.Generator) -> Signal:
    """Degrees of a machine every 5 minutes: wanders, with ordinary stops."""
    n = int(rng.integers(4000, 8000))
    base = 80 + rng.uniform(2, 5) * remembering(n, 0.997, rng)
    spread = np.full(n, rng.uniform(0.4, 0.9))
    return Signal(
        300,
        base,
        spread,
        base + spread * remembering(n, 0.5, rng),
        0,
        ("spike", "dip", "level_down", "level_down", "flatline", "noise_burst", "drift"),
    )
