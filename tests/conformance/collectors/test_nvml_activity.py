"""Activity of GPUs: what GPM of NVML counts between two collections. ``nvml_stand_in.c`` has the counters."""

import pynvml
import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.nvml import activity
from ingest.collectors.nvml.calls import GPM_ACTIVITY, GPM_PCIE
from ingest.ledger import DropReason, Ledger
from tests.conformance.collectors.nvml_stand_in import INSTANCES, StandIn
from tests.conformance.collectors.nvml_targets import NOW_NS, key, make, values

ACTIVE = {
    "NVML_GPM_METRIC_GRAPHICS_UTIL": ("gpu_engine_active_ratio", {}, 0.01),
    "NVML_GPM_METRIC_SM_UTIL": ("gpu_sm_active_ratio", {}, 0.01),
    "NVML_GPM_METRIC_SM_OCCUPANCY": ("gpu_sm_occupancy_ratio", {}, 0.01),
    "NVML_GPM_METRIC_ANY_TENSOR_UTIL": ("gpu_tensor_active_ratio", {}, 0.01),
    "NVML_GPM_METRIC_DRAM_BW_UTIL": ("gpu_memory_bandwidth_active_ratio", {}, 0.01),
    "NVML_GPM_METRIC_INTEGER_UTIL": ("gpu_pipe_active_ratio", {"pipe": "int"}, 0.01),
    "NVML_GPM_METRIC_FP64_UTIL": ("gpu_pipe_active_ratio", {"pipe": "fp64"}, 0.01),
    "NVML_GPM_METRIC_FP32_UTIL": ("gpu_pipe_active_ratio", {"pipe": "fp32"}, 0.01),
    "NVML_GPM_METRIC_FP16_UTIL": ("gpu_pipe_active_ratio", {"pipe": "fp16"}, 0.01),
    "NVML_GPM_METRIC_DFMA_TENSOR_UTIL": ("gpu_pipe_active_ratio", {"pipe": "dfma"}, 0.01),
    "NVML_GPM_METRIC_HMMA_TENSOR_UTIL": ("gpu_pipe_active_ratio", {"pipe": "hmma"}, 0.01),
    "NVML_GPM_METRIC_IMMA_TENSOR_UTIL": ("gpu_pipe_active_ratio", {"pipe": "imma"}, 0.01),
    "NVML_GPM_METRIC_PCIE_TX_PER_SEC": ("gpu_pcie_bytes_per_second", {"direction": "tx"}, 2**20),
    "NVML_GPM_METRIC_PCIE_RX_PER_SEC": ("gpu_pcie_bytes_per_second", {"direction": "rx"}, 2**20),
    "NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC": ("gpu_nvlink_bytes_per_second", {"direction": "tx"}, 2**20),
    "NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC": ("gpu_nvlink_bytes_per_second", {"direction": "rx"}, 2**20),
}
SM_ACTIVE, TENSOR_ACTIVE = "NVML_GPM_METRIC_SM_UTIL", "NVML_GPM_METRIC_ANY_TENSOR_UTIL"


