"""Recorded load of a healthy H100 on all GPUs of a job: no straggler, though clocks of one moment differ by a fifth."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Gpu, Job, TopologyFact
from tests.h100 import phase
from tests.unit.analytics.small_cluster import SECOND, START_NS, run

INTERVAL_S, HOSTS, GPUS, ROWS_A_SECOND = 2, ("node1", "node2"), 8, 10
POWER_CAP = 4  # bit of the clocks' event reasons
SLOW, STUCK_HZ = ("node2", 3), 1.2e9
CAP = {"reason": "sw_power_cap"}
METRICS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("gpu_sm_clock_hertz", {}),
    ("gpu_tensor_active_ratio", {}),
    ("gpu_sm_active_ratio", {}),
    ("gpu_utilization_ratio", {}),
    ("gpu_power_watts", {}),
    ("gpu_throttle_active", CAP),
)


def columns(names: Sequence[str]) -> NDArray[np.float64]:
    """A row for every 0.1 s of these phases, one after the other: what ``METRICS`` are made of."""
    return np.concatenate([_columns(name) for name in names])


def _columns(name: str) -> NDArray[np.float64]:
    rows = phase(name).with_columns(pl.col("^gpm_.*$").forward_fill()).drop_nulls("gpm_sm_util_pct")
    capped = (rows["clocks_event_reasons"].to_numpy() & POWER_CAP) > 0
    return np.column_stack(
        [
            rows["sm_clock_mhz"].to_numpy() * 1e6,
            rows["gpm_any_tensor_util_pct"].to_numpy() / 100,
            rows["gpm_sm_util_pct"].to_numpy() / 100,
            rows["util_gpu_pct"].to_numpy() / 100,
            rows["power_usage_mw"].to_numpy() / 1e3,
            capped,
        ]
    )


def batches(names: Sequence[str], slow_from: int, others_wait: bool) -> list[SampleBatch]:
    """GPUs of a host are read up to 0.2 s apart: at other moments of the step."""
    recorded, found = columns(names), list[SampleBatch]()
    rounds = (len(recorded) - 2 * GPUS) // (INTERVAL_S * ROWS_A_SECOND)
    for seq in range(rounds):
        for place, host in enumerate(HOSTS):
            values = []
            for gpu in range(GPUS):
                row = recorded[(seq * INTERVAL_S + place) * ROWS_A_SECOND + gpu % 3].copy()
                if seq >= slow_from and (host, gpu) == SLOW:
                    row[0], row[5] = STUCK_HZ, 0.0  # below what its power limit leaves …
                elif seq >= slow_from and others_wait:
                    row[1:3] *= STUCK_HZ / 1.59e9  # … so it works all the time, and the others wait for it
                values += row.tolist()
            labels = [{"device": host, "gpu": f"GPU-{gpu}"} for gpu in range(GPUS)]
            keys = tuple(series_key(metric, {**gpu, **more}) for gpu in labels for metric, more in METRICS)
            at_ns = START_NS + (seq * INTERVAL_S + place) * SECOND
            rows, times_ns = np.arange(len(keys), dtype=np.uint32), np.full(len(keys), at_ns)
            of = SeriesTable(f"dcgm/{host}", host, keys)
            found.append(SampleBatch(of, Collection(START_NS, seq, at_ns, 0.1), times_ns, rows, np.array(values)))
    return found


def stragglers(*names: str, slow_from: int = 1000, others_wait: bool = True) -> set[str]:
    engine = Engine(EngineConfig(interval_s=INTERVAL_S))
    entities = [Gpu(host, f"GPU-{gpu}", gpu) for host in HOSTS for gpu in range(GPUS)] + [Job("7", HOSTS)]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    outputs = run(engine, batches(names, slow_from, others_wait))
    return {str(one.object) for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.STRAGGLER}


@pytest.mark.parametrize("name", ["train", "train-comm", "train-starved", "gemm", "evaluate", "decode"])
def test_a_healthy_card_is_no_straggler_in_any_load(name: str) -> None:
    assert stragglers(name) == set()


def test_a_card_that_is_stuck_at_three_quarters_of_the_clock_is_one() -> None:
    """All wait for data now and then at first, or for the slow one: either shows that the job is in lockstep."""
    assert stragglers("train-starved", "train", slow_from=65) == {"gpu:node2/GPU-3"}
    assert stragglers("train", slow_from=30) == {"gpu:node2/GPU-3"}


def test_a_card_that_nobody_waits_for_is_none() -> None:
    assert stragglers("train", slow_from=30, others_wait=False) == set()
