"""Each fault has the effects that it has on a real cluster, and its ground truth names the root."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.counters.readings import RX, TX
from simulator.faults.schedule import parse_fault
from simulator.layout import LOSSLESS, Exporter
from telemetry.changes import ChangeKind
from telemetry.incidents import IncidentKind
from telemetry.objects import gpu

CONFIG = SimulatorConfig(hosts=8, step_ms=20)


def broken(fault: str, seconds: float = 60.0, config: SimulatorConfig = CONFIG) -> SimulatedCluster:
    cluster = SimulatedCluster(config, start_ns=0)
    cluster.inject(parse_fault(fault))
    cluster.advance(int(seconds * NS_PER_S))
    return cluster


def port_of(cluster: SimulatedCluster, device: str, nic: str) -> int:
    return cluster.layout.nics[cluster.layout.nic_index[device, nic]].port


def iterations(cluster: SimulatedCluster, node: str) -> int:
    return next(job.iterations for job in cluster.jobs if node in job.nodes)


@pytest.fixture(scope="module")
def healthy() -> SimulatedCluster:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    cluster.advance(60 * NS_PER_S)
    return cluster


@pytest.fixture(scope="module")
def slow_receiver() -> SimulatedCluster:
    return broken("slow-receiver@20s:node3/mlx5_2")


def test_slow_receiver_pauses_its_leaf_and_the_pause_spreads(slow_receiver: SimulatedCluster) -> None:
    layout, ports = slow_receiver.layout, slow_receiver.readings.ports
    root = port_of(slow_receiver, "node3", "mlx5_2")
    received = ports.pause_us[:, LOSSLESS, RX]
    facing_hosts = [i for i, p in enumerate(layout.ports) if p.nic >= 0]
    assert received[root] > 5e6
    assert all(received[i] == 0.0 for i in facing_hosts if i != root), "only the broken host sends pause"
    spines = [i for i, p in enumerate(layout.ports) if p.device in layout.spines]
    assert max(received[spines]) > 1e6
    senders = slow_receiver.readings.nics.pause_us[:, LOSSLESS, RX]
    remote = {layout.nics[i].device for i in np.flatnonzero(senders > 1e6)}
    assert remote
    assert "node3" not in remote
    assert str(slow_receiver.truth[0].root) == f"port:{layout.ports[root].device}/{layout.ports[root].name}"


def test_pause_that_one_end_sends_the_other_end_receives(slow_receiver: SimulatedCluster) -> None:
    layout, readings = slow_receiver.layout, slow_receiver.readings
    for counters in ("pause_us", "pause_frames"):
        ports, nics = getattr(readings.ports, counters), getattr(readings.nics, counters)
        for i, port in enumerate(layout.ports):
            peer = nics[port.nic] if port.nic >= 0 else ports[port.peer_port]
            assert ports[i, :, RX] == pytest.approx(peer[:, TX])
            assert ports[i, :, TX] == pytest.approx(peer[:, RX])


def test_bytes_that_one_end_sends_the_other_end_receives(slow_receiver: SimulatedCluster) -> None:
    layout, readings = slow_receiver.layout, slow_receiver.readings
    for i, port in enumerate(layout.ports):
        peer = readings.nics.bytes[port.nic] if port.nic >= 0 else readings.ports.bytes[port.peer_port]
        assert readings.ports.bytes[i, RX] == pytest.approx(peer[TX])
        assert readings.ports.bytes[i, TX] == pytest.approx(peer[RX])


def test_slow_receiver_slows_only_its_own_job(slow_receiver: SimulatedCluster, healthy: SimulatedCluster) -> None:
    assert iterations(slow_receiver, "node3") < 0.85 * iterations(healthy, "node3")
    assert iterations(slow_receiver, "node2") == pytest.approx(iterations(healthy, "node2"), abs=1)
    assert slow_receiver.readings.nics.pcie_stalled_ratio.max() > 0.4
    assert slow_receiver.readings.ports.queue_dropped_packets.sum() == 0.0


def test_incast_marks_and_fills_the_receivers_port_and_pauses_senders() -> None:
    cluster = broken("incast@20s:node3/mlx5_2", seconds=40)
    ports, root = cluster.readings.ports, port_of(cluster, "node3", "mlx5_2")
    assert ports.queue_ecn_packets[:, LOSSLESS].argmax() == root
    assert ports.queue_peak[:, LOSSLESS].argmax() == root
    assert ports.pause_us[root, LOSSLESS, RX] == 0.0
    leaf = cluster.layout.switch_ports[cluster.layout.ports[root].device]
    assert ports.pause_us[leaf.start : leaf.stop, LOSSLESS, TX].max() > 1e6
    assert ports.queue_dropped_packets.sum() == 0.0
    assert cluster.truth[0].expected is IncidentKind.INCAST


def test_straggler_works_all_the_time_while_its_peers_wait(healthy: SimulatedCluster) -> None:
    cluster = broken("straggler-gpu@20s:node3/1")
    gpus, layout = cluster.readings.gpus, cluster.layout
    slow = next(i for i, g in enumerate(layout.gpus) if (g.device, g.index) == ("node3", 1))
    job = next(job for job in cluster.jobs if "node3" in job.nodes)
    peers = [i for i, g in enumerate(layout.gpus) if g.device in job.nodes and i != slow]
    assert gpus.tensor_active[slow] > 1.3 * gpus.tensor_active[peers].max()
    assert gpus.utilization[peers].min() > 0.95, "NCCL spins"
    assert gpus.sm_clock_hertz[slow] < 0.6 * gpus.sm_clock_hertz[peers].min()
    assert gpus.throttle_ns[slow].sum() == 0.0
    assert job.iterations < 0.9 * iterations(healthy, "node3")
    assert cluster.truth[0].root == gpu("node3", layout.gpus[slow].uuid)


def test_hung_gpu_looks_busy_and_holds_its_job_up() -> None:
    cluster = broken("hung-gpu@20s:node3/1")
    gpus, layout = cluster.readings.gpus, cluster.layout
    hung = next(i for i, g in enumerate(layout.gpus) if (g.device, g.index) == ("node3", 1))
    job = next(job for job in cluster.jobs if "node3" in job.nodes)
    peers = [i for i, g in enumerate(layout.gpus) if g.device in job.nodes and i != hung]
    assert gpus.utilization[[hung, *peers]].min() > 0.95, "peers spin"
    assert gpus.tensor_active[[hung, *peers]].max() < 0.02
    assert gpus.power_watts[hung] < 0.6 * gpus.power_watts[peers].min()
    assert gpus.sm_clock_hertz[hung] == gpus.sm_clock_hertz[peers].max()


def test_thermal_throttle_follows_from_heat() -> None:
    cluster = broken("gpu-thermal-throttle@10s:node3/1", seconds=90)
    gpus = cluster.readings.gpus
    hot = int(gpus.celsius.argmax())
    assert cluster.layout.gpus[hot].device == "node3"
    assert gpus.celsius[hot] > 80.0
    assert gpus.throttle_ns[hot].sum() > 10e9
    assert np.delete(gpus.throttle_ns.sum(axis=1), hot).max() == 0.0


def test_worn_memory_of_a_gpu_counts_errors_and_loses_a_row() -> None:
    cluster = broken("gpu-memory-wears@5s:node3/1", seconds=80)
    gpus = cluster.readings.gpus
    worn = next(i for i, g in enumerate(cluster.layout.gpus) if (g.device, g.index) == ("node3", 1))
    assert gpus.ecc[worn, 0] > 30
    assert (gpus.ecc[worn, 1], gpus.remapped_rows[worn, 1], gpus.xid_last[worn]) == (1, 1, 63)
    assert np.delete(gpus.ecc.sum(axis=1), worn).max() == 0


def test_a_rack_without_cooling_gets_warm_as_a_whole(healthy: SimulatedCluster) -> None:
    cluster = broken("rack-cooling@10s:r1", seconds=120)
    layout = cluster.layout
    in_rack = np.array([layout.devices[layout.device_index[g.device]].rack == "r1" for g in layout.gpus])
    warmer = cluster.readings.gpus.celsius - np.median(cluster.readings.gpus.celsius[~in_rack])
    assert in_rack.any()
    assert np.median(warmer[in_rack]) > 8.0
    assert np.median(cluster.readings.hosts.inlet_celsius) > np.median(healthy.readings.hosts.inlet_celsius)


def test_lost_gpu_takes_its_job_and_its_host_with_it() -> None:
    cluster = broken("xid@20s:node3/1")
    assert cluster.readings.gpus.present.sum() == 63
    assert all("node3" not in job.nodes for job in cluster.jobs)
    assert [c.summary for c in cluster.changes if c.kind is ChangeKind.JOB_END] == ["pretrain-llm died of XID 79"]


MIX = JobMix(checkpoint_period_s=40.0)


def test_slow_target_makes_checkpoints_long_and_gpus_wait() -> None:
    config = SimulatorConfig(hosts=8, jobs=MIX, step_ms=20)
    normal, slow = SimulatedCluster(config, start_ns=0), SimulatedCluster(config, start_ns=0)
    slow.inject(parse_fault("slow-storage-target@10s:scratch/OST0001"))
    for cluster in (normal, slow):
        cluster.advance(60 * NS_PER_S)
    storage = slow.readings.storage
    latency = (storage.read_s + storage.write_s) / (storage.reads + storage.writes)
    assert latency.argmax() == 1
    assert latency[1] > 5 * np.delete(latency, 1).max()
    assert sum(j.checkpoints for j in slow.jobs) < sum(j.checkpoints for j in normal.jobs)
    assert slow.readings.gpus.utilization.mean() < 0.7 * normal.readings.gpus.utilization.mean()
    assert str(slow.truth[0].root) == "storage_target:scratch/OST0001"


def test_late_checkpoint_blames_no_target() -> None:
    config = SimulatorConfig(hosts=8, jobs=JobMix(jobs=1), step_ms=20)  # no checkpoint of another job
    cluster = broken("late-checkpoint@20s:node3", seconds=80, config=config)
    job = next(job for job in cluster.jobs if "node3" in job.nodes)
    assert job.checkpoints == 0
    assert cluster.readings.storage.queue_depth.max() < 1.0
    assert str(cluster.truth[0].root) == f"job:{job.job_id}"


def test_dirty_optic_shows_in_light_then_fec_then_crc() -> None:
    cluster = broken("dirty-optic@5s:leaf1/Ethernet32", seconds=80)
    ports, at = cluster.readings.ports, cluster.layout.port_index["leaf1", "Ethernet32"]
    assert ports.rx_power_dbm[at].mean() < ports.rx_power_dbm.mean() - 2.0
    assert ports.ber[:, 0].argmax() == at
    assert ports.fec_corrected[at] > 100 * np.delete(ports.fec_corrected, at).max()
    assert np.flatnonzero(ports.fcs_errors).tolist() == [at]
    assert cluster.readings.nics.out_of_sequence.sum() == pytest.approx(ports.fcs_errors[at])


def test_cut_link_is_dark_at_both_ends_and_traffic_goes_round() -> None:
    cluster = broken("link-down@20s:leaf1/Ethernet32")
    ports = cluster.readings.ports
    down = [cluster.layout.ports[i] for i in np.flatnonzero(~ports.up)]
    assert {f"{p.device}/{p.name}" for p in down} == {"leaf1/Ethernet32", "spine1/Ethernet1/1"}
    assert (ports.rx_power_dbm[~ports.up] == -40.0).all()
    assert str(cluster.truth[0].root) == "link:leaf1/Ethernet32--spine1/Ethernet1/1"
    assert iterations(cluster, "node1") > 25


def test_flapping_link_counts_its_flaps() -> None:
    cluster = broken("link-flap@10s+30s:leaf1/Ethernet32")
    ports, at = cluster.readings.ports, cluster.layout.port_index["leaf1", "Ethernet32"]
    assert ports.flaps[at] >= 6
    assert ports.up[at]


def test_a_slow_link_reports_its_speed_and_is_marked() -> None:
    cluster = broken("speed-downgrade@20s:leaf1/Ethernet32", seconds=40)
    ports, at = cluster.readings.ports, cluster.layout.port_index["leaf1", "Ethernet32"]
    peer = cluster.layout.ports[at].peer_port
    assert ports.speed[[at, peer]].tolist() == [200e9, 200e9]
    assert ports.queue_ecn_packets[at, LOSSLESS] > 10 * np.median(ports.queue_ecn_packets[:, LOSSLESS])


def test_dead_spine_explains_its_links() -> None:
    cluster = broken("spine-down@20s:spine2", seconds=40)
    down = {cluster.layout.ports[i].device for i in np.flatnonzero(~cluster.readings.ports.up)}
    assert down == {"spine2", *cluster.layout.leaves}
    assert not cluster.readings.devices.reachable[cluster.layout.device_index["spine2"]]
    assert iterations(cluster, "node1") > 15


def test_reboot_starts_counters_again() -> None:
    cluster = broken("switch-reboot@20s+10s:spine2", seconds=29)
    layout, readings = cluster.layout, cluster.readings
    at = layout.switch_ports["spine2"]
    before = readings.ports.bytes[at.start].copy()
    assert before.sum() > 0
    cluster.advance(31 * NS_PER_S)
    assert (readings.ports.bytes[at.start : at.stop] < 0.5 * before.max()).all()
    assert readings.devices.boot_ns[layout.device_index["spine2"]] == 30 * NS_PER_S
    assert readings.devices.reachable.all()
    cluster.advance(40 * NS_PER_S)
    assert readings.ports.bytes[at.start].sum() > 0


def test_rack_without_power_takes_its_hosts_and_their_jobs() -> None:
    cluster = broken("rack-power-loss@20s+20s:r1", seconds=30)
    off = {d.name for d, on in zip(cluster.layout.devices, cluster.readings.devices.reachable, strict=True) if not on}
    assert off == {"node1", "node2", "node3", "node4"}
    assert cluster.jobs == []
    cluster.advance(60 * NS_PER_S)
    assert cluster.readings.devices.reachable.all()
    assert cluster.readings.nics.bytes[0].sum() < 1e12


def test_planned_wave_is_a_change_event_before_the_first_reboot() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    cluster.inject(parse_fault("planned-reboot-wave@20s:r2"))
    cluster.advance(24 * NS_PER_S)
    announced = [c for c in cluster.changes if c.kind is ChangeKind.MAINTENANCE]
    assert len(announced) == 1
    assert cluster.readings.devices.reachable.all()
    cluster.advance(141 * NS_PER_S)
    booted = cluster.readings.devices.boot_ns > 0
    assert {cluster.layout.devices[i].name for i in np.flatnonzero(booted)} == {"node5", "node6", "node7", "node8"}
    assert cluster.truth[0].planned
    assert announced[0].starts_ns < cluster.readings.devices.boot_ns.max() < announced[0].ends_ns


def test_frozen_exporter_is_flagged() -> None:
    cluster = broken("exporter-frozen@5s:dcgm/node3", seconds=6)
    flagged = [cluster.layout.endpoints[i] for i in np.flatnonzero(cluster.readings.frozen)]
    assert [(e.exporter, e.device) for e in flagged] == [(Exporter.DCGM, "node3")]
