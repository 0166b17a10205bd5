"""What the faults beyond a single link or GPU do to the readings of a cluster of two jobs, and that it goes away."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.counters.readings import HW_POWER_BRAKE, RX, THROTTLE_REASONS, TX
from simulator.direct import campaign
from simulator.fabric.state import Flags, Floats
from simulator.faults.schedule import parse_fault
from simulator.layout import LOSSLESS, OTHER
from telemetry.changes import ChangeKind
from telemetry.incidents import IncidentKind

CONFIG = SimulatorConfig(hosts=8, step_ms=50)
BRAKE = THROTTLE_REASONS.index("hw_power_brake")


def run(fault: str, seconds: float = 60.0, config: SimulatorConfig = CONFIG) -> SimulatedCluster:
    cluster = SimulatedCluster(config, start_ns=0)
    if fault:
        cluster.inject(parse_fault(fault))
    cluster.advance(int(seconds * NS_PER_S))
    return cluster


@pytest.fixture(scope="module")
def healthy() -> SimulatedCluster:
    return run("")


def iterations(cluster: SimulatedCluster, node: str) -> int:
    return next(job.iterations for job in cluster.jobs if node in job.nodes)


def progress(cluster: SimulatedCluster, node: str, seconds: float) -> int:
    """Iterations of the node's job in the next seconds."""
    before = iterations(cluster, node)
    cluster.advance(cluster.now_ns + int(seconds * NS_PER_S))
    return iterations(cluster, node) - before


def gpus_of(cluster: SimulatedCluster, *hosts: str) -> Flags:
    return np.array([gpu.device in hosts for gpu in cluster.layout.gpus])


def nics_of(cluster: SimulatedCluster, *hosts: str) -> Flags:
    return np.array([nic.device in hosts for nic in cluster.layout.nics])


def dark_ports(cluster: SimulatedCluster) -> set[str]:
    return {cluster.layout.ports[i].device for i in np.flatnonzero(~cluster.readings.ports.up)}


def sent_in(cluster: SimulatedCluster, seconds: float) -> Floats:
    """Bytes that each port sends in the next seconds."""
    before = cluster.readings.ports.bytes[:, TX].copy()
    cluster.advance(cluster.now_ns + int(seconds * NS_PER_S))
    sent: Floats = cluster.readings.ports.bytes[:, TX] - before
    return sent


def test_without_a_leaf_its_rails_are_dark_and_jobs_wait_until_it_is_back() -> None:
    cluster = run("leaf-down@20s+20s:leaf1", 38)
    readings, layout = cluster.readings, cluster.layout
    assert not readings.devices.reachable[layout.device_index["leaf1"]]
    down = {(nic.device, nic.rail) for nic, up in zip(layout.nics, readings.nics.up, strict=True) if not up}
    assert down == {(f"node{k}", rail) for k in range(1, 5) for rail in (0, 1)}
    assert cluster.truth[0].reach == ("node1", "node2", "node3", "node4")
    assert readings.nics.ack_timeouts.sum() > 0
    assert readings.gpus.tensor_active.max() < 0.02
    assert readings.gpus.utilization.min() > 0.99, "NCCL polls"
    cluster.advance(42 * NS_PER_S)
    assert progress(cluster, "node1", 20) > 8


def test_without_a_storage_server_nobody_can_read() -> None:
    cluster = run("storage-server-down@20s+20s:oss1", 38)
    readings, layout = cluster.readings, cluster.layout
    assert [layout.devices[i].name for i in np.flatnonzero(~readings.devices.reachable)] == ["oss1"]
    assert dark_ports(cluster) == {"leaf9", "leaf10"}
    assert readings.gpus.utilization.max() < 0.1, "GPUs wait for data"
    cluster.advance(42 * NS_PER_S)
    assert readings.storage.up.all()
    assert progress(cluster, "node1", 20) > 8


