"""What is asked of each GPU: functions of NVML, and fields of ``nvmlDeviceGetFieldValues``.

Units are those of nvml.h, of NVIDIA's package nvidia-nvml-dev 13.4; ``telemetry/catalogue/systems/nvml.yaml`` brings
them to ours: power in mW, energy in mJ, clocks in MHz, utilisation in percent, memory in bytes, temperatures in °C,
PCIe throughput in KB/s (counted over 20 ms, which the call takes), NVLink traffic in KiB, time at reduced clocks in ns,
activity (GPM) in percent, and in MiB/s.
"""

from dataclasses import dataclass

import pynvml


@dataclass(frozen=True, slots=True)
class Call:
    """One function of the binding.

    name:      of the sample, or what its names begin with.
    function:  in ``pynvml``; its arguments are the GPU and ``arguments``.
    parts:     of an answer of several numbers those that are read, in its order: elements of a list, members of a
               structure. Each is a sample of its own, ``name/part``.
    """

    name: str
    function: str
    arguments: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}/{part}" for part in self.parts) or (self.name,)


Alternatives = tuple[Call, ...]
"""The first one that a driver has is asked: functions were renamed, and their old names go away."""


def _call(function: str, *parts: str) -> Alternatives:
    return (Call(function, function, parts=parts),)


def _of(function: str, **arguments: int) -> tuple[Alternatives, ...]:
    """One call for each argument, named by it."""
    return tuple((Call(f"{function}/{name}", function, (argument,)),) for name, argument in arguments.items())


MEMORY: Alternatives = (
    # Without what the driver reserves, unlike the first version: as nvidia-smi prints it.
    Call(
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetMemoryInfo",
        (pynvml.nvmlMemory_v2,),
        ("total", "reserved", "used", "free"),
    ),
    Call("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo", parts=("total", "used", "free")),
)

CALLS: tuple[Alternatives, ...] = (
    _call("nvmlDeviceGetUtilizationRates", "gpu", "memory"),
    _call("nvmlDeviceGetEncoderUtilization", "utilization"),
    _call("nvmlDeviceGetDecoderUtilization", "utilization"),
    *_of("nvmlDeviceGetClockInfo", SM=pynvml.NVML_CLOCK_SM, MEM=pynvml.NVML_CLOCK_MEM, VIDEO=pynvml.NVML_CLOCK_VIDEO),
    *_of(
        "nvmlDeviceGetMaxClockInfo",
        SM=pynvml.NVML_CLOCK_SM,
        MEM=pynvml.NVML_CLOCK_MEM,
        VIDEO=pynvml.NVML_CLOCK_VIDEO,
    ),
    *_of("nvmlDeviceGetApplicationsClock", GRAPHICS=pynvml.NVML_CLOCK_GRAPHICS, MEM=pynvml.NVML_CLOCK_MEM),
    _call("nvmlDeviceGetPowerUsage"),
    _call("nvmlDeviceGetEnforcedPowerLimit"),
    _call("nvmlDeviceGetPowerManagementLimit"),
    _call("nvmlDeviceGetPowerManagementDefaultLimit"),
    _call("nvmlDeviceGetPowerManagementLimitConstraints", "minLimit", "maxLimit"),
    (
        Call("nvmlDeviceGetTemperatureV/GPU", "nvmlDeviceGetTemperatureV", (pynvml.NVML_TEMPERATURE_GPU,)),
        Call("nvmlDeviceGetTemperature/GPU", "nvmlDeviceGetTemperature", (pynvml.NVML_TEMPERATURE_GPU,)),
    ),
    _call("nvmlDeviceGetMarginTemperature"),
    *_of(
        "nvmlDeviceGetTemperatureThreshold",
        SHUTDOWN=pynvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN,
        SLOWDOWN=pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN,
        MEM_MAX=pynvml.NVML_TEMPERATURE_THRESHOLD_MEM_MAX,
        GPU_MAX=pynvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX,
    ),
    _call("nvmlDeviceGetFanSpeed"),
    _call("nvmlDeviceGetPerformanceState"),
    (
        *_call("nvmlDeviceGetCurrentClocksEventReasons"),
        *_call("nvmlDeviceGetCurrentClocksThrottleReasons"),  # before driver 535
    ),
    MEMORY,
    _call("nvmlDeviceGetBAR1MemoryInfo", "bar1Total", "bar1Used", "bar1Free"),
    _call("nvmlDeviceGetCurrPcieLinkGeneration"),
    _call("nvmlDeviceGetCurrPcieLinkWidth"),
    _call("nvmlDeviceGetMaxPcieLinkGeneration"),
    _call("nvmlDeviceGetMaxPcieLinkWidth"),
    _call("nvmlDeviceGetRowRemapperHistogram", "max", "high", "partial", "low", "none"),
    _call("nvmlDeviceGetMigMode", "current"),
)

