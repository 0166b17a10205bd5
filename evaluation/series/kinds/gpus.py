"""Kinds of healthy series: a GPU cluster."""

import numpy as np

from evaluation.series.signals import Signal, autoregressive, bursts, pulses


def tensor_activity(rng: np.random.Generator) -> Signal:
    """Share of time that the tensor cores of a GPU work, every 10 seconds: a steady job that stops for checkpoints."""
    n, every = int(rng.integers(2500, 5000)), float(rng.integers(120, 360)) * 10
    t = 10.0 * np.arange(n, dtype=np.float64)
    base = rng.uniform(0.4, 0.9) * (1 - rng.uniform(0.6, 1) * pulses(t, every, rng.integers(2, 7) * 10.0))
    scale = np.full(n, rng.uniform(0.005, 0.02))
    values = np.clip(base + scale * autoregressive(n, 0.3, rng), 0, 1)
    return Signal(
        10,
        base,
        scale,
        values,
        int(every // 10),
        ("level_down", "level_down", "outage", "flatline", "noise_burst", "drift", "dip"),
        floor=0,
        ceiling=1,
    )


def pfc_frames(rng: np.random.Generator) -> Signal:
    """Pause frames a second at a port, every 10 seconds: mostly none, now and then a burst."""
    n = int(rng.integers(2500, 5000))
    usual = 10 ** rng.uniform(1, 4)
    base = np.full(n, 0.02 * usual)
    values = usual * bursts(n, rng.uniform(0.001, 0.01), 0.4, rng)
    return Signal(
        10,
        base,
        np.full(n, 0.2 * usual),
        np.rint(values),
        0,
        ("spike", "level_up", "spike_density"),
        floor=0,
        whole=True,
    )