def test_a_line_card_takes_a_range_of_ports_and_the_spine_answers(healthy: SimulatedCluster) -> None:
    cluster = run("line-card-down@20s+30s:spine1/1", 40)
    layout, ports = cluster.layout, cluster.readings.ports
    own = layout.switch_ports["spine1"]
    half = len(own) // 2
    assert ports.up[own.start : own.stop].tolist() == [False] * half + [True] * half
    assert np.count_nonzero(~ports.up) == 2 * half, "and their far ends"
    assert cluster.readings.devices.reachable.all()
    assert len(cluster.truth[0].roots) == half
    cluster.advance(60 * NS_PER_S)
    assert ports.up.all()
    assert iterations(cluster, "node1") > 0.85 * iterations(healthy, "node1")


def test_a_lost_phase_takes_every_third_host_of_a_rack() -> None:
    cluster = run("pdu-phase-loss@20s+20s:r1/L1", 30)
    on = cluster.readings.devices.reachable
    assert [cluster.layout.devices[i].name for i in np.flatnonzero(~on)] == ["node1", "node4"]
    assert str(cluster.truth[0].root) == "rack:r1"
    cluster.advance(42 * NS_PER_S)
    assert on.all()


@pytest.mark.parametrize(("strength", "braked"), [(0.2, False), (0.5, True)])
def test_a_host_with_too_few_power_supplies_brakes_its_gpus(strength: float, braked: bool) -> None:
    cluster = run(f"pdu-phase-loss@20s+30s,strength={strength}:r1/L2", 40)
    gpus, own = cluster.readings.gpus, gpus_of(cluster, "node2")
    assert cluster.readings.devices.reachable.all()
    assert ((gpus.throttle_mask & HW_POWER_BRAKE) > 0).tolist() == (own & braked).tolist()
    assert (gpus.throttle_ns[own, BRAKE] > 18e9).all() == braked
    assert gpus.throttle_ns[~own].sum() == 0
    clocks = gpus.sm_clock_hertz[own].mean() / gpus.sm_clock_hertz[~own].mean()
    assert clocks == pytest.approx(0.5 if braked else 1.0, abs=0.02)
    assert gpus.power_watts[own].mean() < 0.85 * gpus.power_watts[~own].mean() or not braked
    cluster.advance(60 * NS_PER_S)
    assert not (gpus.throttle_mask & HW_POWER_BRAKE).any()


def test_a_row_is_racks_side_by_side() -> None:
    config = SimulatorConfig(hosts=8, gpus_per_host=2, hosts_per_rack=2, step_ms=50)
    cluster = run("row-power-loss@20s+20s:r3", 30, config)
    off = [cluster.layout.devices[i].name for i in np.flatnonzero(~cluster.readings.devices.reachable)]
    assert off == ["node5", "node6", "node7", "node8"]
    assert [str(root) for root in (cluster.truth[0].root, *cluster.truth[0].roots)] == ["rack:r3", "rack:r4"]
    cluster.advance(42 * NS_PER_S)
    assert cluster.readings.devices.reachable.all()


@pytest.mark.parametrize(("strength", "throttles"), [(0.3, False), (1.0, True)])
def test_failed_fans_warm_every_gpu_of_one_host(strength: float, throttles: bool) -> None:
    cluster = run(f"fan-wall-failure@10s,strength={strength}:node3", 120)
    gpus, own = cluster.readings.gpus, gpus_of(cluster, "node3")
    assert gpus.celsius[own].min() > gpus.celsius[~own].max() + 3.0
    assert (gpus.throttle_ns[own].sum(axis=1) > 0).tolist() == [throttles] * 8
    assert gpus.throttle_ns[~own].sum() == 0
    inlet = cluster.readings.hosts.inlet_celsius
    assert abs(inlet[2] - np.median(inlet)) < 3.0, "the air that comes in is as cool as ever"


