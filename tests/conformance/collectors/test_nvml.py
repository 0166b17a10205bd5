"""The collector of NVML: with a library that stands in for a driver, and with NVIDIA's own on a host without one.

A GPU is not to be had in tests. ``nvml_stand_in.c`` says what its place is taken by, and what that cannot show.
"""

import asyncio
import ctypes
import subprocess
import sys
import threading
from pathlib import Path

import pynvml
import pytest
from structlog.testing import capture_logs

from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nvidia_smi.parse import parse_gpus
from ingest.collectors.nvml.calls import GPU_FIELDS
from ingest.collectors.nvml.config import Config
from ingest.ledger import DropReason, Ledger
from telemetry.samples import DownReason
from tests.conformance.collectors.nvml_stand_in import StandIn, compiled, members
from tests.conformance.collectors.nvml_targets import GPU, NOW_NS, key, make, values
from tests.h100 import FOLDER
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES

NVIDIAS = Path(__file__).parents[3] / "build" / "nvml" / "libnvidia-ml.so.1"


@pytest.mark.parametrize(
    ("metric", "labels", "value"),
    [
        ("gpu_power_watts", {}, 689.54),
        ("gpu_power_instant_watts", {}, 683.22),
        ("gpu_power_limit_setting_watts", {"kind": "minimum"}, 200.0),
        ("gpu_energy_joules_total", {}, 9_876_543.21),
        ("gpu_sm_clock_hertz", {}, 1590e6),
        ("gpu_clock_limit_hertz", {"kind": "memory_max"}, 2619e6),
        ("gpu_temperature_celsius", {}, 68.0),
        ("gpu_temperature_margin_celsius", {}, 16.0),
        ("gpu_memory_temperature_celsius", {}, 64.0),
        ("gpu_utilization_ratio", {}, 1.0),
        ("gpu_memory_copy_utilization_ratio", {}, 0.45),
        ("gpu_memory_used_bytes", {}, 35071 * 2.0**20),
        ("gpu_memory_reserved_bytes", {}, 480 * 2.0**20),
        ("gpu_bar1_bytes", {"kind": "used"}, 35072 * 2.0**20),
        ("gpu_pcie_bytes_per_second", {"direction": "tx"}, 10_762e3),
        ("gpu_pcie_bytes_per_second", {"direction": "rx"}, 35_309e3),
        ("gpu_pcie_replays_total", {}, 1.0),
        ("gpu_pcie_correctable_errors_total", {}, 11.0),
        ("gpu_pcie_errors_total", {"kind": "nack_sent"}, 12.0),
        ("gpu_throttle_active", {"reason": "sw_power_cap"}, 1.0),
        ("gpu_throttle_active", {"reason": "hw_thermal"}, 0.0),
        ("gpu_throttle_seconds_total", {"reason": "sw_power_cap"}, 20.797605),
        ("gpu_recovery_action", {}, 3.0),
        ("gpu_nvlink_errors_total", {"kind": "crc_flit"}, 21.0),
        ("gpu_nvlink_errors_total", {"kind": "dl_crc", "link": "1"}, 31.0),
        ("gpu_nvlink_bytes_total", {"direction": "tx"}, 3.0 * 2**50),
        ("gpu_nvlink_bytes_total", {"direction": "rx"}, 5.0 * 2**50),
        ("gpu_nvlink_bytes_total", {"direction": "tx", "link": "0"}, 1.0 * 2**50),
        ("gpu_nvlink_bytes_total", {"direction": "tx", "link": "1"}, 2.0 * 2**50),
        ("gpu_nvlink_state", {"link": "0"}, 2.0),
        ("gpu_nvlink_recoveries_total", {"outcome": "any", "link": "1"}, 32.0),
        ("gpu_nvlink_bit_error_ratio", {"stage": "symbol", "link": "1"}, 3e-12),
        ("gpu_nvlink_fec_codewords_total", {"bin": "15", "link": "1"}, 33.0),
    ],
)
async def test_units(
    driver: StandIn, context: CollectorContext, metric: str, labels: dict[str, str], value: float
) -> None:
    driver.begin(1)
    driver.add_h100(0)
    batch = await make(context).collect(NOW_NS)
    assert values(batch)[key(metric, **labels)] == pytest.approx(value, rel=1e-12)


PAGES = {"H100": FOLDER / "nvidia-smi-train.xml", "A100": SAMPLES / "gpu_nvml" / "nvidia-smi_a100-sxm4-v12.xml"}
IN_THE_DOCUMENT_ALONE = {"H100": {"gpu_sram_threshold_exceeded", "gpu_memory_unrepairable"}, "A100": set[str]()}


