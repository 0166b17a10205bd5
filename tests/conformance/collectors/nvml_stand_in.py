"""Stands in for NVIDIA's driver: the library of ``nvml_stand_in.c``, and the GPUs that it states.

Two GPUs, as two documents of nvidia-smi state them, in NVML's units: the H100 of ``tests/data/h100``, and an A100 that
is split into instances. Of the H100 also what no document has: NVLink, energy, errors of its PCIe link.
"""

import ctypes
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pynvml
import pytest

from ingest.collectors.nvml.calls import CALLS, PCIE_THROUGHPUT

SOURCE = Path(__file__).with_suffix(".c")
MIB = 2**20
UNSIGNED, WIDE = pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
ALL_LINKS = 0xFFFFFFFF
INSTANCES = 16  # devices from here on are MIG instances

Numbers = Mapping[str, Mapping[int, int]]
"""By function: what it states for each argument, or member of its structure."""


class Field(NamedTuple):
    name: str
    type: int
    number: int
    scope: int = 0


class StandIn:
    """The library, loaded."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.library.stand_in_number.argtypes = (ctypes.c_uint, ctypes.c_char_p, ctypes.c_uint, ctypes.c_longlong)
        field_types = (ctypes.c_uint, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint, ctypes.c_longlong)
        self.library.stand_in_field.argtypes = field_types

    def begin(self, gpus: int, code: int = 0) -> None:
        """So many GPUs that state nothing. code: of ``nvmlInit``."""
        self.library.stand_in_begin(gpus, code)
        self.text(0, "nvmlSystemGetDriverVersion", "580.159.04")
        for gpu in range(gpus):
            self.text(gpu, "nvmlDeviceGetUUID", f"GPU-{gpu}")

    def text(self, device: int, function: str, text: str) -> None:
        self.library.stand_in_text(device, function.encode(), text.encode())

    def numbers(self, device: int, functions: Numbers) -> None:
        for function, stated in functions.items():
            for argument, number in stated.items():
                self.library.stand_in_number(device, function.encode(), argument, number)

    def field(self, device: int, field: Field) -> None:
        self.library.stand_in_field(device, getattr(pynvml, field.name), field.scope, field.type, field.number)

    def fail(self, device: int, function: str, code: int, argument: int = 0) -> None:
        """The function, of this device, until it succeeds again with code 0."""
        self.library.stand_in_code(device, function.encode(), argument, 0, code)

    def fail_field(self, device: int, name: str, code: int, scope: int = 0) -> None:
        self.library.stand_in_code(device, b"field", getattr(pynvml, name), scope, code)

    def count(self, device: int, metrics: Mapping[str, float]) -> None:
        """How far each counter of GPM is, in the metric's unit; the device has GPM from then on."""
        self.numbers(device, {"nvmlGpmQueryDeviceSupport": {0: 1}})
        counters = {getattr(pynvml, name): round(counted * 1e4) for name, counted in metrics.items()}
        self.numbers(device, {"gpm": counters})

    def xid(self, device: int, code: int, instance: int = 0xFFFFFFFF) -> None:
        self.library.stand_in_xid(device, code, instance)

    @property
    def event_sets(self) -> int:
        """Those that are not freed."""
        return int(self.library.stand_in_event_sets())

    def hang(self, function: str) -> None:
        self.library.stand_in_hang(function.encode())

    def release(self) -> None:
        self.library.stand_in_release()

    @property
    def waiting(self) -> int:
        """Calls that have not returned."""
        return int(self.library.stand_in_waiting())

    @property
    def gpm_samples(self) -> int:
        """Those that are allocated."""
        return int(self.library.stand_in_gpm_samples())

    @property
    def initialised(self) -> int:
        return int(self.library.stand_in_initialised())

    def load(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In place of what pynvml finds by itself."""
        monkeypatch.setattr(pynvml, "nvmlLib", self.library)
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})

    def add_h100(self, gpu: int) -> None:
        self.text(gpu, "nvmlDeviceGetUUID", "GPU-00000000-0000-4000-8000-000000000001")
        self.text(gpu, "nvmlDeviceGetName", "NVIDIA H100 80GB HBM3")
        self.text(gpu, "nvmlDeviceGetSerial", "1650000000001")
        self.text(gpu, "nvmlDeviceGetPciInfo_v3", "00000000:1B:00.0")
        self.numbers(gpu, H100)
        for field in H100_FIELDS:
            self.field(gpu, field)

    def add_a100(self, gpu: int) -> None:
        self.text(gpu, "nvmlDeviceGetUUID", "GPU-513536b6-7d19-9063-b049-1e69664bb298")
        self.text(gpu, "nvmlDeviceGetName", "NVIDIA A100-SXM4-80GB")
        self.text(gpu, "nvmlDeviceGetSerial", "1650522003820")
        self.text(gpu, "nvmlDeviceGetPciInfo_v3", "00000000:01:00.0")
        self.numbers(gpu, A100)
        for field in A100_FIELDS:
            self.field(gpu, field)
        for place in range(4):
            instance = {
                "nvmlDeviceGetGpuInstanceId": {0: 3 + place},
                "nvmlDeviceGetMemoryInfo_v2": members(19968 * MIB, 0, 19955 * MIB, 12 * MIB),
            }
            self.numbers(INSTANCES + place, instance)
            self.numbers(gpu, {"nvmlDeviceGetMigDeviceHandleByIndex": {place: INSTANCES + place}})

    def add_recorded(self, gpu: int, recorded: Mapping[str, Any]) -> None:
        """A GPU that answers what a real one did: a document of ``tests/data/h200``. GPM is counted from 0 on."""
        self.text(gpu, "nvmlDeviceGetUUID", "GPU-00000000-0000-4000-8000-000000000002")
        self.text(gpu, "nvmlDeviceGetName", "NVIDIA H200")
        self.text(gpu, "nvmlDeviceGetSerial", "1650000000002")
        self.text(gpu, "nvmlDeviceGetPciInfo_v3", "00000000:1B:00.0")
        for call in (call for alternatives in (*CALLS, *PCIE_THROUGHPUT) for call in alternatives):
            answer, function = recorded["calls"][call.name], call.name.partition("/")[0]
            asked = call.arguments[0] if "/" in call.name else 0
            if isinstance(answer, int):
                self.numbers(gpu, {function: {asked: answer}})
            elif "code" in answer:
                self.fail(gpu, function, answer["code"], asked)
            else:
                parts = answer if isinstance(answer, list) else [answer[part] for part in answer if part != "version"]
                self.numbers(gpu, {function: members(*parts)})
        for name, (code, *answer) in recorded["fields"].items():
            if code:
                self.fail_field(gpu, name, code)
            else:
                self.field(gpu, Field(name, *answer))
        self.count(gpu, dict.fromkeys(recorded["gpm"], 0))


def compiled(folder: Path, *options: str) -> StandIn:
    """By the C compiler of the machine."""
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", *options, "-o", library, SOURCE, "-lpthread"], check=True)
    return StandIn(library)


def members(*numbers: int) -> dict[int, int]:
    """Of a structure, in its order."""
    return dict(enumerate(numbers))


SM, MEM, VIDEO, GRAPHICS = (
    pynvml.NVML_CLOCK_SM,
    pynvml.NVML_CLOCK_MEM,
    pynvml.NVML_CLOCK_VIDEO,
    pynvml.NVML_CLOCK_GRAPHICS,
)
H100: Numbers = {
    "nvmlDeviceGetUtilizationRates": members(100, 45),
    "nvmlDeviceGetEncoderUtilization": members(0, 167_000),
    "nvmlDeviceGetDecoderUtilization": members(0, 167_000),
    "nvmlDeviceGetClockInfo": {SM: 1590, MEM: 2619, VIDEO: 1545},
    "nvmlDeviceGetMaxClockInfo": {SM: 1980, MEM: 2619, VIDEO: 1545},
    "nvmlDeviceGetApplicationsClock": {GRAPHICS: 1980, MEM: 2619},
    "nvmlDeviceGetPowerUsage": {0: 689_540},
    "nvmlDeviceGetEnforcedPowerLimit": {0: 700_000},
    "nvmlDeviceGetPowerManagementLimit": {0: 700_000},
    "nvmlDeviceGetPowerManagementDefaultLimit": {0: 700_000},
    "nvmlDeviceGetPowerManagementLimitConstraints": members(200_000, 700_000),
    "nvmlDeviceGetTemperatureV": {0: 68},
    "nvmlDeviceGetMarginTemperature": {0: 16},
    "nvmlDeviceGetPerformanceState": {0: 0},
    "nvmlDeviceGetCurrentClocksEventReasons": {0: 4},
    "nvmlDeviceGetMemoryInfo_v2": members(81559 * MIB, 480 * MIB, 46009 * MIB, 35071 * MIB),
    "nvmlDeviceGetBAR1MemoryInfo": members(131072 * MIB, 96000 * MIB, 35072 * MIB),
    "nvmlDeviceGetPcieThroughput": members(10762, 35309),
    "nvmlDeviceGetCurrPcieLinkGeneration": {0: 5},
    "nvmlDeviceGetCurrPcieLinkWidth": {0: 16},
    "nvmlDeviceGetMaxPcieLinkGeneration": {0: 5},
    "nvmlDeviceGetMaxPcieLinkWidth": {0: 16},
    "nvmlDeviceGetRowRemapperHistogram": members(2560, 0, 0, 0, 0),
    "nvmlDeviceGetMigMode": members(0, 0),
}
H100_FIELDS = (
    Field("NVML_FI_DEV_POWER_INSTANT", UNSIGNED, 683_220),
    Field("NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION", WIDE, 9_876_543_210),
    Field("NVML_FI_DEV_MEMORY_TEMP", UNSIGNED, 64),
    Field("NVML_FI_DEV_ECC_CURRENT", UNSIGNED, 1),
    Field("NVML_FI_DEV_ECC_SBE_VOL_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_ECC_DBE_VOL_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_ECC_SBE_AGG_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_ECC_DBE_AGG_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_REMAPPED_COR", UNSIGNED, 0),
    Field("NVML_FI_DEV_REMAPPED_UNC", UNSIGNED, 0),
    Field("NVML_FI_DEV_REMAPPED_PENDING", UNSIGNED, 0),
    Field("NVML_FI_DEV_REMAPPED_FAILURE", UNSIGNED, 0),
    Field("NVML_FI_DEV_PCIE_REPLAY_COUNTER", UNSIGNED, 1),
    Field("NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS", UNSIGNED, 11),
    Field("NVML_FI_DEV_PCIE_COUNT_NAKS_SENT", UNSIGNED, 12),
    Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP", WIDE, 20_797_605_000),
    Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST", WIDE, 0),
    Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN", WIDE, 0),
    Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN", WIDE, 0),
    Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN", WIDE, 0),
    Field("NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", UNSIGNED, 3),
    Field("NVML_FI_DEV_NVLINK_LINK_COUNT", UNSIGNED, 2),
    Field("NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", WIDE, 21),
    Field("NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX", WIDE, 3 << 40, ALL_LINKS),
    Field("NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX", WIDE, 5 << 40, ALL_LINKS),
    Field("NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX", WIDE, 1 << 40, 0),
    Field("NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES", WIDE, 7, 0),  # a second opinion, which is not read
    Field("NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES", WIDE, 2 << 50, 1),
    Field("NVML_FI_DEV_NVLINK_GET_STATE", UNSIGNED, 2, 0),
    Field("NVML_FI_DEV_NVLINK_ERROR_DL_CRC", WIDE, 31, 1),
    Field("NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS", UNSIGNED, 32, 1),
    Field("NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER", WIDE, 3 << 8 | 12, 1),
    Field("NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15", WIDE, 33, 1),
)
A100: Numbers = {
    "nvmlDeviceGetClockInfo": {SM: 1275, MEM: 1593, VIDEO: 1275},
    "nvmlDeviceGetMaxClockInfo": {SM: 1410, MEM: 1593, VIDEO: 1290},
    "nvmlDeviceGetApplicationsClock": {GRAPHICS: 1275, MEM: 1593},
    "nvmlDeviceGetPowerUsage": {0: 67_030},
    "nvmlDeviceGetEnforcedPowerLimit": {0: 500_000},
    "nvmlDeviceGetPowerManagementLimit": {0: 500_000},
    "nvmlDeviceGetPowerManagementDefaultLimit": {0: 500_000},
    "nvmlDeviceGetPowerManagementLimitConstraints": members(100_000, 500_000),
    "nvmlDeviceGetTemperature": {0: 27},
    "nvmlDeviceGetTemperatureThreshold": members(92, 89, 95, 85),
    "nvmlDeviceGetPerformanceState": {0: 0},
    "nvmlDeviceGetCurrentClocksEventReasons": {0: 0},
    "nvmlDeviceGetMemoryInfo_v2": members(81920 * MIB, 869 * MIB, 80999 * MIB, 50 * MIB),
    "nvmlDeviceGetBAR1MemoryInfo": members(131072 * MIB, 131071 * MIB, 1 * MIB),
    "nvmlDeviceGetPcieThroughput": members(4000, 0),
    "nvmlDeviceGetCurrPcieLinkGeneration": {0: 4},
    "nvmlDeviceGetCurrPcieLinkWidth": {0: 16},
    "nvmlDeviceGetMaxPcieLinkGeneration": {0: 4},
    "nvmlDeviceGetMaxPcieLinkWidth": {0: 16},
    "nvmlDeviceGetMigMode": members(1, 1),
    "nvmlDeviceGetMaxMigDeviceCount": {0: 7},
}
A100_FIELDS = (
    Field("NVML_FI_DEV_MEMORY_TEMP", UNSIGNED, 44),
    Field("NVML_FI_DEV_ECC_CURRENT", UNSIGNED, 1),
    Field("NVML_FI_DEV_ECC_SBE_VOL_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_ECC_DBE_VOL_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_ECC_SBE_AGG_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_ECC_DBE_AGG_TOTAL", WIDE, 0),
    Field("NVML_FI_DEV_PCIE_REPLAY_COUNTER", UNSIGNED, 0),
)