def test_a_spine_without_routes_keeps_its_links_and_loses_its_traffic() -> None:
    cluster = run("routing-daemon-down@20s+20s:spine2", 25)
    layout, ports = cluster.layout, cluster.readings.ports
    sent = sent_in(cluster, 10.0)
    of = {spine: sent[layout.switch_ports[spine].start : layout.switch_ports[spine].stop] for spine in layout.spines}
    assert of["spine2"].sum() == 0.0
    assert min(of[spine].sum() for spine in ("spine1", "spine3", "spine4")) > 1e9
    assert ports.up.all()
    assert (ports.rx_power_dbm > -10).all()
    sessions = {layout.ports[i].device for i in np.flatnonzero(ports.daemon_down)}
    assert sessions == {"spine2", *layout.leaves}
    cluster.advance(42 * NS_PER_S)
    assert not ports.daemon_down.any()
    assert sent_in(cluster, 10.0)[layout.switch_ports["spine2"].start] > 1e9


def test_a_driver_makes_one_host_after_the_other_a_slow_receiver(healthy: SimulatedCluster) -> None:
    cluster = run("nic-driver-push@10s+60s:r1", 20)
    layout = cluster.layout
    first, second = nics_of(cluster, "node1"), nics_of(cluster, "node2")

    def pauses() -> Floats:
        sent: Floats = cluster.readings.nics.pause_us[:, LOSSLESS, TX].copy()
        return sent

    assert pauses()[first].min() > 0.5e6
    assert pauses()[~first].sum() == 0
    before = pauses()
    cluster.advance(40 * NS_PER_S)
    assert (pauses() - before)[second].min() > 0.5e6
    assert cluster.readings.ports.queue_dropped_packets.sum() == 0
    (change,) = [change for change in cluster.changes if change.kind is ChangeKind.FIRMWARE]
    assert [one.name for one in change.objects] == ["node1", "node2", "node3", "node4"]
    assert iterations(cluster, "node1") < iterations(healthy, "node1")
    leaf = layout.ports[layout.nics[layout.device_nics["node1"][0]].port]
    assert str(cluster.truth[0].root) == f"port:{leaf.device}/{leaf.name}"
    cluster.advance(72 * NS_PER_S)
    before = pauses()
    cluster.advance(90 * NS_PER_S)
    assert (pauses() - before).sum() < 1e4


def test_a_driver_can_come_without_a_change() -> None:
    cluster = run("nic-driver-push@10s:r1/unannounced", 11)
    assert ChangeKind.FIRMWARE not in {change.kind for change in cluster.changes}
    assert cluster.truth[0].reach == ("node1", "node2", "node3", "node4")


def test_in_a_deadlock_four_ports_pause_for_ever_and_jobs_wait(healthy: SimulatedCluster) -> None:
    cluster = run("pfc-deadlock@20s+30s:leaf1/Ethernet32", 30)
    layout, ports = cluster.layout, cluster.readings.ports
    cycle = [
        layout.port_index[ref.device, ref.name.partition("/")[2]]
        for ref in (cluster.truth[0].root, *cluster.truth[0].roots)
    ]
    assert [layout.ports[i].device for i in cycle] == ["leaf1", "spine1", "leaf2", "spine2"]
    paused, moved = ports.pause_us[:, LOSSLESS, RX].copy(), ports.queue_bytes[:, LOSSLESS].copy()
    cluster.advance(40 * NS_PER_S)
    assert (ports.pause_us[:, LOSSLESS, RX] - paused)[cycle] == pytest.approx(10e6)
    assert (ports.queue_bytes[:, LOSSLESS] - moved)[cycle].sum() == 0.0, "nothing moves in the cycle"
    senders = cluster.readings.nics.pause_us[:, LOSSLESS, RX]
    assert np.count_nonzero(senders > 5e6) > 4, "the pause spreads to hosts"
    assert ports.queue_dropped_packets.sum() == 0.0, "lossless"
    assert iterations(cluster, "node1") < 0.6 * iterations(healthy, "node1")
    cluster.advance(52 * NS_PER_S)
    assert progress(cluster, "node1", 20) > 8


