"""The readings under their canonical names: the series that collectors get from the served pages and paths.

A ``Column`` is one series of every port, NIC, GPU, host or storage target. Columns differ by source as the served data
do: SONiC leaves have watermarks and queue depths, spines with Arista's paths do not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simulator.counters.port_values import PORT, OfPort, Values, lane_values, priority_values, scaled
from simulator.counters.readings import (
    DISCARD_KINDS,
    LANES,
    RX,
    THROTTLE_REASONS,
    TX,
    GpuReadings,
    HostReadings,
    NicReadings,
    Readings,
    StorageReadings,
)
from simulator.layout import LOSSLESS, OTHER, PRIORITIES

# gpu_throttle_active by bit of the clocks event reasons.
REASON_BITS = {"idle": 0x1, "sw_power_cap": 0x4, "sync_boost": 0x10, "sw_thermal": 0x20, "hw_thermal": 0x40}


@dataclass(frozen=True, slots=True)
class Column:
    """labels: besides device and the unit's own (port, gpu, target). of: the values of all units, in layout order."""

    metric: str
    of: Callable[[Readings], Values]
    labels: tuple[tuple[str, str], ...] = ()


def _port(metric: str, of: OfPort, **labels: str) -> Column:
    return Column(metric, lambda r: of(r.ports), tuple(labels.items()))


def _both_ways(metric: str, values: dict[str, OfPort], name: str, **labels: str) -> list[Column]:
    return [_port(metric, values[f"{direction}_{name}"], direction=direction, **labels) for direction in ("rx", "tx")]


def _port_columns() -> list[Column]:
    return [
        _port("fabric_port_receive_bytes_total", PORT["rx_bytes"]),
        _port("fabric_port_transmit_bytes_total", PORT["tx_bytes"]),
        *_both_ways("fabric_port_packets_total", PORT, "packets", cast="unicast"),
        *_both_ways("fabric_port_errors_total", PORT, "errors"),
        *_both_ways("fabric_port_discards_total", PORT, "discards"),
        _port("fabric_port_fcs_errors_total", PORT["fcs_errors"]),
        _port("fabric_port_fec_corrected_codewords_total", PORT["fec_corrected"]),
        _port("fabric_port_fec_uncorrectable_codewords_total", PORT["fec_uncorrectable"]),
        _port("fabric_port_bit_error_ratio", PORT["pre_fec_ber"], stage="pre_fec"),
        _port("fabric_port_bit_error_ratio", PORT["post_fec_ber"], stage="post_fec"),
        _port("fabric_port_up", PORT["up"]),
        _port("fabric_port_flaps_total", PORT["flaps"]),
        _port("fabric_port_speed_bits_per_second", PORT["speed"]),
        _port("fabric_transceiver_temperature_celsius", PORT["module_celsius"]),
        _port("fabric_transceiver_volts", PORT["module_volts"]),
        *(column for lane in range(LANES) for column in _lane(lane)),
        *(column for priority in range(PRIORITIES) for column in _priority(priority)),
    ]


def _lane(lane: int) -> list[Column]:
    label, values = str(lane), lane_values(lane)
    return [
        *_both_ways("fabric_port_optical_power_dbm", values, "power", lane=label),
        _port("fabric_port_laser_bias_amperes", values["bias"], lane=label),
    ]


def _priority(k: int) -> list[Column]:
    label, values = str(k), priority_values(k)
    return [
        *_both_ways("fabric_port_pfc_pause_frames_total", values, "pause_frames", priority=label),
        _port("fabric_queue_transmit_bytes_total", values["queue_bytes"], queue=label),
        _port("fabric_queue_transmit_packets_total", values["queue_packets"], queue=label),
        _port("fabric_queue_dropped_bytes_total", values["queue_dropped_bytes"], queue=label),
        _port("fabric_queue_dropped_packets_total", values["queue_dropped_packets"], queue=label),
        _port("fabric_queue_ecn_marked_packets_total", values["queue_ecn_packets"], queue=label),
    ]


def _pause_time(k: int) -> list[Column]:
    """Only the received side has a clock, on either kind of switch."""
    labels, values = {"priority": str(k), "direction": "rx"}, priority_values(k)
    return [
        _port("fabric_port_pfc_pause_seconds_total", scaled(values["rx_pause_us"], 1e-6), **labels),
        _port("fabric_port_pfc_transitions_total", values["rx_pause_transitions"], **labels),
    ]