@pytest.mark.parametrize("gpu", PAGES)
async def test_a_document_of_nvidia_smi_that_states_the_same_gives_the_same_samples(
    driver: StandIn, context: CollectorContext, gpu: str
) -> None:
    driver.begin(1)
    (driver.add_h100 if gpu == "H100" else driver.add_a100)(0)
    if gpu == "A100":
        driver.text(0, "nvmlSystemGetDriverVersion", "535.54.03")
    batch = await make(context).collect(NOW_NS)
    document = TargetSamples("nvidia-smi/node1", "node1", "nvidia_smi", 0)
    stated = document.read(Values.of(parse_gpus(PAGES[gpu].read_bytes()))).by_series()
    found = values(batch)
    assert {name: found[name] for name in found.keys() & stated.keys()} == pytest.approx(
        {name: stated[name] for name in found.keys() & stated.keys()}
    )
    assert {name.partition("{")[0] for name in stated.keys() - found.keys()} == IN_THE_DOCUMENT_ALONE[gpu]
    assert batch.collection.unmapped == 0
    if gpu == "A100":
        assert found.keys() == stated.keys()


async def test_all_is_accounted_for_and_numbered(driver: StandIn, context: CollectorContext, ledger: Ledger) -> None:
    driver.begin(2)
    driver.add_h100(0)
    driver.add_a100(1)
    collector = make(context)
    batches = [await collector.collect(NOW_NS + second) for second in range(2)]
    assert [batch.collection.seq for batch in batches] == [0, 1]
    assert batches[0].table is batches[1].table
    assert set(batches[1].times_ns.tolist()) == {NOW_NS + 1}
    assert collector.unmapped == set()
    assert ledger.drops.total() == 0
    assert_accounted(ledger, batches)
    assert [name for name in batches[0].table.keys if name.startswith("gpu_info") and 'index="1"' in name]


async def test_what_a_gpu_does_not_support_is_absent(
    driver: StandIn, context: CollectorContext, ledger: Ledger
) -> None:
    driver.begin(1)
    batch = await make(context).collect(NOW_NS)
    assert {name.partition("{")[0] for name in values(batch)} == {"gpu_info", "device_software_info"}
    assert ledger.drops.total() == 0


@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_NO_DATA, pynvml.NVML_ERROR_NO_PERMISSION, pynvml.NVML_ERROR_UNKNOWN]
)
async def test_a_value_that_cannot_be_read_is_no_value_and_leaves_the_others(
    driver: StandIn, context: CollectorContext, ledger: Ledger, code: int
) -> None:
    driver.begin(1)
    driver.add_h100(0)
    driver.fail(0, "nvmlDeviceGetPowerUsage", code)
    driver.fail(0, "nvmlDeviceGetUtilizationRates", code)
    driver.fail_field(0, "NVML_FI_DEV_MEMORY_TEMP", code)
    found = values(await make(context).collect(NOW_NS))
    lost = {"gpu_power_watts", "gpu_utilization_ratio", "gpu_memory_copy_utilization_ratio"}
    assert not {key(metric) for metric in {*lost, "gpu_memory_temperature_celsius"}} & found.keys()
    assert found[key("gpu_power_instant_watts")] == 683.22
    assert dict(ledger.drops) == {DropReason.NO_VALUE: 4}


@pytest.mark.parametrize(
    ("code", "dropped"), [(pynvml.NVML_ERROR_NOT_SUPPORTED, 0), (pynvml.NVML_ERROR_UNKNOWN, len(GPU_FIELDS))]
)
async def test_a_gpu_without_fields_has_the_rest(
    driver: StandIn, context: CollectorContext, ledger: Ledger, code: int, dropped: int
) -> None:
    driver.begin(1)
    driver.add_h100(0)
    driver.fail(0, "nvmlDeviceGetFieldValues", code)
    found = values(await make(context).collect(NOW_NS))
    assert found[key("gpu_power_watts")] == 689.54
    assert not [name for name in found if "nvlink" in name or "ecc" in name]
    assert ledger.drops.total() == dropped