def test_over_sockets_a_host_sends_a_fraction_and_no_rdma_counter_moves(healthy: SimulatedCluster) -> None:
    cluster = run("rdma-over-sockets@20s+30s:node3", 26)
    nics, own = cluster.readings.nics, nics_of(cluster, "node3")
    rdma, other = nics.prio_bytes[own, LOSSLESS].copy(), nics.prio_bytes[own, OTHER].copy()
    cnps = nics.cnp_sent[own].copy()
    before = nics.prio_bytes[:, OTHER].sum(axis=1)
    cluster.advance(46 * NS_PER_S)
    moved = nics.prio_bytes[:, OTHER].sum(axis=1) - before
    peers = [moved[nics_of(cluster, node)].sum() for node in ("node1", "node5", "node7")]
    assert sum(peers) == pytest.approx(moved[own].sum(), rel=0.01), "the other ends have it in their kernels too"
    assert max(peers) == pytest.approx(moved[own].sum() / 2, rel=0.01), "each neighbour in the ring on one side"
    # the file system's reads stay on RDMA: 0.6 GB an iteration and host
    assert (nics.prio_bytes[own, LOSSLESS] - rdma).sum() < 0.1 * (nics.prio_bytes[own, OTHER] - other).sum()
    assert ((nics.prio_bytes[own, OTHER] - other) / 20).max() < 5.3e9, "a core for each NIC and direction: 42 Gb/s"
    assert nics.cnp_sent[own].tolist() == cnps.tolist()
    load = cluster.readings.hosts.load1
    assert load[2] > np.delete(load, 2).max() + 2.0, "its cores copy packets"
    assert iterations(cluster, "node3") < 0.75 * iterations(healthy, "node3")
    assert iterations(cluster, "node2") > 20, "the other job is as fast as ever"
    cluster.advance(55 * NS_PER_S)
    before = nics.cnp_sent.sum() + nics.prio_bytes[own, LOSSLESS].sum()
    assert progress(cluster, "node3", 20) > 8
    assert nics.cnp_sent.sum() + nics.prio_bytes[own, LOSSLESS].sum() > before + 1e9


@pytest.mark.parametrize(("strength", "slower"), [(0.3, 0.03), (1.0, 0.4)])
def test_without_nvlink_a_gpu_is_slow_at_full_clock(strength: float, slower: float) -> None:
    cluster = run(f"nvlink-down@10s+100s,strength={strength}:node3/1", 105)
    gpus, layout = cluster.readings.gpus, cluster.layout
    at = layout.host_gpus["node3"][1]
    peers = gpus_of(cluster, "node1", "node3", "node5", "node7") & (np.arange(len(layout.gpus)) != at)
    assert gpus.xid_last[at] == 74
    assert gpus.sm_clock_hertz[at] == pytest.approx(gpus.sm_clock_hertz[peers].max())
    assert gpus.throttle_ns[at].sum() == 0
    assert (gpus.nvlink_rate[at].sum() == 0) == (strength == 1.0)
    assert (gpus.pcie_rate[at, TX] > 10 * gpus.pcie_rate[peers, TX].max()) == (strength == 1.0)
    usual = run("", 105)
    assert iterations(cluster, "node3") < (1.0 - slower) * iterations(usual, "node3")
    assert iterations(cluster, "node2") == pytest.approx(iterations(usual, "node2"), abs=1)
    cluster.advance(150 * NS_PER_S)
    assert gpus.nvlink_rate[at].sum() > 0


def test_a_lossy_queue_drops_and_repeats_instead_of_pausing() -> None:
    cluster = run("lossless-misconfigured@20s+30s:leaf1/Ethernet32", 48)
    ports, at = cluster.readings.ports, cluster.layout.port_index["leaf1", "Ethernet32"]
    assert np.flatnonzero(ports.queue_dropped_packets[:, LOSSLESS]).tolist() == [at]
    assert ports.pause_us.sum() < 1e4
    nics = cluster.readings.nics
    assert nics.out_of_sequence.sum() == pytest.approx(ports.queue_dropped_packets.sum(), rel=0.01)
    assert nics.sequence_errors.sum() == pytest.approx(nics.out_of_sequence.sum())
    cluster.advance(51 * NS_PER_S)
    dropped = ports.queue_dropped_packets.sum()
    assert progress(cluster, "node1", 20) > 8
    assert ports.queue_dropped_packets.sum() == dropped


