"""Kinds of healthy series: hosts: processors, memory, disks, networks, queues, errors."""

import numpy as np

from evaluation.series.injections import COMMON
from evaluation.series.signals import DAY_S, Signal, autoregressive, bursts, clock, pulses


def cpu_batch(rng: np.random.Generator) -> Signal:
    """CPU in percent with a batch job every few hours and cron spikes, two weeks."""
    n, step = 4032, 300
    t = clock(n, step, rng)
    every = float(rng.choice([3600, 7200, 14_400, 21_600, DAY_S]))
    base = rng.uniform(4, 35) + rng.uniform(10, 40) * pulses(
        t, every, every * rng.uniform(0.1, 0.3), rng.integers(0, 12) * 300.0
    )
    scale = np.full(n, rng.uniform(0.5, 2.5))
    cron = rng.uniform(4, 10) * scale * (rng.random(n) < rng.uniform(0.002, 0.01))
    values = base + scale * autoregressive(n, 0.4, rng) + cron
    kinds = (*COMMON, "changed_period", "amplitude")
    return Signal(step, base, scale, np.clip(values, 0, 100), int(every // step), kinds, floor=0, ceiling=100)


def cpu_quiet(rng: np.random.Generator) -> Signal:
    """CPU in percent of a host with little to do; short peaks that mean nothing."""
    n = 4032
    base = np.full(n, rng.uniform(1, 60))
    scale = np.full(n, rng.uniform(0.03, 0.15)) * np.sqrt(base)
    values = base + scale * (rng.standard_t(5, n) + rng.uniform(3, 6) * bursts(n, 0.004, 0.3, rng))
    return Signal(300, base, scale, np.clip(values, 0, 100), 0, COMMON, floor=0, ceiling=100)


def memory_sawtooth(rng: np.random.Generator) -> Signal:
    """Memory in bytes: it fills, is collected or restarted at a threshold, and fills again."""
    n = int(rng.integers(2500, 5000))
    low, rise = rng.uniform(0.5e9, 4e9), rng.uniform(0.5e9, 3e9)
    pace = rng.lognormal(0, 0.3, n) / rng.uniform(60, 400)
    base = low + rise * (np.cumsum(pace) % 1.0)
    scale = np.full(n, rise * rng.uniform(0.01, 0.03))
    return Signal(
        300,
        base,
        scale,
        base + scale * rng.standard_normal(n),
        0,
        ("spike", "level_up", "flatline", "noise_burst"),
        floor=0,
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
        floor=0,
    )


def disk_latency(rng: np.random.Generator) -> Signal:
    """Seconds a write, each minute; heavy tails."""
    n = int(rng.integers(2500, 4500))
    base = np.full(n, 10 ** rng.uniform(-3.3, -1.7))
    values = base * np.exp(rng.uniform(0.15, 0.35) * rng.standard_t(4, n))
    return Signal(
        60, base, base * 0.3, values, 0, ("spike", "level_up", "drift", "spike_density", "noise_burst"), floor=0
    )


def queue_length(rng: np.random.Generator) -> Signal:
    """Jobs that wait, each minute: mostly few, with queues that build up and drain."""
    n = int(rng.integers(2500, 4500))
    usual = rng.uniform(2, 30)
    base = np.full(n, usual)
    values = usual * np.exp(0.35 * autoregressive(n, 0.9, rng)) + usual * bursts(n, 0.003, 0.85, rng)
    return Signal(
        60,
        base,
        base * 0.5,
        np.rint(values),
        0,
        ("spike", "level_up", "flatline", "drift", "outage"),
        floor=0,
        whole=True,
    )


def error_count(rng: np.random.Generator) -> Signal:
    """Errors a minute: mostly none."""
    n = int(rng.integers(2500, 4500))
    base = np.full(n, rng.uniform(0.02, 0.6))
    values = rng.poisson(base * rng.gamma(1.5, 1 / 1.5, n)).astype(np.float64)
    return Signal(
        60, base, np.sqrt(base + base**2 / 1.5), values, 0, ("spike", "level_up", "spike_density"), floor=0, whole=True
    )
