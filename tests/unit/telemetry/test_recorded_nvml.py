"""Scales of NVML's names, by values of a real H100: what nvidia-smi printed of the card at the same moment."""

import polars as pl
import pytest

from ingest.collectors.canonical_samples import SourceSample, TargetSamples, Values
from ingest.collectors.nvidia_smi.parse import parse_gpus
from tests.h100 import FOLDER, phase, recording

IN_TRAINING_S = 1_795_410_191  # the page's timestamp, whole seconds
GPU = "GPU-00000000-0000-4000-8000-000000000001"
NAMES = {
    "sm_clock_mhz": "nvmlDeviceGetClockInfo/SM",
    "mem_clock_mhz": "nvmlDeviceGetClockInfo/MEM",
    "power_usage_mw": "nvmlDeviceGetPowerUsage",
    "power_instant_mw": "NVML_FI_DEV_POWER_INSTANT",
    "gpu_temp_c": "nvmlDeviceGetTemperature/GPU",
    "memory_temp_c": "NVML_FI_DEV_MEMORY_TEMP",
    "util_gpu_pct": "nvmlDeviceGetUtilizationRates/gpu",
    "util_mem_pct": "nvmlDeviceGetUtilizationRates/memory",
    "clocks_event_reasons": "nvmlDeviceGetCurrentClocksEventReasons",
    "pstate": "nvmlDeviceGetPerformanceState",
    "sw_power_cap_ns": "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP",
    "energy_mj": "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "pcie_replays": "NVML_FI_DEV_PCIE_REPLAY_COUNTER",
    "mem_used_b": "nvmlDeviceGetMemoryInfo/used",
}
"""A column of the recording, and the name that the collector gives its values."""


def canonical(row: dict[str, float | None]) -> dict[str, float]:
    stated = ((NAMES[column], row[column]) for column in NAMES)
    found = (SourceSample(name, {"gpu": GPU}, value) for name, value in stated if value is not None)
    return TargetSamples("nvml/node1", "node1", "nvml", 0).read(Values.of(found)).by_series()


@pytest.fixture(scope="module")
def printed() -> dict[str, float]:
    body = (FOLDER / "nvidia-smi-train.xml").read_bytes()
    return TargetSamples("nvidia-smi/node1", "node1", "nvidia_smi", 0).read(Values.of(parse_gpus(body))).by_series()


@pytest.fixture(scope="module")
def beside() -> list[dict[str, float]]:
    """Two seconds around the page, as samples."""
    at_s = pl.col("time_ns") / 1e9
    rows = recording().filter(at_s.is_between(IN_TRAINING_S - 1.0, IN_TRAINING_S + 1.0))
    return [canonical(row) for row in rows.iter_rows(named=True)]


@pytest.mark.parametrize(
    ("metric", "tolerance"),
    [
        ("gpu_sm_clock_hertz", 0.01),
        ("gpu_memory_clock_hertz", 0.0),
        ("gpu_power_watts", 0.01),
        ("gpu_power_instant_watts", 0.01),
        ("gpu_temperature_celsius", 0.02),
        ("gpu_memory_temperature_celsius", 0.02),
        ("gpu_utilization_ratio", 0.0),
        ("gpu_memory_copy_utilization_ratio", 0.05),
        ("gpu_performance_state", 0.0),
        ("gpu_throttle_seconds_total", 0.1),
        ("gpu_pcie_replays_total", 0.0),
    ],
)
def test_values_are_those_that_nvidia_smi_printed(
    printed: dict[str, float], beside: list[dict[str, float]], metric: str, tolerance: float
) -> None:
    (key,) = {key for row in beside for key in row if key.startswith(f"{metric}{{")}
    values = [row[key] for row in beside if key in row]
    assert min(values) * (1 - tolerance) <= printed[key] <= max(values) * (1 + tolerance)


def test_reasons_are_those_that_nvidia_smi_printed(printed: dict[str, float], beside: list[dict[str, float]]) -> None:
    keys = {key for key in printed if key.startswith("gpu_throttle_active")}
    assert len(keys) == 9
    assert [{key: row[key] for key in keys} for row in beside] == [{key: printed[key] for key in keys}] * len(beside)


def test_memory_by_the_first_version_is_with_what_is_reserved(
    printed: dict[str, float], beside: list[dict[str, float]]
) -> None:
    used, reserved = (f'gpu_memory_{part}_bytes{{device="node1",gpu="{GPU}"}}' for part in ("used", "reserved"))
    assert beside[0][used] == pytest.approx(printed[used] + printed[reserved], rel=0.01)


def test_energy_is_the_integral_of_power() -> None:
    rows = phase("gemm")
    key = f'gpu_energy_joules_total{{device="node1",gpu="{GPU}"}}'
    first, last = (canonical(rows.row(place, named=True)) for place in (0, -1))
    seconds = (rows["time_ns"][-1] - rows["time_ns"][0]) / 1e9
    watts = [canonical(row)[key.replace("energy_joules_total", "power_watts")] for row in rows.iter_rows(named=True)]
    assert (last[key] - first[key]) / seconds == pytest.approx(sum(watts) / len(watts), rel=0.01)