PCIE_THROUGHPUT = _of(
    "nvmlDeviceGetPcieThroughput", TX_BYTES=pynvml.NVML_PCIE_UTIL_TX_BYTES, RX_BYTES=pynvml.NVML_PCIE_UTIL_RX_BYTES
)
"""Asked where GPM does not have it."""

GPU_FIELDS = (
    "NVML_FI_DEV_POWER_INSTANT",
    "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "NVML_FI_DEV_MEMORY_TEMP",
    "NVML_FI_DEV_ECC_CURRENT",
    "NVML_FI_DEV_ECC_SBE_VOL_TOTAL",
    "NVML_FI_DEV_ECC_DBE_VOL_TOTAL",
    "NVML_FI_DEV_ECC_SBE_AGG_TOTAL",
    "NVML_FI_DEV_ECC_DBE_AGG_TOTAL",
    "NVML_FI_DEV_RETIRED_SBE",
    "NVML_FI_DEV_RETIRED_DBE",
    "NVML_FI_DEV_RETIRED_PENDING",
    "NVML_FI_DEV_REMAPPED_COR",
    "NVML_FI_DEV_REMAPPED_UNC",
    "NVML_FI_DEV_REMAPPED_PENDING",
    "NVML_FI_DEV_REMAPPED_FAILURE",
    "NVML_FI_DEV_PCIE_REPLAY_COUNTER",
    "NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER",
    "NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS",
    "NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED",
    "NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR",
    "NVML_FI_DEV_PCIE_COUNT_BAD_TLP",
    "NVML_FI_DEV_PCIE_COUNT_NAKS_SENT",
    "NVML_FI_DEV_PCIE_COUNT_BAD_DLLP",
    "NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR",
    "NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR",
    "NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ",
    "NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR",
    "NVML_FI_DEV_PCIE_COUNT_LANE_ERROR",
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP",
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST",
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN",
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN",
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN",
    "NVML_FI_DEV_PERF_POLICY_THERMAL",
    "NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT",
    "NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION",
    "NVML_FI_DEV_PERF_POLICY_RELIABILITY",
    "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION",
    "NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
    "NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
    "NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
    "NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
    "NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL",
)

LINK_FIELDS = (
    "NVML_FI_DEV_NVLINK_GET_STATE",
    "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
    "NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY",
    "NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY",
    "NVML_FI_DEV_NVLINK_ERROR_DL_CRC",
    "NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES",
    "NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES",
    "NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS",
    "NVML_FI_DEV_NVLINK_COUNT_RCV_PACKETS",
    "NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS",
    "NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS",
    "NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS",
    "NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS",
    "NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS",
    "NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER",
    "NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER",
    *(f"NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_{bin_}" for bin_ in range(16)),
)
"""Asked for each NVLink link."""

ALL_LINKS = 0xFFFFFFFF
"""In place of a link: the sum of all."""

ALL_LINKS_FIELDS = ("NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX", "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX")

IN_PLACE_OF = {
    "NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
}
"""Fields of which a GPU that has both needs one. The first counts protocol too, since NVLink 5."""

LINK_STATE = "nvmlDeviceGetNvLinkState"
"""Of a link whose state is no field."""

GPM_ACTIVITY = (
    "NVML_GPM_METRIC_GRAPHICS_UTIL",
    "NVML_GPM_METRIC_SM_UTIL",
    "NVML_GPM_METRIC_SM_OCCUPANCY",
    "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "NVML_GPM_METRIC_DRAM_BW_UTIL",
    "NVML_GPM_METRIC_INTEGER_UTIL",
    "NVML_GPM_METRIC_FP64_UTIL",
    "NVML_GPM_METRIC_FP32_UTIL",
    "NVML_GPM_METRIC_FP16_UTIL",
    "NVML_GPM_METRIC_DFMA_TENSOR_UTIL",
    "NVML_GPM_METRIC_HMMA_TENSOR_UTIL",
    "NVML_GPM_METRIC_IMMA_TENSOR_UTIL",
)
"""Of a GPU or a MIG instance: what ``DCGM_FI_PROF_…`` is made of.

GPM answers 0 for what a GPU does not have, too: links, media engines, metrics that do not exist.
"""

GPM_PCIE = ("NVML_GPM_METRIC_PCIE_TX_PER_SEC", "NVML_GPM_METRIC_PCIE_RX_PER_SEC")

GPM_LINKS = ("NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC", "NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC")
"""Of a GPU that has NVLink."""
