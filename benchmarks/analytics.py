"""What the analytics engine costs: samples per CPU-second with everything on, beside a per-sample Python loop."""

import math
import time

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.models import baseline
from analytics.models.pace import WARMUP, Pace
from analytics.worker import build_engine
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key

_START_NS = 1_700_000_000 * NS_PER_S
_INTERVAL_NS = 10 * NS_PER_S
_GAUGES = (
    "gpu_temperature_celsius",
    "gpu_memory_temperature_celsius",
    "gpu_power_watts",
    "gpu_sm_clock_hertz",
    "gpu_memory_clock_hertz",
    "gpu_utilization_ratio",
    "gpu_engine_active_ratio",
    "gpu_sm_active_ratio",
    "gpu_tensor_active_ratio",
    "gpu_memory_bandwidth_active_ratio",
    "gpu_memory_used_bytes",
    "gpu_memory_free_bytes",
    "gpu_xid_last",
)
_COUNTERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("gpu_energy_joules_total", {}),
    ("gpu_pcie_replays_total", {}),
    ("gpu_throttle_seconds_total", {"reason": "thermal"}),
    ("gpu_throttle_seconds_total", {"reason": "power"}),
    ("gpu_nvlink_bytes_total", {"direction": "rx"}),
    ("gpu_nvlink_bytes_total", {"direction": "tx"}),
    ("gpu_ecc_errors_total", {"severity": "correctable", "persistence": "volatile"}),
)
_WORK = ("gpu_energy_joules_total", "gpu_nvlink_bytes_total")
_PORT_COUNTERS = (
    "fabric_port_pfc_pause_frames_total",
    "fabric_port_pfc_pause_seconds_total",
)


def tables(targets: int) -> list[SeriesTable]:
    """Hosts with eight GPUs and their NIC ports: 240 series each."""
    return [SeriesTable(f"dcgm/{t}", f"node{t}", tuple(_keys(f"node{t}"))) for t in range(targets)]


def _keys(device: str) -> list[str]:
    keys = []
    for gpu in range(8):
        labels = {"device": device, "gpu": f"GPU-{device}-{gpu}"}
        keys += [series_key(metric, labels) for metric in _GAUGES]
        keys += [series_key(metric, {**labels, **extra}) for metric, extra in _COUNTERS]
        port = {"device": device, "port": f"mlx5_{gpu}"}
        keys += [
            series_key(metric, {**port, "priority": priority, "direction": direction})
            for metric in _PORT_COUNTERS
            for priority in ("3", "4")
            for direction in ("rx", "tx")
        ]
        keys += [series_key("fabric_port_up", port), series_key("fabric_port_flaps_total", port)]
    return keys


def batches(of: list[SeriesTable], rounds: int) -> list[list[SampleBatch]]:
    """Collections of a healthy cluster, scale over the interval, round by round."""
    rng = np.random.default_rng(1)
    moving = np.array([float(key.startswith(_WORK)) for key in of[0].keys])  # the other counters count errors
    rows = np.arange(len(of[0]), dtype=np.uint32)
    found = []
    for number in range(rounds):
        one_round = []
        for position, table in enumerate(of):
            at = _START_NS + number * _INTERVAL_NS + position * _INTERVAL_NS // len(of)
            noise = rng.integers(0, 1000, rows.size).astype(np.float64)
            values: NDArray[np.float64] = np.where(moving > 0, 1e6 * number, 0.5) + moving * noise
            collection = Collection(_START_NS, number, at, 0.05)
            one_round.append(SampleBatch(table, collection, np.full(rows.size, at), rows, values))
        found.append(one_round)
    return found


def engine_rate(targets: int = 400, rounds: int = 20) -> tuple[float, int]:
    """Samples per CPU-second of observe and advance, correlation included, and how many series there were.

    Counted once the series are known.
    """
    engine = build_engine(EngineConfig())
    prepared = batches(tables(targets), rounds + 3)
    for one_round in prepared[:3]:
        _process(engine, one_round)
    samples = sum(len(batch) for one_round in prepared[3:] for batch in one_round)
    began = time.process_time()
    for one_round in prepared[3:]:
        _process(engine, one_round)
    return samples / (time.process_time() - began), len(engine.registry)


def _process(engine: Engine, one_round: list[SampleBatch]) -> None:
    for batch in one_round:
        engine.observe(batch)
        engine.advance()


def python_rate(samples: int = 300_000, series: int = 96_000) -> float:
    """Rates and baselines alone, as a loop over samples: what the compiled kernels replace."""
    values = np.random.default_rng(1).normal(1e6, 1e4, samples).cumsum().tolist()
    state = [_PythonBaseline() for _ in range(series)]
    began = time.process_time()
    for i, value in enumerate(values):
        state[i % series].update(10.0 * (i // series), value)
    return samples / (time.process_time() - began)


class _PythonBaseline:
    """Rate with resets, level and scale with clipping, of one series."""

    __slots__ = ("at_s", "count", "level", "raw", "scale")

    def __init__(self) -> None:
        self.at_s, self.raw, self.level, self.scale, self.count = -1.0, 0.0, 0.0, 0.0, 0

    def update(self, at_s: float, value: float) -> float | None:
        """The score of one sample, None where there is none."""
        span_s, step = at_s - self.at_s, value - self.raw
        self.at_s, self.raw = at_s, value
        if not math.isfinite(value) or span_s <= 0 or step < 0:
            return None
        error = step / span_s - self.level
        floor = max(self.scale, 0.01 * abs(self.level))
        self.count += 1
        clip = 3.0 * floor if self.count > 12 else abs(error)
        self.level += 0.01 * min(max(error, -clip), clip)
        self.scale += 0.01 * (min(abs(error), clip) - self.scale)
        return error / (1.2533 * floor) if floor > 0 and self.count > 12 else None


def baseline_rate(series: int = 100_000, rounds: int = 50) -> float:
    """Values per CPU-second of the baseline kernel alone, in random order of series."""
    rng = np.random.default_rng(1)
    sids: NDArray[np.int64] = rng.permutation(series)
    state, score, newest = np.zeros((series, baseline.WIDTH)), np.empty(series), np.empty(series)
    values = [rng.normal(10.0, 1.0, series) for _ in range(8)]
    pace, reported = Pace(0.01, WARMUP, 180), np.zeros(series, bool)
    baseline.score_and_learn(sids, values[0], reported, state, pace, score, newest)
    began = time.process_time()
    for number in range(rounds):
        baseline.score_and_learn(sids, values[number % 8], reported, state, pace, score, newest)
    return series * rounds / (time.process_time() - began)


def run() -> list[Row]:
    loop = python_rate()
    rate, series = engine_rate()
    alone = baseline_rate()
    return [
        row(f"analytics: engine with everything on, {series:,} series of 400 targets", rate, "samples/CPU-s", loop),
        row("analytics: baseline pass alone, 100,000 series in random order", alone, "samples/CPU-s", loop),
    ]


if __name__ == "__main__":
    print_rows(run())
