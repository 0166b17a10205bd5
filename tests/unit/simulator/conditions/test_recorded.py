"""recorded-h100 against the recording of a real H100 in tests/data/h100."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix, SimulatorConfig
from simulator.counters.readings import IDLE, SW_POWER_CAP
from simulator.faults.schedule import parse_fault
from tests.h100 import phase

LONG_STEPS = JobMix(jobs=1, compute_s=400.0, allreduce_bytes=1e9)  # one iteration is all that is seen
NO_JOB = JobMix(jobs=0)


class Seen(NamedTuple):
    """Of all GPUs at all times."""

    mhz: np.ndarray
    watts: np.ndarray
    celsius: np.ndarray
    memory_celsius: np.ndarray
    sm: np.ndarray
    tensor: np.ndarray
    dram: np.ndarray
    utilization: np.ndarray
    mask: np.ndarray


@lru_cache
def simulated(jobs: JobMix, fault: str = "", strength: float = 1.0, context: bool = False) -> Seen:
    """Read every 0.1 s for 20 s, once the heat has settled. context: a process holds memory and runs nothing."""
    conditions = (ConditionConfig(name="recorded-h100", strength=strength),)
    config = SimulatorConfig(hosts=2, gpus_per_host=2, step_ms=50, seed=5, jobs=jobs, conditions=conditions)
    cluster = SimulatedCluster(config, 0)
    if fault:
        cluster.inject(parse_fault(fault))
    if context:
        cluster.machine.gpus.framebuffer[:] = 9e9
    rows = []
    for tenth in range(1200, 1400):
        cluster.advance(tenth * NS_PER_S // 10)
        g = cluster.readings.gpus
        ratios = (g.sm_active, g.tensor_active, g.dram_active, g.utilization)
        now = (np.rint(g.sm_clock_hertz / 1e6), g.power_watts, g.celsius, g.memory_celsius, *ratios, g.throttle_mask)
        rows.append([column.copy() for column in now])
    return Seen(*np.array(rows).transpose(1, 0, 2))


def median(found: pl.DataFrame, column: str) -> float:
    return float(np.median(found[column].drop_nulls().to_numpy()))


def same(seen: Seen, found: pl.DataFrame, watts: float, kelvin: float) -> None:
    """Medians of power and temperatures are within ``watts`` and ``kelvin`` of the recorded ones."""
    assert np.median(seen.watts) == pytest.approx(median(found, "power_usage_mw") / 1e3, abs=watts)
    assert np.median(seen.celsius) == pytest.approx(median(found, "gpu_temp_c"), abs=kelvin)
    assert np.median(seen.memory_celsius) == pytest.approx(median(found, "memory_temp_c"), abs=kelvin)


def same_work(seen: Seen, found: pl.DataFrame) -> None:
    for ratios, column in ((seen.sm, "sm_util"), (seen.tensor, "any_tensor_util"), (seen.dram, "dram_bw_util")):
        assert np.median(ratios) == pytest.approx(median(found, f"gpm_{column}_pct") / 100, abs=0.02)


def test_without_a_process_a_gpu_is_idle() -> None:
    seen, found = simulated(NO_JOB), phase("start").head(100)
    same(seen, found, watts=2.0, kelvin=3.0)
    assert set(seen.mhz.ravel()) == set(found["sm_clock_mhz"]) == {345}
    assert set(seen.mask.ravel()) == set(found["clocks_event_reasons"]) == {IDLE}


def test_a_process_without_kernels_keeps_the_boost_clock() -> None:
    seen, found = simulated(NO_JOB, context=True), phase("idle-context")
    same(seen, found, watts=2.0, kelvin=3.0)
    assert set(seen.mhz.ravel()) == set(found["sm_clock_mhz"]) == {1980}
    assert set(seen.mask.ravel()) == set(found["clocks_event_reasons"]) == {0}
    assert set(seen.utilization.ravel()) == set(found["util_gpu_pct"]) == {0}


def test_a_kernel_that_never_returns_draws_as_much_as_no_kernel() -> None:
    seen, found = simulated(LONG_STEPS, fault="hung-gpu@60s+300s:node1/0"), phase("hung-kernel")
    hung = Seen(*(column[:, :1] for column in seen))
    same(hung, found, watts=2.0, kelvin=3.0)
    assert set(hung.mhz.ravel()) == set(found["sm_clock_mhz"]) == {1980}
    assert hung.utilization.min() == pytest.approx(1.0)
    assert found["util_gpu_pct"].to_list() == [100] * found.height
    same_work(hung, found)


def test_training_is_held_below_its_clock_by_the_default_limit() -> None:
    seen, found = simulated(LONG_STEPS), phase("train")
    same(seen, found, watts=10.0, kelvin=3.0)
    same_work(seen, found)
    assert np.median(seen.mhz) == pytest.approx(median(found, "sm_clock_mhz"), rel=0.02)
    assert seen.mhz.std() == pytest.approx(found["sm_clock_mhz"].to_numpy().std(), rel=0.25)
    assert set(seen.mask.ravel()) == set(found["clocks_event_reasons"]) == {SW_POWER_CAP}


def test_denser_kernels_are_held_at_the_clock_of_matrix_products() -> None:
    seen, found = simulated(LONG_STEPS, strength=1.22), phase("gemm")
    assert np.median(seen.mhz) == pytest.approx(median(found, "sm_clock_mhz"), rel=0.02)
    assert np.median(seen.watts) == pytest.approx(median(found, "power_usage_mw") / 1e3, rel=0.02)


def test_half_of_the_warming_shows_at_once() -> None:
    begun = phase("train", settled_s=0.0)
    recorded = begun["gpu_temp_c"].to_numpy()
    at_once = recorded[20:40].mean() - recorded[0]  # 2 s to 4 s after the first step
    assert 0.35 < at_once / (np.median(recorded[-100:]) - recorded[0]) < 0.65
    config = SimulatorConfig(
        hosts=2,
        gpus_per_host=2,
        step_ms=50,
        seed=5,
        jobs=LONG_STEPS,
        conditions=(ConditionConfig(name="recorded-h100"),),
    )
    cluster = SimulatedCluster(config, 0)
    celsius = []
    for tenth in range(1, 1200):
        cluster.advance(tenth * NS_PER_S // 10)
        celsius.append(cluster.readings.gpus.celsius.mean())
    begin = int(np.argmax(np.diff(celsius)))  # the first step of training
    jump = np.mean(celsius[begin + 10 : begin + 20]) - celsius[begin]
    assert 0.35 < jump / (np.median(celsius[-100:]) - celsius[begin]) < 0.65