def test_with_an_incast_a_lossy_queue_drops_where_others_pause() -> None:
    """The same incast, with and without a buffer profile for lossless traffic on its last hop."""
    dropped, paused = [], []
    for fault in ("", "lossless-misconfigured@1s:leaf1/Ethernet0"):
        cluster = SimulatedCluster(SimulatorConfig(hosts=8, jobs=JobMix(jobs=0), step_ms=20), start_ns=0)
        for text in filter(None, (fault, "incast@2s:node1/mlx5_0")):
            cluster.inject(parse_fault(text))
        cluster.advance(6 * NS_PER_S)
        dropped.append(cluster.readings.ports.queue_dropped_packets.sum())
        paused.append(cluster.readings.ports.pause_us.sum())
    assert dropped[0] == 0 < dropped[1]
    assert paused[0] > 1e6
    assert paused[1] < 0.1 * paused[0]


def test_swapped_cables_are_dark_then_up_in_each_others_port() -> None:
    cluster = run("cable-swap@5s+40s:node1/mlx5_0", 15)
    layout, readings = cluster.layout, cluster.readings
    nics = [layout.nic_index["node1", name] for name in ("mlx5_0", "mlx5_2")]
    ports = [layout.nics[nic].port for nic in nics]
    assert np.flatnonzero(~readings.nics.up).tolist() == nics
    assert IncidentKind.LINK_DOWN in cluster.truth[0].accepted  # as both are, when somebody can first know of it
    assert [str(root) for root in (cluster.truth[0].root, *cluster.truth[0].roots)] == [
        "link:leaf1/Ethernet0--node1/mlx5_0",
        "link:leaf2/Ethernet0--node1/mlx5_2",
        "link:leaf2/Ethernet0--node1/mlx5_0",
        "link:leaf1/Ethernet0--node1/mlx5_2",
    ]
    cluster.advance(30 * NS_PER_S)
    assert readings.nics.up.all()
    before = readings.ports.bytes[ports].copy(), readings.nics.bytes[nics].copy()
    cluster.advance(40 * NS_PER_S)
    ported, carried = readings.ports.bytes[ports] - before[0], readings.nics.bytes[nics] - before[1]
    assert ported == pytest.approx(carried[::-1, ::-1]), "what one NIC sends, the other's port receives"
    assert carried.min() > 1e9
    cluster.advance(46 * NS_PER_S)
    before = readings.ports.bytes[ports].copy(), readings.nics.bytes[nics].copy()
    cluster.advance(60 * NS_PER_S)
    ported, carried = readings.ports.bytes[ports] - before[0], readings.nics.bytes[nics] - before[1]
    assert ported == pytest.approx(carried[:, ::-1])


def test_counters_do_not_jump_when_cables_change_places() -> None:
    cluster = run("cable-swap@5s+20s:node1/mlx5_0", 4)
    before = cluster.readings.ports.bytes.copy()
    for second in range(5, 60):
        cluster.advance(second * NS_PER_S)
        grown = cluster.readings.ports.bytes - before
        assert grown.min() >= -1.0
        assert grown.max() < 1.02 * 100e9, "the line of an uplink for a second"
        before = cluster.readings.ports.bytes.copy()


def test_a_swapped_cable_crosses_the_spines() -> None:
    config = SimulatorConfig(hosts=4, hosts_per_pod=4, jobs=JobMix(jobs=1), step_ms=50)  # one hop on a rail
    usual, swapped = run("", 60, config), run("cable-swap@5s:node1/mlx5_0", 60, config)

    def over_spines(cluster: SimulatedCluster) -> float:
        spines = [i for i, port in enumerate(cluster.layout.ports) if port.device in cluster.layout.spines]
        return float(cluster.readings.ports.queue_bytes[spines, LOSSLESS].sum())

    assert over_spines(swapped) > 1.5 * over_spines(usual)


