"""XIDs as events of NVML."""

import pynvml
import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.kernel_log.xids import CODES_MAX
from ingest.ledger import DropReason, Ledger
from tests.conformance.collectors.nvml_stand_in import StandIn
from tests.conformance.collectors.nvml_targets import NOW_NS, key, make, values

LAST = key("gpu_xid_last", source="nvml")


def total(code: int, **labels: str) -> str:
    return key("gpu_xid_errors_total", source="nvml", xid=str(code), **labels)


@pytest.fixture
def gpu(driver: StandIn) -> StandIn:
    """With one GPU that has events."""
    driver.begin(1)
    driver.add_h100(0)
    driver.numbers(0, {"nvmlDeviceRegisterEvents": {0: 0}})
    return driver


async def test_events_are_counted_and_the_last_one_is_shown(gpu: StandIn, context: CollectorContext) -> None:
    collector = make(context, xids=True)
    batches = [values(await collector.collect(NOW_NS))]
    gpu.xid(0, 31)
    gpu.xid(0, 31)
    for _ in range(2):
        batches.append(values(await collector.collect(NOW_NS)))
    gpu.xid(0, 13, instance=5)
    for _ in range(2):
        batches.append(values(await collector.collect(NOW_NS)))
    assert [found[LAST] for found in batches] == [0, 31, 31, 31, 31]
    assert [found.get(total(31)) for found in batches] == [None, 0, 2, 2, 2]
    assert [found.get(total(13, instance_id="5")) for found in batches] == [None, None, None, 0, 1]


async def test_without_being_asked_for_there_are_none(gpu: StandIn, context: CollectorContext) -> None:
    found = values(await make(context).collect(NOW_NS))
    assert not [name for name in found if "xid" in name]
    assert gpu.event_sets == 0


async def test_a_gpu_without_events_has_the_rest(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(1)
    driver.add_h100(0)
    found = values(await make(context, xids=True).collect(NOW_NS))
    assert found[key("gpu_power_watts")] == 689.54
    assert not [name for name in found if "xid" in name]


async def test_what_a_gpu_said_before_it_was_lost_is_kept(gpu: StandIn, context: CollectorContext) -> None:
    gpu.begin(2)
    for device in range(2):
        gpu.numbers(device, {"nvmlDeviceRegisterEvents": {0: 0}})
    gpu.add_h100(0)
    gpu.text(0, "nvmlDeviceGetPciInfo_v3", "00000000:1B:00.0")
    gpu.text(1, "nvmlDeviceGetPciInfo_v3", "00000000:1C:00.0")
    collector = make(context, xids=True)
    await collector.collect(NOW_NS)
    gpu.xid(1, 79)
    gpu.fail(1, "nvmlDeviceGetHandleByIndex_v2", pynvml.NVML_ERROR_GPU_IS_LOST)
    found = values(await collector.collect(NOW_NS))
    assert found[key("gpu_xid_last", "GPU-1", source="nvml")] == 79
    assert found[LAST] == 0
    assert gpu.event_sets == 0, "the session is over"
    gpu.fail(1, "nvmlDeviceGetHandleByIndex_v2", 0)
    await collector.collect(NOW_NS)
    gpu.xid(0, 31)
    found = values(await collector.collect(NOW_NS))
    assert (found[LAST], found[key("gpu_xid_last", "GPU-1", source="nvml")]) == (31, 79)


async def test_codes_beyond_the_limit_are_dropped(gpu: StandIn, context: CollectorContext, ledger: Ledger) -> None:
    collector = make(context, xids=True)
    await collector.collect(NOW_NS)
    for code in range(1, CODES_MAX + 4):
        gpu.xid(0, code)
    await collector.collect(NOW_NS)
    assert dict(ledger.drops) == {DropReason.QUOTA: 3}


async def test_stop_frees_the_events(gpu: StandIn, context: CollectorContext) -> None:
    collector = make(context, xids=True)
    await collector.collect(NOW_NS)
    assert gpu.event_sets == 1
    await collector.stop()
    assert gpu.event_sets == 0
