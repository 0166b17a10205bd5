"""From the model's totals to the readings: directions, priorities, reboots and interval peaks."""

import numpy as np
import pytest

from simulator.config import SimulatorConfig
from simulator.counters.canonical import REASON_BITS
from simulator.counters.readings import RX, THROTTLE_REASONS, TX, GpuReadings
from simulator.counters.totals import both_ways, by_priority
from simulator.fabric import parameters as par
from simulator.fabric.state import CE_RECEIVED, CNP_HANDLED, CNP_SENT
from simulator.layout import LOSSLESS, OTHER, Layout
from simulator.machine import Machine
from simulator.wiring import build_layout

CONFIG = SimulatorConfig(hosts=2, gpus_per_host=2)
LAYOUT: Layout = build_layout(CONFIG)


@pytest.fixture
def machine() -> Machine:
    return Machine(CONFIG, LAYOUT, start_ns=0)


def test_received_and_sent_come_from_the_two_queues_of_a_link() -> None:
    values = np.array([10.0, 20.0, 30.0])
    assert both_ways(values, np.array([2, 0]), np.array([0, 1])).tolist() == [[30.0, 10.0], [10.0, 20.0]]


@pytest.mark.parametrize("rest", [None, np.array([1.0, 2.0])])
def test_rdma_is_at_the_lossless_priority_and_the_rest_at_another(rest: np.ndarray | None) -> None:
    found = by_priority(np.array([5.0, 6.0]), rest)
    assert found.shape == (2, 8)
    assert found[:, LOSSLESS].tolist() == [5.0, 6.0]
    assert found[:, OTHER].tolist() == ([0.0, 0.0] if rest is None else [1.0, 2.0])
    assert found.sum() == 11.0 + (0.0 if rest is None else 3.0)


def test_priorities_keep_the_directions() -> None:
    found = by_priority(np.array([[5.0, 6.0]]))
    assert found.shape == (1, 8, 2)
    assert found[0, LOSSLESS].tolist() == [5.0, 6.0]


def test_both_ends_of_every_link_count_the_same_bytes(machine: Machine) -> None:
    queues = machine.fabric.queues
    queues.sent[:] = np.arange(len(queues.sent)) + 1.0
    machine.publish()
    ports, nics = machine.readings.ports.bytes, machine.readings.nics.bytes
    for i, port in enumerate(LAYOUT.ports):
        assert ports[i, TX] == queues.sent[i]
        peer = nics[port.nic] if port.nic >= 0 else ports[port.peer_port]
        assert (ports[i, RX], ports[i, TX]) == (peer[TX], peer[RX])


def test_packets_have_the_size_of_their_traffic(machine: Machine) -> None:
    machine.fabric.queues.sent[0] = 10 * par.PACKET_BYTES
    machine.fabric.background_sent[0] = 5 * par.OTHER_PACKET_BYTES
    machine.publish()
    ports = machine.readings.ports
    assert ports.packets[0, TX] == 15.0
    assert ports.queue_packets[0, [LOSSLESS, OTHER]].tolist() == [10.0, 5.0]
    assert ports.bytes[0, TX] == 10 * par.PACKET_BYTES + 5 * par.OTHER_PACKET_BYTES


def test_a_pause_that_a_queue_suffers_is_received_by_its_port_and_sent_by_the_far_end(machine: Machine) -> None:
    nic = 0
    port = LAYOUT.nics[nic].port
    machine.fabric.queues.pause_s[port] = 2.0  # the NIC pauses its leaf port
    machine.publish()
    ports, nics = machine.readings.ports.pause_us, machine.readings.nics.pause_us
    assert ports[port, LOSSLESS].tolist() == [2e6, 0.0]
    assert nics[nic, LOSSLESS].tolist() == [0.0, 2e6]
    assert ports.sum() == nics.sum() == 2e6


def test_bad_frames_are_counted_where_they_arrive(machine: Machine) -> None:
    port = LAYOUT.nics[1].port
    machine.fabric.queues.lost[machine.fabric.egress(1)] = 7.0
    machine.publish()
    ports = machine.readings.ports
    assert (ports.fcs_errors[port], ports.errors[port, RX], ports.errors[port, TX]) == (7.0, 7.0, 0.0)
    assert ports.fcs_errors.sum() == 7.0