def _sonic_only() -> list[Column]:
    found = [
        *_pause_time(LOSSLESS),
        _port("fabric_port_fec_corrected_bits_total", PORT["fec_corrected_bits"]),
        _port("fabric_port_fec_symbol_errors_total", PORT["fec_symbol_errors"]),
        _port("fabric_queue_occupancy_bytes", priority_values(LOSSLESS)["queue_occupancy"], queue=str(LOSSLESS)),
    ]
    return [*found, *(column for k in range(PRIORITIES) for column in _sonic_priority(k))]


def _sonic_priority(k: int) -> list[Column]:
    values, queue, pg = priority_values(k), {"queue": str(k)}, {"pg": str(k), "reset": "interval"}
    return [
        _port("fabric_queue_ecn_marked_bytes_total", values["queue_ecn_bytes"], **queue),
        _port("fabric_queue_occupancy_peak_bytes", values["queue_peak"], reset="interval", **queue),
        _port("fabric_pg_occupancy_peak_bytes", values["pg_occupancy_peak"], **pg),
        _port("fabric_pg_headroom_peak_bytes", values["pg_headroom_peak"], **pg),
    ]


def _arista_only() -> list[Column]:
    found = [column for k in range(PRIORITIES) for column in _pause_time(k)]
    peak = {"queue": str(LOSSLESS), "reset": "read"}
    return [*found, _port("fabric_queue_occupancy_peak_bytes", priority_values(LOSSLESS)["queue_peak"], **peak)]


def _nic(metric: str, of: Callable[[NicReadings], Values], **labels: str) -> Column:
    return Column(metric, lambda r: of(r.nics), tuple(labels.items()))


def _nic_columns() -> list[Column]:
    found = [
        _nic("nic_up", lambda n: n.up),
        _nic("nic_flaps_total", lambda n: n.flaps),
        _nic("nic_speed_bits_per_second", lambda n: n.speed),
        _nic("nic_pfc_transitions_total", lambda n: n.pause_transitions[:, LOSSLESS], priority="3", direction="rx"),
        _nic("nic_discards_total", lambda n: n.discards[:, DISCARD_KINDS.index("phy")], kind="phy"),
        _nic("nic_pcie_stalled_ratio", lambda n: n.pcie_stalled_ratio, op="wr"),
        _nic("rdma_cnp_sent_total", lambda n: n.cnp_sent),
        _nic("rdma_cnp_handled_total", lambda n: n.cnp_handled),
        _nic("rdma_ecn_marked_packets_received_total", lambda n: n.ecn_marked),
        _nic("rdma_out_of_sequence_total", lambda n: n.out_of_sequence),
        _nic("rdma_packet_sequence_errors_total", lambda n: n.sequence_errors),
        _nic("rdma_ack_timeouts_total", lambda n: n.ack_timeouts),
        _nic("nic_receive_bytes_total", lambda n: n.prio_bytes[:, OTHER, RX]),
        _nic("nic_transmit_bytes_total", lambda n: n.prio_bytes[:, OTHER, TX]),
        _nic("ib_port_receive_bytes_total", lambda n: n.prio_bytes[:, LOSSLESS, RX]),
        _nic("ib_port_transmit_bytes_total", lambda n: n.prio_bytes[:, LOSSLESS, TX]),
        _nic("ib_port_receive_errors_total", lambda n: n.errors),
    ]
    return [*found, *_nic_direction("rx", RX), *_nic_direction("tx", TX)]


def _nic_direction(name: str, way: int) -> list[Column]:
    labels = {"priority": str(LOSSLESS), "direction": name}
    return [
        _nic("nic_pfc_pause_frames_total", lambda n: n.pause_frames[:, LOSSLESS, way], **labels),
        _nic("nic_pfc_pause_seconds_total", lambda n: n.pause_us[:, LOSSLESS, way] * 1e-6, **labels),
        _nic("nic_priority_bytes_total", lambda n: n.prio_bytes[:, LOSSLESS, way], **labels),
        _nic("nic_priority_packets_total", lambda n: n.prio_packets[:, LOSSLESS, way], **labels),
    ]


def _gpu(metric: str, of: Callable[[GpuReadings], Values], **labels: str) -> Column:
    return Column(metric, lambda r: of(r.gpus), tuple(labels.items()))