@pytest.mark.parametrize("name", ["nvmlDeviceGetSerial", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3"])
async def test_a_gpu_without_one_of_its_names_has_the_other_ones(
    driver: StandIn, context: CollectorContext, name: str
) -> None:
    driver.begin(1)
    driver.add_h100(0)
    driver.fail(0, name, pynvml.NVML_ERROR_NOT_SUPPORTED)
    (info,) = (found for found in values(await make(context).collect(NOW_NS)) if found.startswith("gpu_info"))
    assert info.count('=""') == 0
    assert GPU in info


async def test_the_largest_number_is_no_energy(driver: StandIn, context: CollectorContext) -> None:
    """NVML_VALUE_NOT_AVAILABLE."""
    driver.begin(1)
    driver.library.stand_in_field(
        0, pynvml.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0, pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, -1
    )
    assert key("gpu_energy_joules_total", "GPU-0") not in values(await make(context).collect(NOW_NS))


async def test_functions_of_an_old_driver(
    context: CollectorContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = compiled(tmp_path, "-DOLD_DRIVER")
    old.load(monkeypatch)
    old.begin(1)
    old.numbers(
        0,
        {
            "nvmlDeviceGetTemperature": {0: 41},
            "nvmlDeviceGetCurrentClocksThrottleReasons": {0: 1 << 6},
            "nvmlDeviceGetMemoryInfo": members(100, 60, 40),
            "nvmlDeviceGetNvLinkState": {0: 1},
        },
    )
    old.library.stand_in_field(0, pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT, 0, pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, 1)
    found = values(await make(context).collect(NOW_NS))
    assert found[key("gpu_temperature_celsius", "GPU-0")] == 41.0
    assert found[key("gpu_throttle_active", "GPU-0", reason="hw_thermal")] == 1.0
    assert [found[key(f"gpu_memory_{part}_bytes", "GPU-0")] for part in ("total", "free", "used")] == [100, 60, 40]
    assert found[key("gpu_nvlink_state", "GPU-0", link="0")] == 1.0


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, DownReason.REFUSED, "no NVIDIA driver loaded"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, DownReason.REFUSED, "the driver was updated: restart this process"),
        (pynvml.NVML_ERROR_NO_PERMISSION, DownReason.AUTH, "access to /dev/nvidiactl"),
        (pynvml.NVML_ERROR_TIMEOUT, DownReason.TIMEOUT, "Timeout"),
        (pynvml.NVML_ERROR_UNKNOWN, DownReason.CLOSED, "Unknown Error"),
    ],
)
async def test_a_driver_that_cannot_be_used_has_a_reason_and_is_up_once_it_can(
    driver: StandIn, context: CollectorContext, code: int, reason: DownReason, text: str
) -> None:
    driver.begin(1, code)
    collector = make(context)
    with capture_logs() as logs:
        batches = [await collector.collect(NOW_NS) for _ in range(2)]
    assert [(batch.collection.down, len(batch)) for batch in batches] == [(reason, 0)] * 2
    (line,) = logs
    assert text in line["error"]
    driver.begin(1)
    assert (await collector.collect(NOW_NS)).collection.up


async def test_a_host_without_the_library(context: CollectorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_name: str) -> ctypes.CDLL:
        raise OSError("cannot open shared object file")

    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", absent)
    with capture_logs() as logs:
        batch = await make(context).collect(NOW_NS)
    assert batch.collection.down is DownReason.REFUSED
    assert "libnvidia-ml.so.1, which comes with NVIDIA's driver, is not installed" in logs[0]["error"]


