"""Sixteen synthetic GPUs whose power follows their work and whose temperature follows their power."""

from collections.abc import Iterable, Sequence

import numpy as np

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.models.multivariate.config import MultivariateConfig
from telemetry.codec.records import encode_record
from telemetry.findings import Finding
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, series_key
from tests.unit.analytics.small_cluster import INTERVAL_S, batch, table

ROUNDS, FAULT_ROUND = 150, 125
HOT = "GPU-1-3"
METRICS = (
    "gpu_power_watts",
    "gpu_temperature_celsius",
    "gpu_sm_clock_hertz",
    "gpu_utilization_ratio",
    "gpu_sm_active_ratio",
    "gpu_tensor_active_ratio",
)


def config(**changes: object) -> EngineConfig:
    rule = {"kinds": ("gpu",), "learn_s": 600.0, "train_every_s": 600.0, **changes}
    return EngineConfig(interval_s=INTERVAL_S, multivariate=MultivariateConfig.model_validate(rule))


def _table(host: int) -> SeriesTable:
    gpus = [{"device": f"node{host}", "gpu": f"GPU-{host}-{n}"} for n in range(8)]
    return table(f"node{host}", [series_key(metric, gpu) for gpu in gpus for metric in METRICS], "dcgm")


def collections(rounds: int = ROUNDS, *, hotter: float = 12.0, seed: int = 5) -> list[SampleBatch]:
    """Both hosts every interval. From ``FAULT_ROUND`` on one GPU is some degrees hotter than its power explains."""
    rng = np.random.default_rng(seed)
    tables = [_table(host) for host in range(2)]
    found = []
    for number in range(rounds):
        for host, of in enumerate(tables):
            work = 0.7 + 0.1 * np.sin(number / 7) + 0.02 * rng.normal(size=8)
            power = 100 + 600 * work + 5 * rng.normal(size=8)
            celsius = 27 + 0.05 * power + 0.5 * rng.normal(size=8)
            if number >= FAULT_ROUND and host == 1:
                celsius[3] += hotter
            values = np.stack([power, celsius, np.full(8, 1.98e9), np.ones(8), work, 0.7 * work], axis=1)
            found.append(batch(of, number, values.ravel().tolist(), at_s=number * INTERVAL_S + host))
    return found


def play(engine: Engine, batches: Iterable[SampleBatch], chunk: int = 1) -> list[bytes]:
    """The outputs of the engine, as they are published; ``chunk`` batches between two steps."""
    published: list[bytes] = []
    for number, each in enumerate(batches, 1):
        engine.observe(each)
        if number % chunk == 0:
            published += [encode_record(output) for output in engine.advance()]
    return published + [encode_record(output) for output in engine.advance()]


def findings(engine: Engine, batches: Sequence[SampleBatch]) -> list[Finding]:
    """Those of the multivariate models."""
    outputs = []
    for each in batches:
        engine.observe(each)
        outputs += engine.advance()
    return [o for o in outputs if isinstance(o, Finding) and o.detector.startswith("multivariate_")]