async def test_activity_is_of_the_time_since_the_last_collection(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(1)
    driver.add_h100(0)
    collector = make(context)
    batches = []
    for counted in (5.0, 66.62, 66.62, 80.0):
        driver.count(0, {name: counted + place for place, name in enumerate(ACTIVE)})
        batches.append(values(await collector.collect(NOW_NS)))
    first, second, third, fourth = batches
    expected = {key(metric, **labels): scale for metric, labels, scale in ACTIVE.values()}
    pcie = {name: first[name] for name in expected.keys() & first.keys()}
    assert pcie == {
        key("gpu_pcie_bytes_per_second", direction=way): 1e3 * kb for way, kb in (("tx", 10762), ("rx", 35309))
    }
    for found, percent in ((second, 61.62), (third, 0.0), (fourth, 13.38)):
        assert {name: found[name] for name in expected} == pytest.approx(
            {name: percent * scale for name, scale in expected.items()}
        )


async def test_activity_that_cannot_be_read_is_no_value_and_begins_again(
    driver: StandIn, context: CollectorContext, ledger: Ledger
) -> None:
    driver.begin(1)
    collector = make(context)
    found = []
    for counted, code in ((0, 0), (10, pynvml.NVML_ERROR_UNKNOWN), (20, 0), (70, 0)):
        driver.count(0, {SM_ACTIVE: counted})
        driver.fail(0, "nvmlGpmSampleGet", code)
        found.append(values(await collector.collect(NOW_NS)).get(key("gpu_sm_active_ratio", "GPU-0")))
    assert found == [None, None, None, 0.5]
    assert dict(ledger.drops) == {DropReason.NO_VALUE: len((*GPM_ACTIVITY, *GPM_PCIE))}


async def test_one_metric_that_cannot_be_read_leaves_the_others(
    driver: StandIn, context: CollectorContext, ledger: Ledger
) -> None:
    driver.begin(1)
    collector = make(context)
    for counted in (0, 20):
        driver.count(0, {SM_ACTIVE: counted, TENSOR_ACTIVE: counted})
        driver.fail(0, "gpm", pynvml.NVML_ERROR_UNKNOWN, argument=pynvml.NVML_GPM_METRIC_SM_UTIL)
        found = values(await collector.collect(NOW_NS))
    assert found[key("gpu_tensor_active_ratio", "GPU-0")] == 0.2
    assert key("gpu_sm_active_ratio", "GPU-0") not in found
    assert dict(ledger.drops) == {DropReason.NO_VALUE: 1}


async def test_activity_of_instances(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(1)
    driver.add_a100(0)
    collector = make(context)
    for counted in (0, 30):
        driver.count(0, {})
        driver.fail(0, "nvmlGpmSampleGet", pynvml.NVML_ERROR_NOT_SUPPORTED)
        driver.numbers(0, {"nvmlGpmMigSampleGet": {3: INSTANCES, 4: INSTANCES + 1}})
        driver.count(INSTANCES, {SM_ACTIVE: counted})
        driver.count(INSTANCES + 1, {SM_ACTIVE: 2 * counted})
        found = values(await collector.collect(NOW_NS))
    active = {name: value for name, value in found.items() if name.startswith("gpu_sm_active_ratio")}
    gpu = "GPU-513536b6-7d19-9063-b049-1e69664bb298"
    assert active == {
        key("gpu_sm_active_ratio", gpu, instance_id="3"): 0.3,
        key("gpu_sm_active_ratio", gpu, instance_id="4"): 0.6,
    }


async def test_activity_of_too_short_a_span_waits_for_the_next_collection(
    driver: StandIn, context: CollectorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 100 ms a GPU that works all the time has counted nothing."""
    monkeypatch.setattr(activity, "monotonic", iter((0.0, 10.0, 10.1, 20.0)).__next__)
    driver.begin(1)
    collector = make(context)
    found = []
    for counted in (0, 50, 50, 150):
        driver.count(0, {SM_ACTIVE: counted})
        found.append(values(await collector.collect(NOW_NS)).get(key("gpu_sm_active_ratio", "GPU-0")))
    assert found == [None, 0.5, None, 1.0]


async def test_links_have_no_activity_on_a_gpu_without_any(driver: StandIn, context: CollectorContext) -> None:
    """GPM states 0 for what a GPU does not have."""
    driver.begin(1)
    collector = make(context)
    for _ in range(2):
        driver.count(0, dict.fromkeys(ACTIVE, 0))
        found = values(await collector.collect(NOW_NS))
    assert {key(metric, "GPU-0", **labels) for metric, labels, _ in ACTIVE.values()} - found.keys() == {
        key("gpu_nvlink_bytes_per_second", "GPU-0", direction=direction) for direction in ("tx", "rx")
    }


async def test_activity_goes_on_while_another_gpu_is_lost(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(2)
    collector = make(context)
    found = []
    for counted, code in ((0, 0), (10, pynvml.NVML_ERROR_GPU_IS_LOST), (30, pynvml.NVML_ERROR_GPU_IS_LOST)):
        for gpu in range(2):
            driver.count(gpu, {SM_ACTIVE: counted})
        driver.fail(1, "nvmlDeviceGetPerformanceState", code)
        found.append(values(await collector.collect(NOW_NS)).get(key("gpu_sm_active_ratio", "GPU-0")))
    assert found == [None, 0.1, 0.2]
    driver.fail(1, "nvmlDeviceGetPerformanceState", 0)
    driver.count(1, {SM_ACTIVE: 1})  # since its reset
    batch = values(await collector.collect(NOW_NS))
    assert key("gpu_sm_active_ratio", "GPU-0") in batch
    assert key("gpu_sm_active_ratio", "GPU-1") not in batch


async def test_counters_of_activity_are_released(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(2)
    for gpu in range(2):
        driver.count(gpu, {SM_ACTIVE: 0})
    collector = make(context)
    for _ in range(3):
        await collector.collect(NOW_NS)
    assert driver.gpm_samples == 4
    driver.fail(1, "nvmlDeviceGetHandleByIndex_v2", pynvml.NVML_ERROR_NO_PERMISSION)
    await collector.collect(NOW_NS)
    assert driver.gpm_samples == 2
    await collector.stop()
    assert driver.gpm_samples == 0