def test_lldp_tells_of_swapped_cables() -> None:
    faults = [parse_fault("cable-swap@5s+40s:node1/mlx5_0")]
    facts = [fact for tick in campaign(CONFIG, faults, 60.0) for fact in tick.facts if fact.source.startswith("lldp")]
    assert [(fact.entity.key.partition("/")[2], fact.gone) for fact in facts] == [
        ("leaf1/Ethernet0--node1/mlx5_0", True),
        ("leaf2/Ethernet0--node1/mlx5_2", True),
        ("leaf2/Ethernet0--node1/mlx5_0", False),
        ("leaf1/Ethernet0--node1/mlx5_2", False),
        ("leaf2/Ethernet0--node1/mlx5_0", True),
        ("leaf1/Ethernet0--node1/mlx5_2", True),
        ("leaf1/Ethernet0--node1/mlx5_0", False),
        ("leaf2/Ethernet0--node1/mlx5_2", False),
    ]


def test_swaps_that_share_a_cable_end_in_any_order() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    at = cluster.machine.fabric.queues.at.copy()
    for fault in ("cable-swap@1s+40s:node1/mlx5_0", "cable-swap@5s+50s:node1/mlx5_2"):
        cluster.inject(parse_fault(fault))
    cluster.advance(30 * NS_PER_S)
    assert np.count_nonzero(cluster.machine.fabric.queues.at != at) == 6, "three NICs and their ports"
    cluster.advance(45 * NS_PER_S)
    assert np.count_nonzero(cluster.machine.fabric.queues.at != at) == 4
    cluster.advance(60 * NS_PER_S)
    assert (cluster.machine.fabric.queues.at == at).all()


def test_in_a_hang_ranks_poll_and_nothing_counts() -> None:
    cluster = run("nccl-hang@20s+40s:node1", 30)
    readings, own = cluster.readings, gpus_of(cluster, "node1", "node3", "node5", "node7")
    job = next(job for job in cluster.jobs if "node1" in job.nodes)
    before = readings.nics.prio_bytes[nics_of(cluster, *job.nodes), LOSSLESS].sum(), job.iterations
    cluster.advance(58 * NS_PER_S)
    assert readings.gpus.utilization[own].min() > 0.99
    assert readings.gpus.tensor_active[own].max() < 0.001
    assert (readings.nics.prio_bytes[nics_of(cluster, *job.nodes), LOSSLESS].sum(), job.iterations) == before
    assert readings.gpus.xid_last.sum() == readings.nics.ack_timeouts.sum() == 0
    assert readings.ports.pause_us.sum() + readings.ports.queue_dropped_packets.sum() < 1e4
    assert iterations(cluster, "node2") > 25, "the other job goes on"
    assert str(cluster.truth[0].root) == f"job:{job.job_id}"
    cluster.advance(62 * NS_PER_S)
    assert cluster.changes[-1].summary.endswith("was killed by NCCL's watchdog")


@pytest.mark.parametrize(
    "fault", ["pfc-deadlock@3s+4s", "rdma-over-sockets@3s+4s:node2", "cable-swap@1s+22s", "nvlink-down@3s,on=1s,off=1s"]
)
def test_slicing_time_changes_nothing(fault: str) -> None:
    config = SimulatorConfig(hosts=4, gpus_per_host=2, step_ms=50)
    whole, sliced = run(fault, 26, config), SimulatedCluster(config, start_ns=0)
    sliced.inject(parse_fault(fault))
    for third in range(1, 79):
        sliced.advance(third * NS_PER_S // 3)
    assert (whole.readings.ports.bytes == sliced.readings.ports.bytes).all()
    assert (whole.readings.gpus.energy_joules == sliced.readings.gpus.energy_joules).all()
    assert whole.truth == sliced.truth
