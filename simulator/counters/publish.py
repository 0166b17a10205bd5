"""From the state of the model to the readings: every counter as its device counts it since its last boot."""

from collections.abc import Callable, Collection

import numpy as np

from common.units import NS_PER_S
from simulator.compute import gpus as gpu
from simulator.compute import hosts as host
from simulator.compute.storage import CAPACITY_BYTES
from simulator.counters.readings import (
    HW_POWER_BRAKE,
    HW_SLOWDOWN,
    HW_THERMAL,
    IDLE,
    SW_POWER_CAP,
    SW_THERMAL,
    Readings,
)
from simulator.counters.totals import (
    Model,
    Totals,
    gpu_totals,
    host_totals,
    nic_totals,
    port_totals,
    storage_totals,
)
from simulator.fabric.state import Floats
from simulator.layout import LOSSLESS

_TOTALS: dict[str, Callable[[Model], Totals]] = {
    "ports": port_totals,
    "nics": nic_totals,
    "gpus": gpu_totals,
    "hosts": host_totals,
    "storage": storage_totals,
}
"""By group of the readings."""
GROUPS = frozenset(_TOTALS)
"""Groups of readings that are written on their own: what is published of devices and jobs is always written."""


class Publisher:
    """Writes ``readings``. Gauges are written as they are, counters relative to their device's last boot."""

    def __init__(self, model: Model, readings: Readings) -> None:
        self._model, self._readings = model, readings
        self._at_boot: dict[tuple[str, str], Floats] = {}
        self._host_devices = np.array([model.layout.device_index[name] for name in model.layout.hosts])
        self._target_servers = [model.layout.device_index[target.server] for target in model.layout.targets]
        n = len(model.fabric.queues.rated)
        self._peaks_before = [np.zeros(n) for _ in range(3)]
        self._gauges: dict[str, Callable[[], None]] = {
            "ports": self._publish_ports,
            "nics": self._publish_nics,
            "gpus": self._publish_gpus,
            "hosts": self._publish_hosts,
            "storage": self._publish_storage,
        }

    def begin_interval(self) -> None:
        """Starts new interval peaks; a reading covers the current interval and the one before."""
        q = self._model.fabric.queues
        for kept, running in zip(self._peaks_before, (q.peak, q.ingress_peak, q.headroom_peak), strict=True):
            kept[:] = running
            running[:] = 0.0

    def restart(self, device: str) -> None:
        """All counters of a device that booted restart at 0."""
        layout = self._model.layout
        rows = {
            "ports": layout.switch_ports.get(device),
            "nics": layout.device_nics.get(device),
            "gpus": layout.host_gpus.get(device),
            "hosts": _rows_of(list(layout.hosts), device),
            "storage": _rows_of([target.server for target in layout.targets], device),
        }
        for group, totals in _TOTALS.items():
            where = rows[group]
            if where is None:
                continue
            for name, values in totals(self._model).items():
                at_boot = self._at_boot.setdefault((group, name), np.zeros_like(values))
                at_boot[where.start : where.stop] = values[where.start : where.stop]

    def exchange_cables(self, one: int, other: int) -> None:
        """Two NICs change their leaf ports; every counter goes on from the value that it has."""
        before = [totals(self._model) for totals in _TOTALS.values()]
        self._model.exchange_cables(one, other)
        for (group, totals), old in zip(_TOTALS.items(), before, strict=True):
            for name, values in totals(self._model).items():
                if (values != old[name]).any():
                    at_boot = self._at_boot.setdefault((group, name), np.zeros_like(values))
                    at_boot += values - old[name]

    def publish(self, now_ns: int, groups: Collection[str] = GROUPS) -> None:
        """Writes counters and gauges into the readings, as of ``now_ns``; other ``groups`` stay as they were."""
        self._readings.now_ns = now_ns
        for group in groups:
            arrays = getattr(self._readings, group)
            for name, values in _TOTALS[group](self._model).items():
                at_boot = self._at_boot.get((group, name))
                getattr(arrays, name)[...] = values if at_boot is None else np.maximum(0.0, values - at_boot)
            self._gauges[group]()
        self._publish_devices()

    def _publish_ports(self) -> None:
        model, r = self._model, self._readings.ports
        q, optics, here, feeder = model.fabric.queues, model.optics, model.port_queues, model.feeding_queues
        peak, ingress, headroom = self._peaks_before
        r.queue_occupancy[:, LOSSLESS] = (q.content + q.burst)[here]
        r.queue_peak[:, LOSSLESS] = np.maximum(q.peak, peak)[here]
        r.pg_occupancy_peak[:, LOSSLESS] = np.maximum(q.ingress_peak, ingress)[feeder]
        r.pg_headroom_peak[:, LOSSLESS] = np.maximum(q.headroom_peak, headroom)[feeder]
        r.ber[...] = optics.ber
        r.up[...] = model.links.port_up
        r.daemon_down[...] = model.links.without_daemon
        r.last_change_ns[...] = model.links.changed_ns
        r.speed[...] = q.rated[here] * model.links.speed_factor * 8
        r.rx_power_dbm[...] = optics.received_dbm
        r.tx_power_dbm[...] = optics.sent_dbm
        r.bias_amperes[...] = optics.bias
        r.module_celsius[...] = optics.celsius
        r.module_volts[...] = 3.3

    def _publish_nics(self) -> None:
        model, r = self._model, self._readings.nics
        r.pcie_stalled_ratio[...] = model.pcie_stalled
        r.up[...] = model.links.nic_up
        r.speed[...] = model.fabric.queues.rated[model.nic_queues] * model.links.speed_factor[model.leaf_ports] * 8

    def _publish_gpus(self) -> None:
        g, r = self._model.gpus, self._readings.gpus
        part, other, figures = g.activity, g.kernel_activity, g.figures
        r.utilization[...] = part @ figures.utilization + other @ figures.more_utilization
        r.sm_active[...] = part @ figures.sm_active + other @ figures.more_sm_active
        r.sm_occupancy[...] = r.sm_active * figures.occupancy
        r.tensor_active[...] = part @ figures.tensor + other @ figures.more_tensor
        r.dram_active[...] = part @ figures.dram + other @ figures.more_dram
        r.memory_copy[...] = np.minimum(1.0, r.dram_active * figures.memory_copy)
        r.power_watts[...] = g.watts
        r.power_limit_watts[...] = g.limit_watts
        r.celsius[...] = g.celsius
        constant, by_chip, by_watt, by_dram = figures.memory_celsius
        r.memory_celsius[...] = by_chip * g.celsius + constant + by_dram * r.dram_active + by_watt * g.watts
        r.sm_clock_hertz[...] = g.hertz
        r.memory_clock_hertz[...] = gpu.MEMORY_HERTZ
        r.framebuffer_used[...] = np.maximum(g.framebuffer, 4e6)
        r.framebuffer_reserved[...] = gpu.RESERVED
        r.framebuffer_free[...] = gpu.FRAMEBUFFER - gpu.RESERVED - r.framebuffer_used
        r.xid_last[...] = g.xid
        hot = np.where(g.slowed_by_heat, SW_THERMAL, 0) | np.where(g.celsius > gpu.HW_SLOWDOWN_C, HW_THERMAL, 0)
        held = np.where(g.held_by_power, SW_POWER_CAP, 0) | np.where(g.hertz == gpu.IDLE_HERTZ, IDLE, 0)
        braked = np.where(g.braked, HW_SLOWDOWN | HW_POWER_BRAKE, 0)
        r.throttle_mask[...] = hot | braked | held
        r.ecc[...], r.remapped_rows[...] = g.bit_errors, g.remapped_rows
        exchanged = part @ gpu.NVLINK_BYTES_PER_S + other @ gpu.MORE_NVLINK_BYTES_PER_S
        r.nvlink_rate[...] = (exchanged * g.nvlink)[:, None]
        r.pcie_rate[...] = (part @ gpu.PCIE_BYTES_PER_S + exchanged * ~g.nvlink)[:, None]
        r.present[...] = g.present

    def _publish_hosts(self) -> None:
        model, r = self._model, self._readings.hosts
        r.load1[...] = model.hosts.load
        r.memory_total[...] = host.MEMORY_BYTES
        r.memory_available[...] = model.hosts.available
        r.power_watts[...] = model.hosts.watts
        r.inlet_celsius[...] = model.hosts.inlet
        r.boot_s[...] = model.boot_ns[self._host_devices] / NS_PER_S

    def _publish_storage(self) -> None:
        model, r = self._model, self._readings.storage
        r.capacity[...] = CAPACITY_BYTES
        r.used[...] = model.storage.used
        r.queue_depth[...] = model.storage.depth
        r.up[...] = model.links.device_on[self._target_servers]

    def _publish_devices(self) -> None:
        model, readings = self._model, self._readings
        readings.devices.boot_ns[...] = model.boot_ns
        readings.devices.reachable[...] = model.links.device_on
        readings.jobs[:] = [job.record for job in model.jobs.running]


def _rows_of(names: list[str], name: str) -> range | None:
    """Positions of ``name`` in a list in which equal names are adjacent."""
    return range(names.index(name), names.index(name) + names.count(name)) if name in names else None