def test_rdma_events_belong_to_their_nics(machine: Machine) -> None:
    machine.fabric.events[[CNP_SENT, CNP_HANDLED, CE_RECEIVED], [0, 1, 2]] = [3.0, 4.0, 5.0]
    machine.fabric.timeouts[1] = 2.0
    machine.publish()
    nics = machine.readings.nics
    assert (nics.cnp_sent[0], nics.cnp_handled[1], nics.ecn_marked[2], nics.ack_timeouts[1]) == (3.0, 4.0, 5.0, 2.0)
    assert nics.cnp_sent.sum() == 3.0


def test_thermal_throttling_is_in_its_two_columns(machine: Machine) -> None:
    machine.gpus.thermal_ns[1] = [5.0, 6.0]
    machine.publish()
    found = dict(zip(THROTTLE_REASONS, machine.readings.gpus.throttle_ns[1].tolist(), strict=True))
    assert found == {"sw_power_cap": 0, "sw_thermal": 5.0, "hw_thermal": 6.0, "sync_boost": 0, "hw_power_brake": 0}


def test_counters_of_a_device_restart_when_it_boots_and_those_of_others_do_not(machine: Machine) -> None:
    machine.fabric.queues.sent[:] = 1000.0
    machine.gpus.joules[:] = 500.0
    machine.publish()
    machine.power(["node1"], False, "lost power")
    machine.power(["node1"], True, "")
    machine.fabric.queues.sent[:] = 1300.0
    machine.gpus.joules[:] = 560.0
    machine.publish()
    readings = machine.readings
    mine, other = LAYOUT.device_nics["node1"], LAYOUT.device_nics["node2"]
    assert set(readings.nics.bytes[mine.start : mine.stop].ravel()) == {300.0}
    assert set(readings.nics.bytes[other.start : other.stop].ravel()) == {1300.0}
    assert readings.gpus.energy_joules.tolist() == [60.0, 60.0, 560.0, 560.0]
    assert set(readings.ports.bytes.ravel()) == {1300.0}, "the leaf has not booted"


def test_a_second_boot_restarts_from_the_second_boot(machine: Machine) -> None:
    port = LAYOUT.switch_ports["spine1"].start
    for sent, expected in ((100.0, 0.0), (250.0, 0.0)):
        machine.fabric.queues.sent[port] = sent
        machine.power(["spine1"], True, "")
        machine.publish()
        assert machine.readings.ports.bytes[port, TX] == expected
    machine.fabric.queues.sent[port] = 260.0
    machine.publish()
    assert machine.readings.ports.bytes[port, TX] == 10.0


def test_a_storage_server_that_boots_restarts_its_targets(machine: Machine) -> None:
    machine.storage.target_bytes[:] = 70.0
    machine.power(["oss2"], True, "")
    machine.storage.target_bytes[:] = 100.0
    machine.publish()
    assert machine.readings.storage.read_bytes.tolist() == [100.0, 100.0, 30.0, 30.0]
    assert machine.readings.storage.written_bytes.tolist() == [100.0, 100.0, 30.0, 30.0]


def test_peaks_cover_this_interval_and_the_one_before(machine: Machine) -> None:
    queues, publisher = machine.fabric.queues, machine._publisher
    found = []
    for peak in (5.0, 3.0, 0.0, 0.0):
        queues.peak[0] = peak
        machine.publish()
        found.append(machine.readings.ports.queue_peak[0, LOSSLESS])
        publisher.begin_interval()
    assert found == [5.0, 5.0, 3.0, 0.0]


def test_gauges_are_those_of_the_moment(machine: Machine) -> None:
    machine.gpus.celsius[:] = [50.0, 60.0, 70.0, 93.0]
    machine.gpus.framebuffer[:] = 66e9
    machine.gpus.xid[2] = 63.0
    machine.links.speed_factor[:] = 0.5
    machine.stalled_recently[1] = 0.25
    machine.publish()
    readings = machine.readings
    assert readings.gpus.celsius.tolist() == [50.0, 60.0, 70.0, 93.0]
    assert (readings.gpus.framebuffer_used + readings.gpus.framebuffer_free + readings.gpus.framebuffer_reserved)[
        0
    ] == 81559 * 2**20
    assert (readings.gpus.throttle_mask & 0x40).tolist() == [0, 0, 0, 0x40], "above 92 degrees: hardware slowdown"
    assert readings.gpus.xid_last.tolist() == [0.0, 0.0, 63.0, 0.0]
    assert readings.ports.speed.tolist() == [p.bits_per_second / 2 for p in LAYOUT.ports]
    assert readings.nics.pcie_stalled_ratio.tolist()[:3] == [0.0, 0.25, 0.0]


