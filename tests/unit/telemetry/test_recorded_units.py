"""Scales of the catalogue against values of a real H100, which NVML reads and DCGM passes on."""

import numpy as np
import pytest

from telemetry import catalogue
from tests.h100 import phase


def scale(metric: str, name: str) -> float:
    """What the catalogue multiplies a source's values with."""
    return next(each.scale for of, each in catalogue.origins_of("dcgm") if (of.name, each.name) == (metric, name))


def gained(column: str, name: str) -> tuple[float, float]:
    """How much a counter rose in a phase, and the seconds that this took."""
    rows = phase(name)
    first, last = rows[0], rows[-1]
    return float((last[column] - first[column]).item()), (last["time_ns"] - first["time_ns"]).item() / 1e9


def test_energy_is_the_integral_of_power() -> None:
    millijoules, seconds = gained("energy_mj", "gemm")
    joules = millijoules * scale("gpu_energy_joules_total", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")
    watts = phase("gemm")["power_usage_mw"].to_numpy() / 1000  # DCGM gives W
    assert joules / seconds == pytest.approx(watts.mean(), rel=0.01)


def test_time_at_the_power_cap_passes_as_fast_as_time() -> None:
    nanoseconds, seconds = gained("sw_power_cap_ns", "gemm")
    name = "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS"
    assert nanoseconds * scale("gpu_throttle_seconds_total", name) == pytest.approx(seconds, rel=0.01)
    assert (phase("gemm")["clocks_event_reasons"] == 4).all()


def test_power_violation_counts_the_same_time() -> None:
    nanoseconds, seconds = gained("perf_policy_power_ns", "gemm")
    found = scale("gpu_throttle_seconds_total", "DCGM_FI_DEV_POWER_VIOLATION")
    assert nanoseconds * found == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(
    ("metric", "name", "column"),
    [
        ("gpu_sm_clock_hertz", "DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz"),
        ("gpu_memory_clock_hertz", "DCGM_FI_DEV_MEM_CLOCK", "mem_clock_mhz"),
        ("gpu_temperature_celsius", "DCGM_FI_DEV_GPU_TEMP", "gpu_temp_c"),
        ("gpu_memory_temperature_celsius", "DCGM_FI_DEV_MEMORY_TEMP", "memory_temp_c"),
        ("gpu_utilization_ratio", "DCGM_FI_DEV_GPU_UTIL", "util_gpu_pct"),
        ("gpu_memory_copy_utilization_ratio", "DCGM_FI_DEV_MEM_COPY_UTIL", "util_mem_pct"),
    ],
)
def test_recorded_values_are_possible_ones(metric: str, name: str, column: str) -> None:
    known = catalogue.metrics()[metric]
    values = np.concatenate([phase(work)[column].to_numpy() for work in ("train", "copy", "idle-context")])
    values = values * scale(metric, name)
    assert known.minimum is None or values.min() >= known.minimum
    assert known.maximum is None or values.max() <= known.maximum
    assert values.max() > {"hertz": 1e9, "celsius": 40.0, "ratio": 0.9}[known.unit]