def _gpu_columns() -> list[Column]:
    return [
        _gpu("gpu_temperature_celsius", lambda g: g.celsius),
        _gpu("gpu_memory_temperature_celsius", lambda g: g.memory_celsius),
        _gpu("gpu_power_watts", lambda g: g.power_watts),
        _gpu("gpu_power_limit_watts", lambda g: g.power_limit_watts),
        _gpu("gpu_energy_joules_total", lambda g: g.energy_joules),
        _gpu("gpu_sm_clock_hertz", lambda g: g.sm_clock_hertz),
        _gpu("gpu_memory_clock_hertz", lambda g: g.memory_clock_hertz),
        _gpu("gpu_utilization_ratio", lambda g: g.utilization),
        _gpu("gpu_memory_copy_utilization_ratio", lambda g: g.memory_copy),
        _gpu("gpu_engine_active_ratio", lambda g: g.utilization),
        _gpu("gpu_sm_active_ratio", lambda g: g.sm_active),
        _gpu("gpu_sm_occupancy_ratio", lambda g: g.sm_occupancy),
        _gpu("gpu_tensor_active_ratio", lambda g: g.tensor_active),
        _gpu("gpu_memory_bandwidth_active_ratio", lambda g: g.dram_active),
        _gpu("gpu_memory_used_bytes", lambda g: g.framebuffer_used),
        _gpu("gpu_memory_free_bytes", lambda g: g.framebuffer_free),
        _gpu("gpu_pcie_replays_total", lambda g: g.pcie_replays),
        _gpu("gpu_xid_last", lambda g: g.xid_last),
        _gpu("gpu_ecc_errors_total", lambda g: g.ecc[:, 0], severity="correctable", persistence="volatile"),
        _gpu("gpu_ecc_errors_total", lambda g: g.ecc[:, 1], severity="uncorrectable", persistence="volatile"),
        _gpu("gpu_remapped_rows_total", lambda g: g.remapped_rows[:, 0], cause="correctable"),
        _gpu("gpu_remapped_rows_total", lambda g: g.remapped_rows[:, 1], cause="uncorrectable"),
        _gpu("gpu_row_remap_failed", lambda g: g.remap_failed),
        _gpu("gpu_nvlink_bytes_per_second", lambda g: g.nvlink_rate[:, RX], direction="rx"),
        _gpu("gpu_nvlink_bytes_per_second", lambda g: g.nvlink_rate[:, TX], direction="tx"),
        *map(_throttle_time, THROTTLE_REASONS),
        *map(_throttle_active, REASON_BITS),
    ]


def _throttle_time(reason: str) -> Column:
    k = THROTTLE_REASONS.index(reason)
    return _gpu("gpu_throttle_seconds_total", lambda g: g.throttle_ns[:, k] * 1e-9, reason=reason)


def _throttle_active(reason: str) -> Column:
    bit = REASON_BITS[reason]
    return _gpu("gpu_throttle_active", lambda g: (g.throttle_mask & bit) > 0, reason=reason)


def _host(metric: str, of: Callable[[HostReadings], Values]) -> Column:
    return Column(metric, lambda r: of(r.hosts))


def _storage(metric: str, of: Callable[[StorageReadings], Values], **labels: str) -> Column:
    return Column(metric, lambda r: of(r.storage), tuple(labels.items()))


SONIC = (*_port_columns(), *_sonic_only())
ARISTA = (*_port_columns(), *_arista_only())
SESSIONS = (_port("fabric_bgp_session_up", PORT["session_up"]),)
NICS = tuple(_nic_columns())
GPUS = tuple(_gpu_columns())
HOSTS = (
    _host("node_boot_time_seconds", lambda h: h.boot_s),
    _host("node_load_1m", lambda h: h.load1),
    _host("node_memory_total_bytes", lambda h: h.memory_total),
    _host("node_memory_available_bytes", lambda h: h.memory_available),
)
STORAGE = (
    _storage("storage_read_bytes_total", lambda s: s.read_bytes),
    _storage("storage_written_bytes_total", lambda s: s.written_bytes),
    _storage("storage_operations_total", lambda s: s.reads, op="read"),
    _storage("storage_operations_total", lambda s: s.writes, op="write"),
    _storage("storage_operation_duration_seconds_sum", lambda s: s.read_s, op="read"),
    _storage("storage_operation_duration_seconds_sum", lambda s: s.write_s, op="write"),
    _storage("storage_operation_duration_seconds_count", lambda s: s.reads, op="read"),
    _storage("storage_operation_duration_seconds_count", lambda s: s.writes, op="write"),
    _storage("storage_capacity_bytes", lambda s: s.capacity),
    _storage("storage_available_bytes", lambda s: s.capacity - s.used),
)