def test_readings_keep_their_arrays(machine: Machine) -> None:
    """Others hold on to them: publishing writes in place."""
    before = machine.readings.ports.bytes
    machine.fabric.queues.sent[:] = 5.0
    machine.publish()
    assert machine.readings.ports.bytes is before


def test_speeds_are_those_that_the_link_came_up_with(machine: Machine) -> None:
    port = LAYOUT.nics[1].port
    machine.links.speed_factor[port] = 0.25
    machine.publish()
    assert (machine.readings.ports.speed[port], machine.readings.nics.speed[1]) == (100e9, 100e9)
    assert machine.readings.nics.speed[0] == 400e9


def test_the_queue_of_a_port_is_its_content_and_its_bursts(machine: Machine) -> None:
    machine.fabric.queues.content[0], machine.fabric.queues.burst[0] = 3e6, 2e5
    machine.publish()
    assert machine.readings.ports.queue_occupancy[0, [LOSSLESS, OTHER]].tolist() == [3.2e6, 0.0]


def test_ratios_of_a_gpu_follow_from_what_it_does(machine: Machine) -> None:
    machine.gpus.activity[0] = [0.0, 0.5, 0.25, 0.25, 0.0]  # computes, spins, waits
    machine.gpus.celsius[0] = 60.0
    machine.publish()
    found = {name: getattr(machine.readings.gpus, name)[0] for name in GpuReadings.__slots__}
    sm_active, dram = 0.5 * 0.86 + 0.25 * 0.13, 0.5 * 0.44 + 0.25 * 0.07 + 0.25 * 0.01
    expected = {
        "utilization": 0.5 + 0.25 + 0.25 * 0.02,
        "sm_active": sm_active,
        "sm_occupancy": 0.45 * sm_active,
        "tensor_active": 0.5 * 0.56,
        "dram_active": dram,
        "memory_copy": 0.9 * dram,
        "memory_celsius": 64.0 + 14.0 * dram,
        "nvlink_rate": [0.5 * 95e9 + 0.25 * 30e9] * 2,
        "pcie_rate": [0.5 * 1.5e9 + 0.25 * 0.3e9 + 0.25 * 0.2e9] * 2,
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value), name


@pytest.mark.parametrize(
    ("hertz", "thermal", "celsius", "reasons"),
    [
        (345e6, 1.0, 40.0, {"idle"}),
        (1980e6, 1.0, 80.0, set()),
        (1980e6, 0.996, 80.0, set()),  # less than half a percent does not count
        (1500e6, 0.75, 88.0, {"sw_thermal"}),
        (1500e6, 0.75, 92.5, {"sw_thermal", "hw_thermal"}),
    ],
)
def test_clock_reasons_are_bits(
    machine: Machine, hertz: float, thermal: float, celsius: float, reasons: set[str]
) -> None:
    machine.gpus.hertz[2], machine.gpus.thermal[2], machine.gpus.celsius[2] = hertz, thermal, celsius
    machine.publish()
    mask = int(machine.readings.gpus.throttle_mask[2])
    assert {name for name, bit in REASON_BITS.items() if mask & bit} == reasons


def test_operations_are_remote_calls_of_a_mebibyte(machine: Machine) -> None:
    storage = machine.storage
    storage.host_bytes[:] = [[2 * 2.0**20, 0.0], [0.0, 6 * 2.0**20]]
    storage.target_bytes[1] = [0.0, 2.0**20, 0.0, 0.0]
    machine.publish()
    hosts, targets = machine.readings.hosts, machine.readings.storage
    assert (hosts.lustre_reads.tolist(), hosts.lustre_writes.tolist()) == ([2.0, 0.0], [0.0, 6.0])
    assert (targets.reads.sum(), targets.writes.tolist()) == (0.0, [0.0, 1.0, 0.0, 0.0])


def test_packets_of_a_nic_are_of_the_sizes_of_their_priorities(machine: Machine) -> None:
    egress = machine.fabric.egress(0)
    machine.fabric.queues.sent[egress] = 8 * par.PACKET_BYTES
    machine.fabric.background_sent[egress] = 4 * par.OTHER_PACKET_BYTES
    machine.publish()
    nics = machine.readings.nics
    assert nics.prio_packets[0, [LOSSLESS, OTHER], TX].tolist() == [8.0, 4.0]
    assert nics.packets[0].tolist() == [0.0, 12.0]
