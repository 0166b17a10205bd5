"""Scales of GPM's names, by real cards whose work is known: tests/data/h100 and h200."""

import json
from pathlib import Path

import polars as pl
import pytest

from ingest.collectors.canonical_samples import SourceSample, TargetSamples, Values

DATA = Path(__file__).parents[2] / "data"
NAMES = {
    "gpm_graphics_util_pct": "NVML_GPM_METRIC_GRAPHICS_UTIL",
    "gpm_sm_util_pct": "NVML_GPM_METRIC_SM_UTIL",
    "gpm_sm_occupancy_pct": "NVML_GPM_METRIC_SM_OCCUPANCY",
    "gpm_any_tensor_util_pct": "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "gpm_hmma_tensor_util_pct": "NVML_GPM_METRIC_HMMA_TENSOR_UTIL",
    "gpm_imma_tensor_util_pct": "NVML_GPM_METRIC_IMMA_TENSOR_UTIL",
    "gpm_dfma_tensor_util_pct": "NVML_GPM_METRIC_DFMA_TENSOR_UTIL",
    "gpm_dram_bw_util_pct": "NVML_GPM_METRIC_DRAM_BW_UTIL",
    "gpm_fp16_util_pct": "NVML_GPM_METRIC_FP16_UTIL",
    "gpm_fp32_util_pct": "NVML_GPM_METRIC_FP32_UTIL",
    "gpm_pcie_rx_per_sec": "NVML_GPM_METRIC_PCIE_RX_PER_SEC",
    "gpm_pcie_tx_per_sec": "NVML_GPM_METRIC_PCIE_TX_PER_SEC",
}
"""A column of the recordings, and the name that the collector gives its values."""


def activity(card: str, phase: str) -> dict[str, float]:
    """By metric and its labels: the middle of what was read in the phase."""
    recording = pl.read_parquet(DATA / card / "nvml.parquet")
    columns = [column for column in NAMES if column in recording.columns]
    rows = recording.filter(pl.col("phase") == phase, pl.col(columns[0]).is_not_null())
    middle = rows.filter(pl.col("run") == rows["run"][0])[1:-1].select(pl.col(columns).median())
    samples = (SourceSample(NAMES[column], {"gpu": "0"}, middle[column][0]) for column in columns)
    found = TargetSamples("nvml/node1", "node1", "nvml", 0).read(Values.of(samples)).by_series()
    return {series.replace('device="node1",', "").replace('gpu="0"', ""): value for series, value in found.items()}


def bytes_per_second(phase: str) -> float:
    """What was copied, by the program that did it."""
    (entry,) = (entry for entry in json.loads((DATA / "h200" / "phases.json").read_bytes()) if entry["phase"] == phase)
    return float(entry["bytes"] * entry["steps"] / (entry["end_s"] - entry["begin_s"]))


@pytest.mark.parametrize("card", ["h100", "h200"])
@pytest.mark.parametrize(
    ("phase", "metric", "value", "tolerance"),
    [
        ("idle-context", "gpu_sm_active_ratio{}", 0.0, 0.001),
        ("gemm", "gpu_engine_active_ratio{}", 1.0, 0.01),
        ("gemm", "gpu_sm_active_ratio{}", 0.96, 0.01),
        ("gemm", "gpu_tensor_active_ratio{}", 0.93, 0.01),
        ("hung-kernel", "gpu_sm_active_ratio{}", 1 / 132, 0.0001),
        ("hung-kernel", "gpu_engine_active_ratio{}", 1.0, 0.001),
        ("copy", "gpu_memory_bandwidth_active_ratio{}", 0.89, 0.02),
        ("copy", "gpu_tensor_active_ratio{}", 0.0, 0.001),
    ],
)
def test_ratios_are_those_of_the_work(card: str, phase: str, metric: str, value: float, tolerance: float) -> None:
    assert activity(card, phase)[metric] == pytest.approx(value, abs=tolerance)


@pytest.mark.parametrize(
    ("phase", "metric", "value", "tolerance"),
    [
        ("poll-24", "gpu_sm_active_ratio{}", 24 / 132, 0.001),
        ("poll-24", "gpu_sm_occupancy_ratio{}", 24 / 132 * 16 / 64, 0.001),  # 16 warps of 64, a multiprocessor
        ("poll-132", "gpu_sm_active_ratio{}", 1.0, 0.001),
        ("gemm", 'gpu_pipe_active_ratio{,pipe="hmma"}', 0.93, 0.01),
        ("gemm-int8", 'gpu_pipe_active_ratio{,pipe="imma"}', 0.13, 0.01),
        ("gemm-fp64", 'gpu_pipe_active_ratio{,pipe="dfma"}', 0.94, 0.01),
        ("gemm-fp64", "gpu_tensor_active_ratio{}", 0.94, 0.01),
        ("gemm-fp32", 'gpu_pipe_active_ratio{,pipe="fp32"}', 0.76, 0.02),
        ("gemm-fp32", "gpu_tensor_active_ratio{}", 0.0, 0.001),
    ],
)
def test_pipes_are_those_of_the_work(phase: str, metric: str, value: float, tolerance: float) -> None:
    assert activity("h200", phase)[metric] == pytest.approx(value, abs=tolerance)


@pytest.mark.parametrize(("phase", "direction"), [("host-to-device", "rx"), ("device-to-host", "tx")])
def test_pcie_is_what_was_copied_and_the_headers_of_its_packets(phase: str, direction: str) -> None:
    """Packets of 256 bytes have 20 to 28 of head; what the older call counts over 20 ms is the same within 1 %."""
    counted = activity("h200", phase)[f'gpu_pcie_bytes_per_second{{direction="{direction}",}}']
    assert 1.06 < counted / bytes_per_second(phase) < 1.10
    rows = pl.read_parquet(DATA / "h200" / "nvml.parquet").filter(pl.col("phase") == phase)
    assert rows[f"pcie_{direction}_kbps"].median() == pytest.approx(counted / 1e3, rel=0.01)
