"""From the state of the model to the readings: every counter as its device counts it since its last boot."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.compute import gpus as gpu
from simulator.compute import hosts as host
from simulator.compute.storage import CAPACITY_BYTES, READ, RPC_BYTES, WRITE
from simulator.counters.readings import HW_THERMAL, IDLE, RX, SW_THERMAL, TX
from simulator.fabric import parameters as par
from simulator.fabric.state import CE_RECEIVED, CNP_HANDLED, CNP_SENT, OUT_OF_SEQUENCE, SEQUENCE_ERRORS
from simulator.layout import LOSSLESS, OTHER

if TYPE_CHECKING:
    from simulator.machine import Machine

Floats = NDArray[np.float64]
SW_THERMAL_COLUMN, HW_THERMAL_COLUMN = 1, 2  # of THROTTLE_REASONS


class Publisher:
    """Writes ``Machine.readings``. Gauges are written as they are, counters relative to their device's last boot."""

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine
        layout, fabric = machine.layout, machine.fabric
        self._ports = np.arange(fabric.ports)
        self._egress = fabric.ports + np.arange(fabric.nics)
        self._feeder = np.array([fabric.egress(p.nic) if p.nic >= 0 else p.peer_port for p in layout.ports])
        self._leaf_port = np.array([nic.port for nic in layout.nics])
        self._host_devices = np.array([layout.device_index[name] for name in layout.hosts])
        self._base: dict[tuple[str, str], Floats] = {}
        n = len(fabric.queues.rated)
        self._peaks_before = [np.zeros(n) for _ in range(3)]

    def begin_interval(self) -> None:
        """Starts new interval peaks; a reading covers the current interval and the one before."""
        q = self._machine.fabric.queues
        for kept, running in zip(self._peaks_before, (q.peak, q.ingress_peak, q.headroom_peak), strict=True):
            kept[:] = running
            running[:] = 0.0

    def restart(self, device: str) -> None:
        """All counters of a device that booted restart at 0."""
        layout = self._machine.layout
        rows = {
            "ports": layout.switch_ports.get(device),
            "nics": layout.device_nics.get(device),
            "gpus": layout.host_gpus.get(device),
            "hosts": _single(layout.hosts, device),
            "storage": _range_of([t.server for t in layout.targets], device),
        }
        for (group, name), values in self._counters().items():
            where = rows[group]
            if where is not None:
                base = self._base.setdefault((group, name), np.zeros_like(values))
                base[where.start : where.stop] = values[where.start : where.stop]

    def publish(self, now_ns: int) -> None:
        """Writes counters and gauges into the readings, as of ``now_ns``."""
        readings = self._machine.readings
        readings.now_ns = now_ns
        for (group, name), values in self._counters().items():
            base = self._base.get((group, name))
            getattr(getattr(readings, group), name)[...] = values if base is None else values - base
        self._publish_ports()
        self._publish_nics()
        self._publish_gpus()
        self._publish_rest()

    def _counters(self) -> dict[tuple[str, str], Floats]:
        """Every counter since the model began, in the shape of its reading, by group and field."""
        found = {("ports", name): values for name, values in self._port_counters().items()}
        found |= {("nics", name): values for name, values in self._nic_counters().items()}
        found |= {("gpus", name): values for name, values in self._gpu_counters().items()}
        found |= {("hosts", name): values for name, values in self._host_counters().items()}
        found |= {("storage", name): values for name, values in self._storage_counters().items()}
        return found

    def _port_counters(self) -> dict[str, Floats]:
        m = self._machine
        q, other, optics = m.fabric.queues, m.fabric.background_sent, m.optics
        here, feeder = self._ports, self._feeder
        rdma, rest = _both(q.sent, feeder, here), _both(other, feeder, here)
        lost = q.lost[feeder]
        dropped = q.dropped[here]
        return {
            "bytes": rdma + rest,
            "packets": rdma / par.PACKET_BYTES + rest / par.OTHER_PACKET_BYTES,
            "errors": np.stack([lost, np.zeros_like(lost)], axis=1),
            "fcs_errors": lost,
            "discards": np.stack([np.zeros_like(dropped), dropped / par.PACKET_BYTES], axis=1),
            "pause_frames": _by_priority(_both(q.pause_frames, here, feeder)),
            "pause_us": _by_priority(_both(q.pause_s, here, feeder) * 1e6),
            "pause_transitions": _by_priority(_both(q.pause_cycles, here, feeder)),
            "queue_bytes": _queues(q.sent[here], other[here]),
            "queue_packets": _queues(q.sent[here] / par.PACKET_BYTES, other[here] / par.OTHER_PACKET_BYTES),
            "queue_dropped_bytes": _queues(dropped),
            "queue_dropped_packets": _queues(dropped / par.PACKET_BYTES),
            "queue_ecn_packets": _queues(q.marked[here]),
            "queue_ecn_bytes": _queues(q.marked[here] * par.PACKET_BYTES),
            "fec_corrected": optics.corrected,
            "fec_uncorrectable": optics.uncorrectable,
            "fec_corrected_bits": optics.corrected_bits,
            "fec_symbol_errors": optics.symbol_errors,
            "flaps": m.links.flaps,
        }

    def _nic_counters(self) -> dict[str, Floats]:
        m = self._machine
        q, other, events = m.fabric.queues, m.fabric.background_sent, m.fabric.events
        egress, leaf = self._egress, self._leaf_port
        rdma, rest = _both(q.sent, leaf, egress), _both(other, leaf, egress)
        rdma_packets, rest_packets = rdma / par.PACKET_BYTES, rest / par.OTHER_PACKET_BYTES
        return {
            "bytes": rdma + rest,
            "packets": rdma_packets + rest_packets,
            "prio_bytes": _by_priority(rdma, rest),
            "prio_packets": _by_priority(rdma_packets, rest_packets),
            "pause_frames": _by_priority(_both(q.pause_frames, egress, leaf)),
            "pause_us": _by_priority(_both(q.pause_s, egress, leaf) * 1e6),
            "pause_transitions": _queues(q.pause_cycles[egress]),
            "cnp_sent": events[CNP_SENT],
            "cnp_handled": events[CNP_HANDLED],
            "ecn_marked": events[CE_RECEIVED],
            "out_of_sequence": events[OUT_OF_SEQUENCE],
            "sequence_errors": events[SEQUENCE_ERRORS],
            "ack_timeouts": m.fabric.timeouts,
            "errors": q.lost[leaf],
            "flaps": m.links.nic_flaps,
        }

    def _gpu_counters(self) -> dict[str, Floats]:
        g = self._machine.gpus
        throttle = np.zeros_like(self._machine.readings.gpus.throttle_ns)
        throttle[:, SW_THERMAL_COLUMN : HW_THERMAL_COLUMN + 1] = g.thermal_ns
        return {"energy_joules": g.joules, "throttle_ns": throttle, "pcie_replays": g.pcie_replays}

    def _host_counters(self) -> dict[str, Floats]:
        h, s = self._machine.hosts, self._machine.storage
        return {
            "cpu_idle_s": h.idle_s,
            "cpu_busy_s": h.busy_s,
            "disk_read_bytes": h.read,
            "disk_written_bytes": h.written,
            "disk_reads": h.reads,
            "disk_writes": h.writes,
            "disk_io_s": h.io_s,
            "lustre_read_bytes": s.host_bytes[READ],
            "lustre_written_bytes": s.host_bytes[WRITE],
            "lustre_reads": s.host_bytes[READ] / RPC_BYTES,
            "lustre_writes": s.host_bytes[WRITE] / RPC_BYTES,
            "lustre_read_s": s.host_seconds[READ],
            "lustre_write_s": s.host_seconds[WRITE],
        }

    def _storage_counters(self) -> dict[str, Floats]:
        s = self._machine.storage
        return {
            "read_bytes": s.target_bytes[READ],
            "written_bytes": s.target_bytes[WRITE],
            "reads": s.target_bytes[READ] / RPC_BYTES,
            "writes": s.target_bytes[WRITE] / RPC_BYTES,
            "read_s": s.target_seconds[READ],
            "write_s": s.target_seconds[WRITE],
        }

    def _publish_ports(self) -> None:
        m, r = self._machine, self._machine.readings.ports
        q, optics, here, feeder = m.fabric.queues, m.optics, self._ports, self._feeder
        peak, ingress, headroom = self._peaks_before
        r.queue_occupancy[:, LOSSLESS] = (q.content + q.burst)[here]
        r.queue_peak[:, LOSSLESS] = np.maximum(q.peak, peak)[here]
        r.pg_occupancy_peak[:, LOSSLESS] = np.maximum(q.ingress_peak, ingress)[feeder]
        r.pg_headroom_peak[:, LOSSLESS] = np.maximum(q.headroom_peak, headroom)[feeder]
        r.ber[...] = optics.ber
        r.up[...] = m.links.port_up
        r.last_change_ns[...] = m.links.changed_ns
        r.speed[...] = q.rated[here] * m.links.speed_factor * 8
        r.rx_power_dbm[...] = optics.received_dbm
        r.tx_power_dbm[...] = optics.sent_dbm
        r.bias_amperes[...] = optics.bias
        r.module_celsius[...] = optics.celsius
        r.module_volts[...] = 3.3

    def _publish_nics(self) -> None:
        m, r = self._machine, self._machine.readings.nics
        r.pcie_stalled_ratio[...] = m.stalled_recently
        r.up[...] = m.links.nic_up
        r.speed[...] = m.fabric.queues.rated[self._egress] * m.links.speed_factor[self._leaf_port] * 8

    def _publish_gpus(self) -> None:
        g, r = self._machine.gpus, self._machine.readings.gpus
        part = g.activity
        r.utilization[...] = part @ gpu.UTILIZATION
        r.sm_active[...] = part @ gpu.SM_ACTIVE
        r.sm_occupancy[...] = r.sm_active * 0.45
        r.tensor_active[...] = part @ gpu.TENSOR
        r.dram_active[...] = part @ gpu.DRAM
        r.memory_copy[...] = r.dram_active * 0.9
        r.power_watts[...] = g.watts
        r.power_limit_watts[...] = gpu.POWER_LIMIT_WATTS
        r.celsius[...] = g.celsius
        r.memory_celsius[...] = g.celsius + 4.0 + 14.0 * r.dram_active
        r.sm_clock_hertz[...] = g.hertz
        r.memory_clock_hertz[...] = gpu.MEMORY_HERTZ
        r.framebuffer_used[...] = np.maximum(g.framebuffer, 4e6)
        r.framebuffer_reserved[...] = gpu.RESERVED
        r.framebuffer_free[...] = gpu.FRAMEBUFFER - gpu.RESERVED - r.framebuffer_used
        r.xid_last[...] = g.xid
        hot = np.where(g.slowed_by_heat, SW_THERMAL, 0) | np.where(g.celsius > gpu.HW_SLOWDOWN_C, HW_THERMAL, 0)
        r.throttle_mask[...] = hot | np.where(g.hertz == gpu.IDLE_HERTZ, IDLE, 0)
        r.ecc[...], r.remapped_rows[...] = g.bit_errors, g.remapped_rows
        r.nvlink_rate[...] = (part @ gpu.NVLINK_BYTES_PER_S)[:, None]
        r.pcie_rate[...] = (part @ gpu.PCIE_BYTES_PER_S)[:, None]
        r.present[...] = g.present

    def _publish_rest(self) -> None:
        m, r = self._machine, self._machine.readings
        r.hosts.load1[...] = m.hosts.load
        r.hosts.memory_total[...] = host.MEMORY_BYTES
        r.hosts.memory_available[...] = m.hosts.available
        r.hosts.power_watts[...] = m.hosts.watts
        r.hosts.inlet_celsius[...] = m.hosts.inlet
        r.hosts.boot_s[...] = m.boot_ns[self._host_devices] / 1e9
        r.storage.capacity[...] = CAPACITY_BYTES
        r.storage.used[...] = m.storage.used
        r.storage.queue_depth[...] = m.storage.depth
        r.devices.boot_ns[...] = m.boot_ns
        r.devices.reachable[...] = m.links.device_on
        server_on = [m.links.device_on[m.layout.device_index[t.server]] for t in m.layout.targets]
        r.storage.up[...] = server_on
        r.jobs[:] = [job.record for job in m.jobs.running]


def _both(values: Floats, received: NDArray[np.int64], sent: NDArray[np.int64]) -> Floats:
    """[n, 2]: the value of one queue in column RX, of another in column TX."""
    found = np.empty((len(sent), 2))
    found[:, RX] = values[received]
    found[:, TX] = values[sent]
    return found


def _by_priority(rdma: Floats, rest: Floats | None = None) -> Floats:
    found = np.zeros((len(rdma), 8, 2))
    found[:, LOSSLESS] = rdma
    if rest is not None:
        found[:, OTHER] = rest
    return found


def _queues(rdma: Floats, rest: Floats | None = None) -> Floats:
    found = np.zeros((len(rdma), 8))
    found[:, LOSSLESS] = rdma
    if rest is not None:
        found[:, OTHER] = rest
    return found


def _single(names: tuple[str, ...], name: str) -> range | None:
    return range(names.index(name), names.index(name) + 1) if name in names else None


def _range_of(names: list[str], name: str) -> range | None:
    return range(names.index(name), names.index(name) + names.count(name)) if name in names else None