async def test_a_host_without_gpus(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(0)
    assert (await make(context).collect(NOW_NS)).collection.down is DownReason.NO_SAMPLES


LOST = {
    "at its handle": ("nvmlDeviceGetHandleByIndex_v2", pynvml.NVML_ERROR_GPU_IS_LOST, "fallen off the PCIe bus"),
    "while it is read": ("nvmlDeviceGetPerformanceState", pynvml.NVML_ERROR_RESET_REQUIRED, "it needs a reset"),
    "by its name": ("nvmlDeviceGetSerial", pynvml.NVML_ERROR_IN_USE, "something resets or reconfigures it"),
    "in its instances": ("nvmlDeviceGetMaxMigDeviceCount", pynvml.NVML_ERROR_GPU_IS_LOST, "fallen off the PCIe bus"),
}


@pytest.mark.parametrize("place", LOST)
async def test_a_gpu_that_is_lost_is_left_out_and_the_others_are_read(
    driver: StandIn, context: CollectorContext, place: str
) -> None:
    function, code, text = LOST[place]
    driver.begin(2)
    driver.add_h100(0)
    driver.add_a100(1)
    collector = make(context)
    assert len({name for name in values(await collector.collect(NOW_NS)) if name.startswith("gpu_info")}) == 2
    driver.fail(1, function, code)
    with capture_logs() as logs:
        found = [values(await collector.collect(NOW_NS)) for _ in range(2)]
    assert {name.partition('gpu="')[2].partition('"')[0] for name in found[1] if 'gpu="' in name} == {GPU}
    (line,) = logs
    assert (line["event"], line["gpu_index"]) == ("GPU is left out", 1)
    assert text in line["error"]
    assert driver.initialised == 0, "a GPU that waits for its reset is not held"
    driver.fail(1, function, 0)
    assert len({name for name in values(await collector.collect(NOW_NS)) if name.startswith("gpu_info")}) == 2


async def test_a_gpu_that_others_alone_may_read_is_left_out_and_the_driver_is_held(
    driver: StandIn, context: CollectorContext
) -> None:
    driver.begin(2)
    driver.add_h100(0)
    driver.fail(1, "nvmlDeviceGetHandleByIndex_v2", pynvml.NVML_ERROR_NO_PERMISSION)
    assert key("gpu_power_watts") in values(await make(context).collect(NOW_NS))
    assert driver.initialised == 1


async def test_a_field_may_be_what_says_that_a_gpu_is_lost(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(1)
    driver.add_h100(0)
    driver.fail_field(0, "NVML_FI_DEV_NVLINK_GET_STATE", pynvml.NVML_ERROR_GPU_IS_LOST, scope=1)
    batch = await make(context).collect(NOW_NS)
    assert (batch.collection.down, len(batch)) == (DownReason.CLOSED, 0)


@pytest.mark.parametrize("function", ["nvmlInitWithFlags", "nvmlDeviceGetPowerUsage"])
async def test_a_call_that_hangs_blocks_nobody_and_is_not_joined_by_another(
    driver: StandIn, context: CollectorContext, function: str
) -> None:
    driver.begin(1)
    driver.add_h100(0)
    collector = make(context, timeout_s=0.1)
    driver.hang(function)
    batches = [await collector.collect(NOW_NS) for _ in range(3)]
    assert [batch.collection.down for batch in batches] == [DownReason.TIMEOUT] * 3
    assert driver.waiting == 1
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "nvml"] == [True]
    await collector.stop()
    driver.release()
    for thread in threading.enumerate():
        if thread.name == "nvml":
            await asyncio.to_thread(thread.join, 60)
    assert (await make(context).collect(NOW_NS)).collection.up
    assert (await collector.collect(NOW_NS)).collection.up


HANGING = """
import asyncio, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import pynvml
from ingest.collectors.base import CollectorContext
from ingest.collectors.nvml.collector import NvmlCollector
from ingest.collectors.nvml.config import Config
from ingest.ledger import Ledger
from tests.conformance.collectors.nvml_stand_in import StandIn
driver = StandIn(Path({library!r}))
pynvml.nvmlLib = driver.library
driver.begin(1)
driver.hang("nvmlDeviceGetUUID")
async def collect():
    context = CollectorContext(Ledger(0), int, ThreadPoolExecutor(1))
    collector = NvmlCollector(Config(device="node1", timeout_s=0.1), context)
    print((await collector.collect(1)).collection.down)
    await collector.stop()
asyncio.run(collect())
"""


def test_a_process_ends_while_a_call_hangs(library: StandIn) -> None:
    command = [sys.executable, "-W", "ignore", "-c", HANGING.format(library=library.library._name)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout.splitlines()[-1] == "timeout"


async def test_stop_lets_go_of_the_driver(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(1)
    collector = make(context)
    await collector.stop()
    await collector.collect(NOW_NS)
    await collector.collect(NOW_NS)
    assert driver.initialised == 1
    await collector.stop()
    await collector.stop()
    assert driver.initialised == 0


async def test_two_collectors_share_the_library(driver: StandIn, context: CollectorContext) -> None:
    driver.begin(1)
    first, second = make(context), make(context, job_name="again")
    await first.collect(NOW_NS)
    await second.collect(NOW_NS)
    await first.stop()
    assert (await second.collect(NOW_NS)).collection.up


async def test_nvidias_own_library_without_a_driver(context: CollectorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or, on a host that has one, with another one than its own."""
    monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(NVIDIAS)))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    with capture_logs() as logs:
        batches = [await make(context).collect(NOW_NS) for _ in range(2)]
    assert [batch.collection.down for batch in batches] == [DownReason.REFUSED] * 2
    assert "no NVIDIA driver loaded" in logs[0]["error"] or "the driver was updated" in logs[0]["error"]


def test_a_deadline_beyond_the_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="timeout_s: expected at most interval_s"):
        Config(interval_s=5.0, timeout_s=6.0)
