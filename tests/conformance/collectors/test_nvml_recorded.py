"""What NVML of a real H200 answered, call by call, beside what nvidia-smi printed of it: tests/data/h200."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nvidia_smi.parse import parse_gpus
from ingest.collectors.nvml.calls import GPM_ACTIVITY, GPM_PCIE
from ingest.ledger import Ledger
from tests.conformance.collectors.nvml_stand_in import StandIn
from tests.conformance.collectors.nvml_targets import NOW_NS, key, make, values

FOLDER = Path(__file__).parents[2] / "data" / "h200"
GPU = "GPU-00000000-0000-4000-8000-000000000002"
MIB = 2.0**20
# The page is of some seconds later, and in whole MiB, °C and percent. PCIe is of other moments altogether.
TOLERANCES = {
    "gpu_power_watts": 1.0,
    "gpu_power_instant_watts": 20.0,
    "gpu_throttle_seconds_total": 2.0,
    "gpu_utilization_ratio": 0.011,
    "gpu_temperature_celsius": 1.0,
    "gpu_temperature_margin_celsius": 1.0,
    "gpu_memory_free_bytes": MIB,
    "gpu_memory_used_bytes": MIB,
    "gpu_memory_reserved_bytes": MIB,
    "gpu_memory_total_bytes": MIB,
    "gpu_bar1_bytes": MIB,
    "gpu_pcie_bytes_per_second": 1e9,
}


def recorded(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / f"nvml-{name}.json").read_bytes())
    return document


@pytest.mark.parametrize("name", ["idle", "gemm"])
async def test_samples_are_those_of_nvidia_smi(
    driver: StandIn, context: CollectorContext, ledger: Ledger, name: str
) -> None:
    driver.begin(1)
    driver.add_recorded(0, recorded(name))
    batch = await make(context).collect(NOW_NS)
    found = values(batch)
    body = (FOLDER / f"nvidia-smi-{name}.xml").read_bytes()
    page = TargetSamples("nvidia-smi/node1", "node1", "nvidia_smi", 0)
    printed = page.read(Values.of(parse_gpus(body))).by_series()
    assert {series.partition("{")[0] for series in printed.keys() - found.keys()} == {
        "gpu_memory_unrepairable",
        "gpu_sram_threshold_exceeded",
    }
    for series in printed.keys() & found.keys():
        tolerance = TOLERANCES.get(series.partition("{")[0], 0.0)
        assert found[series] == pytest.approx(printed[series], rel=1e-9, abs=tolerance), series
    assert batch.collection.unmapped == 0
    assert page.unmapped == set()
    assert ledger.drops.total() == 0


async def test_activity_of_matrix_products(driver: StandIn, context: CollectorContext) -> None:
    document = recorded("gemm")
    driver.begin(1)
    driver.add_recorded(0, document)
    collector = make(context)
    await collector.collect(NOW_NS)
    driver.count(0, document["gpm"])
    found = values(await collector.collect(NOW_NS))
    assert found[key("gpu_sm_active_ratio", GPU)] == pytest.approx(0.9597, abs=1e-4)
    assert found[key("gpu_tensor_active_ratio", GPU)] == pytest.approx(0.9312, abs=1e-4)
    assert found[key("gpu_pipe_active_ratio", GPU, pipe="hmma")] == pytest.approx(0.9312, abs=1e-4)
    assert found[key("gpu_memory_bandwidth_active_ratio", GPU)] == pytest.approx(0.1744, abs=1e-4)
    assert found[key("gpu_pcie_bytes_per_second", GPU, direction="rx")] == pytest.approx(16.271 * MIB, rel=1e-4)
    active = [name for name in found if "_active_ratio" in name or "_occupancy_ratio" in name]
    assert len(active) + len(GPM_PCIE) == len((*GPM_ACTIVITY, *GPM_PCIE))
    assert not [name for name in found if "nvlink" in name], "the card was passed to the machine without its links"
