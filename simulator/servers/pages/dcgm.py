"""The page of dcgm-exporter: the GPUs of one host.

Field names, types and their order are those of the exporter's shipped counter list. Behind them come fields that an
operator switches on: throttle time, clock event reasons, power limit, ECC, SM activity and NVLink rates.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.counters.readings import RX, THROTTLE_REASONS, TX, GpuReadings, Readings
from simulator.layout import DRIVER, GPU_MODEL, GpuUnit, Layout
from simulator.servers.collection.omitted import Omits, omits_nothing
from simulator.servers.pages.fields import Field, FieldPage, field

_MIB = 1024.0**2
_MHZ = 1e6

Of = Callable[[GpuReadings], NDArray[np.generic]]

# name, type as the exporter declares it (right or wrong), help, printed form, value in the exporter's unit
_SHIPPED: tuple[tuple[str, str, str, str, Of], ...] = (
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "Clock of the SMs in MHz.", "%d", lambda g: g.sm_clock_hertz / _MHZ),
    ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Clock of the memory in MHz.", "%d", lambda g: g.memory_clock_hertz / _MHZ),
    ("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Temperature of the memory in C.", "%d", lambda g: np.rint(g.memory_celsius)),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "Temperature of the GPU in C.", "%d", lambda g: np.rint(g.celsius)),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power drawn in W.", "%.6f", lambda g: g.power_watts),
    (
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "counter",
        "Energy used since boot in mJ.",
        "%d",
        lambda g: g.energy_joules * 1e3,
    ),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries.", "%d", lambda g: g.pcie_replays),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "Utilization of the GPU in %.", "%d", lambda g: np.rint(g.utilization * 100)),
    (
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "gauge",
        "Utilization of the memory in %.",
        "%d",
        lambda g: np.rint(g.memory_copy * 100),
    ),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Code of the last XID error.", "%d", lambda g: g.xid_last),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer free in MiB.", "%d", lambda g: g.framebuffer_free / _MIB),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer used in MiB.", "%d", lambda g: g.framebuffer_used / _MIB),
    ("DCGM_FI_DEV_FB_RESERVED", "gauge", "Framebuffer reserved in MiB.", "%d", lambda g: g.framebuffer_reserved / _MIB),
    (
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "counter",
        "NVLink bandwidth counters of all lanes together.",
        "%d",
        lambda g: g.nvlink_rate.sum(axis=1) / 1e6,  # declared a counter, is a rate in MB/s
    ),
    (
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "counter",
        "Rows remapped for uncorrectable errors.",
        "%d",
        lambda g: g.remapped_rows[:, 1],
    ),
    (
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "counter",
        "Rows remapped for correctable errors.",
        "%d",
        lambda g: g.remapped_rows[:, 0],
    ),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping rows failed.", "%d", lambda g: g.remap_failed),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the engine is active.", "%.6f", lambda g: g.utilization),
    (
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "gauge",
        "Ratio of cycles the tensor pipe is active.",
        "%.6f",
        lambda g: g.tensor_active,
    ),
    (
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "gauge",
        "Ratio of cycles the memory interface is active.",
        "%.6f",
        lambda g: g.dram_active,
    ),
    ("DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", "PCIe bytes sent per second.", "%d", lambda g: g.pcie_rate[:, TX]),
    ("DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", "PCIe bytes received per second.", "%d", lambda g: g.pcie_rate[:, RX]),
)
_THROTTLE_FIELDS = {
    "sw_power_cap": "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS",
    "sw_thermal": "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS",
    "hw_thermal": "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS",
    "hw_power_brake": "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS",
    "sync_boost": "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS",
}


def _throttle(reason: str) -> Of:
    column = THROTTLE_REASONS.index(reason)
    return lambda g: g.throttle_ns[:, column]


_SWITCHED_ON: tuple[tuple[str, str, str, str, Of], ...] = (
    (
        "DCGM_FI_DEV_ENFORCED_POWER_LIMIT",
        "gauge",
        "Power limit in force in W.",
        "%.6f",
        lambda g: g.power_limit_watts,
    ),
    (
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
        "gauge",
        "Reasons that hold the clocks, a bit mask.",
        "%d",
        lambda g: g.throttle_mask,
    ),
    *(
        (name, "counter", f"Time the clocks were held by {reason} in ns.", "%d", _throttle(reason))
        for reason, name in _THROTTLE_FIELDS.items()
    ),
    ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Volatile single-bit errors.", "%d", lambda g: g.ecc[:, 0]),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Volatile double-bit errors.", "%d", lambda g: g.ecc[:, 1]),
    ("DCGM_FI_PROF_SM_ACTIVE", "gauge", "Ratio of cycles an SM has work.", "%.6f", lambda g: g.sm_active),
    ("DCGM_FI_PROF_SM_OCCUPANCY", "gauge", "Ratio of warps resident on an SM.", "%.6f", lambda g: g.sm_occupancy),
    ("DCGM_FI_PROF_NVLINK_TX_BYTES", "gauge", "NVLink bytes sent per second.", "%d", lambda g: g.nvlink_rate[:, TX]),
    (
        "DCGM_FI_PROF_NVLINK_RX_BYTES",
        "gauge",
        "NVLink bytes received per second.",
        "%d",
        lambda g: g.nvlink_rate[:, RX],
    ),
)


class DcgmPage:
    """The page of one host. A GPU that fell off the bus has no line; one layout is kept for every set seen."""

    def __init__(self, layout: Layout, host: str, omits: Omits = omits_nothing) -> None:
        self._range = layout.host_gpus[host]
        self._units = [layout.gpus[i] for i in self._range]
        self._host, self._omits = host, omits
        self._pages: dict[bytes, FieldPage] = {}

    def render(self, readings: Readings, timestamp_ms: int | None = None) -> str:
        """The text, without GPUs that have fallen off. timestamp_ms: written behind each value; None for none."""
        present = readings.gpus.present[self._range.start : self._range.stop]
        page = self._pages.get(present.tobytes())
        if page is None:
            positions = np.flatnonzero(present)
            page = self._pages[present.tobytes()] = FieldPage(self._fields(positions), self._omits)
        return page.render(readings, timestamp_ms)

    def _fields(self, positions: NDArray[np.int64]) -> list[Field]:
        if positions.size == 0:
            return []
        rows = [gpu_labels(self._units[i], self._host) for i in positions]
        where = positions + self._range.start
        return [_field(name, kind, text, spec, rows, of, where) for name, kind, text, spec, of in FIELDS]


FIELDS = (*_SHIPPED, *_SWITCHED_ON)


def gpu_labels(gpu: GpuUnit, host: str) -> dict[str, str]:
    """Labels of every line about a GPU, in the exporter's order."""
    return {
        "gpu": str(gpu.index),
        "UUID": gpu.uuid,
        "pci_bus_id": gpu.pci_bus_id,
        "device": f"nvidia{gpu.index}",
        "modelName": GPU_MODEL,
        "Hostname": host,
        "DCGM_FI_DRIVER_VERSION": DRIVER,
    }


def _field(
    name: str, kind: str, text: str, spec: str, rows: Sequence[dict[str, str]], of: Of, where: NDArray[np.int64]
) -> Field:
    return field(name, kind, text, spec, rows, lambda readings: of(readings.gpus)[where])
