"""All counters and gauges of the simulated cluster as arrays: what the model counts and the servers serve.

The model updates the arrays in place during ``SimulatedCluster.advance``; read them between two calls, in the same
thread.
Positions are those of ``simulator.layout.Layout``: P ports, N NICs, G GPUs, H hosts, S storage servers, T storage
targets, D devices, E endpoints. Second axes: 8 priorities (= queues = priority groups), 2 directions (``RX``, ``TX``).
Counters are float64 and only grow until their device restarts; serve whole numbers (floor). Direction is always seen
from the port that counts: pause ``RX`` means that the peer asked this port to stop.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.compute.record import RunningJob
from simulator.fabric.state import Flags, Floats, Ints
from simulator.layout import PRIORITIES, Layout

RX, TX = 0, 1
PRE_FEC, POST_FEC = 0, 1
LANES = 4

# NVML clocks event reasons (bitmask), and the columns of ``GpuReadings.throttle_ns``.
IDLE, SW_POWER_CAP, HW_SLOWDOWN, SYNC_BOOST, SW_THERMAL, HW_THERMAL = 0x1, 0x4, 0x8, 0x10, 0x20, 0x40
HW_POWER_BRAKE = 0x80
THROTTLE_REASONS = ("sw_power_cap", "sw_thermal", "hw_thermal", "sync_boost", "hw_power_brake")

# Columns of ``NicReadings.discards``.
DISCARD_KINDS = ("phy", "prio3_buffer", "out_of_buffer")


@dataclass(frozen=True, slots=True)
class PortReadings:
    """Switch ports. Counters restart at 0 when the switch reboots.

    bytes, packets, errors, discards: [P, 2] by direction; errors RX are FCS errors (also in ``fcs_errors`` [P]).
    pause_frames, pause_us, pause_transitions: [P, 8, 2]; PFC frames, µs of pause in force, on→off changes.
    queue_packets, queue_bytes, queue_dropped_packets, queue_dropped_bytes, queue_ecn_packets, queue_ecn_bytes: [P, 8]
        egress counters.
    queue_occupancy, queue_peak: [P, 8] bytes now, and the most since the last interval began.
    pg_occupancy_peak, pg_headroom_peak: [P, 8] ingress priority group: most shared and headroom bytes in the interval.
    pg_dropped_packets: [P, 8].
    fec_corrected, fec_uncorrectable: [P] codewords; fec_corrected_bits, fec_symbol_errors: [P].
    ber: [P, 2] bit error ratio before and after FEC (``PRE_FEC``, ``POST_FEC``), now.
    up: [P] oper status; admin is always up. daemon_down: [P] no BGP session, as the routing daemon at an end is down.
    flaps: [P] carrier transitions. last_change_ns: [P].
    speed: [P] bits per second now (the rating is in the layout).
    rx_power_dbm, tx_power_dbm, bias_amperes: [P, 4] per lane; -40 dBm is no light. module_celsius, module_volts: [P].
    """

    bytes: Floats
    packets: Floats
    errors: Floats
    fcs_errors: Floats
    discards: Floats
    pause_frames: Floats
    pause_us: Floats
    pause_transitions: Floats
    queue_packets: Floats
    queue_bytes: Floats
    queue_dropped_packets: Floats
    queue_dropped_bytes: Floats
    queue_ecn_packets: Floats
    queue_ecn_bytes: Floats
    queue_occupancy: Floats
    queue_peak: Floats
    pg_occupancy_peak: Floats
    pg_headroom_peak: Floats
    pg_dropped_packets: Floats
    fec_corrected: Floats
    fec_uncorrectable: Floats
    fec_corrected_bits: Floats
    fec_symbol_errors: Floats
    ber: Floats
    up: Flags
    daemon_down: Flags
    flaps: Floats
    last_change_ns: Ints
    speed: Floats
    rx_power_dbm: Floats
    tx_power_dbm: Floats
    bias_amperes: Floats
    module_celsius: Floats
    module_volts: Floats


@dataclass(frozen=True, slots=True)
class NicReadings:
    """Host and storage server NICs. Counters restart at 0 when the host reboots.

    bytes, packets: [N, 2]; prio_bytes, prio_packets: [N, 8, 2].
    pause_frames, pause_us: [N, 8, 2]; pause_transitions: [N, 8] of received pause. global_pause: [N, 2] 802.3x frames.
    cnp_sent (as receiver of marked packets), cnp_handled (as sender), ecn_marked (received CE): [N].
    out_of_sequence, sequence_errors, ack_timeouts, adaptive_retransmits, rnr_retries: [N].
    discards: [N, 3] by ``DISCARD_KINDS``. errors: [N] received with bad FCS or symbol errors.
    pcie_stalled_ratio: [N] part of the last second that PCIe back-pressure stalled reception, 0..1.
    up: [N]; speed: [N] bits per second now; flaps: [N] carrier changes.
    """

    bytes: Floats
    packets: Floats
    prio_bytes: Floats
    prio_packets: Floats
    pause_frames: Floats
    pause_us: Floats
    pause_transitions: Floats
    global_pause: Floats
    cnp_sent: Floats
    cnp_handled: Floats
    ecn_marked: Floats
    out_of_sequence: Floats
    sequence_errors: Floats
    ack_timeouts: Floats
    adaptive_retransmits: Floats
    rnr_retries: Floats
    discards: Floats
    errors: Floats
    pcie_stalled_ratio: Floats
    up: Flags
    speed: Floats
    flaps: Floats


@dataclass(frozen=True, slots=True)
class GpuReadings:
    """GPUs. All [G] unless noted. Ratios are averages over about the last second, as DCGM's profiling fields are.

    utilization, sm_active, sm_occupancy, tensor_active, dram_active, memory_copy: 0..1.
    power_watts, power_limit_watts, celsius, memory_celsius, sm_clock_hertz, memory_clock_hertz: now.
    energy_joules: counter since the driver was loaded. framebuffer_used, _free, _reserved: bytes.
    xid_last: last XID code, 0 none. throttle_ns: [G, 5] counter by ``THROTTLE_REASONS``.
    throttle_mask: clocks event reasons now (bits above).
    ecc: [G, 2] corrected, uncorrected (volatile). remapped_rows: [G, 2] correctable, uncorrectable. remap_failed: 0/1.
    pcie_replays: counter. pcie_rate: [G, 2] bytes per second RX, TX; nvlink_rate: [G, 2] bytes per second RX, TX.
    present: False once the GPU has fallen off the bus: its series vanish.
    """

    utilization: Floats
    sm_active: Floats
    sm_occupancy: Floats
    tensor_active: Floats
    dram_active: Floats
    memory_copy: Floats
    power_watts: Floats
    power_limit_watts: Floats
    celsius: Floats
    memory_celsius: Floats
    sm_clock_hertz: Floats
    memory_clock_hertz: Floats
    energy_joules: Floats
    framebuffer_used: Floats
    framebuffer_free: Floats
    framebuffer_reserved: Floats
    xid_last: Floats
    throttle_ns: Floats
    throttle_mask: Ints
    ecc: Floats
    remapped_rows: Floats
    remap_failed: Floats
    pcie_replays: Floats
    pcie_rate: Floats
    nvlink_rate: Floats
    present: Flags


@dataclass(frozen=True, slots=True)
class HostReadings:
    """Compute hosts, all [H].

    load1, cpu_idle_s, cpu_busy_s (counters over all cores), memory_total, memory_available bytes;
    power_watts, inlet_celsius; boot_s: Unix time of the last boot.
    disk_*: the local NVMe (counters). lustre_*: this client's traffic with the file system (counters; time in seconds).
    """

    load1: Floats
    cpu_idle_s: Floats
    cpu_busy_s: Floats
    memory_total: Floats
    memory_available: Floats
    power_watts: Floats
    inlet_celsius: Floats
    boot_s: Floats
    disk_read_bytes: Floats
    disk_written_bytes: Floats
    disk_reads: Floats
    disk_writes: Floats
    disk_io_s: Floats
    lustre_read_bytes: Floats
    lustre_written_bytes: Floats
    lustre_reads: Floats
    lustre_writes: Floats


@dataclass(frozen=True, slots=True)
class StorageReadings:
    """Storage targets, all [T]; counters restart when their server does.

    reads, writes: operations (1 MiB RPCs); read_s, write_s: sum of their service times (queueing included), seconds.
    capacity, used: bytes. queue_depth: RPCs waiting or in service now. up: 0/1.
    """

    read_bytes: Floats
    written_bytes: Floats
    reads: Floats
    writes: Floats
    read_s: Floats
    write_s: Floats
    capacity: Floats
    used: Floats
    queue_depth: Floats
    up: Flags


@dataclass(frozen=True, slots=True)
class DeviceReadings:
    """boot_ns: [D] event time of the last boot. reachable: [D] answers on the network (not when off or booting)."""

    boot_ns: Ints
    reachable: Flags


@dataclass(slots=True)
class Readings:
    """All readings as of ``now_ns``, event time. frozen: [E] exporters that repeat their last page. jobs: running."""

    now_ns: int
    ports: PortReadings
    nics: NicReadings
    gpus: GpuReadings
    hosts: HostReadings
    storage: StorageReadings
    devices: DeviceReadings
    frozen: Flags
    jobs: list[RunningJob] = field(default_factory=list)


# Shape beyond the first axis of the fields that have one.
_SHAPES: dict[type, dict[str, tuple[int, ...]]] = {
    PortReadings: {
        **dict.fromkeys(("bytes", "packets", "errors", "discards", "ber"), (2,)),
        **dict.fromkeys(("pause_frames", "pause_us", "pause_transitions"), (PRIORITIES, 2)),
        **dict.fromkeys(
            ("queue_packets", "queue_bytes", "queue_dropped_packets", "queue_dropped_bytes"), (PRIORITIES,)
        ),
        **dict.fromkeys(("queue_ecn_packets", "queue_ecn_bytes", "queue_occupancy", "queue_peak"), (PRIORITIES,)),
        **dict.fromkeys(("pg_occupancy_peak", "pg_headroom_peak", "pg_dropped_packets"), (PRIORITIES,)),
        **dict.fromkeys(("rx_power_dbm", "tx_power_dbm", "bias_amperes"), (LANES,)),
    },
    NicReadings: {
        **dict.fromkeys(("bytes", "packets", "global_pause"), (2,)),
        **dict.fromkeys(("prio_bytes", "prio_packets", "pause_frames", "pause_us"), (PRIORITIES, 2)),
        "pause_transitions": (PRIORITIES,),
        "discards": (len(DISCARD_KINDS),),
    },
    GpuReadings: {
        "throttle_ns": (len(THROTTLE_REASONS),),
        **dict.fromkeys(("ecc", "remapped_rows", "pcie_rate", "nvlink_rate"), (2,)),
    },
}
_TYPES: dict[str, type] = {
    **dict.fromkeys(("up", "daemon_down", "present", "reachable"), np.bool_),
    **dict.fromkeys(("last_change_ns", "throttle_mask", "boot_ns"), np.int64),
}


def _arrays(of: type, rows: int) -> dict[str, NDArray[np.generic]]:
    shapes = _SHAPES.get(of, {})
    return {
        name: np.zeros((rows, *shapes.get(name, ())), dtype=_TYPES.get(name, np.float64))
        for name in of.__dataclass_fields__  # type: ignore[attr-defined]  # only called with dataclasses
    }


def blank_readings(layout: Layout, now_ns: int) -> Readings:
    """Zeros of the right shapes; ``up``, ``present`` and ``reachable`` are False until the first ``publish``."""

    return Readings(
        now_ns=now_ns,
        ports=PortReadings(**_arrays(PortReadings, len(layout.ports))),  # type: ignore[arg-type]  # dtypes are per field
        nics=NicReadings(**_arrays(NicReadings, len(layout.nics))),  # type: ignore[arg-type]
        gpus=GpuReadings(**_arrays(GpuReadings, len(layout.gpus))),  # type: ignore[arg-type]
        hosts=HostReadings(**_arrays(HostReadings, len(layout.hosts))),  # type: ignore[arg-type]
        storage=StorageReadings(**_arrays(StorageReadings, len(layout.targets))),  # type: ignore[arg-type]
        devices=DeviceReadings(**_arrays(DeviceReadings, len(layout.devices))),  # type: ignore[arg-type]
        frozen=np.zeros(len(layout.endpoints), dtype=np.bool_),
    )
