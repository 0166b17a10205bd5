"""Traffic on each shape: where it goes, what limits it, and what it meets when a switch fails."""

from itertools import pairwise

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.counters import infiniband
from simulator.counters.readings import RX, TX
from simulator.direct import campaign
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Ints
from simulator.faults.schedule import parse_fault
from simulator.layout import LOSSLESS, Layout
from simulator.shapes.shape import Shape
from simulator.wiring import build_layout
from telemetry.samples import SampleBatch

MIX = JobMix(jobs=1, load_bytes=0.0, checkpoint_period_s=1000.0)


def run(seconds: float, *faults: str, **settings: object) -> SimulatedCluster:
    config = SimulatorConfig.model_validate({"hosts": 4, "step_ms": 50, "jobs": MIX, **settings})
    cluster = SimulatedCluster(config, start_ns=0)
    for fault in faults:
        cluster.inject(parse_fault(fault))
    cluster.advance(int(seconds * NS_PER_S))
    return cluster


class Net:
    """One flow a pair of NICs."""

    def __init__(self, layout: Layout, pairs: list[tuple[tuple[str, str], tuple[str, str]]]) -> None:
        self.layout, self.fabric, self.routes = layout, Fabric(layout, len(pairs)), Routes(layout)
        ends = np.array([[layout.nic_index[source], layout.nic_index[there]] for source, there in pairs])
        self.rows: Ints = self.fabric.add_flows(ends[:, 0], ends[:, 1], np.arange(len(pairs)))

    def switches(self) -> list[list[str]]:
        """The switches that each flow crosses."""
        self.routes.route(self.fabric, self.rows)
        paths = self.fabric.flows.path[self.rows].tolist()
        return [[self.layout.ports[q].device for q in path if 0 <= q < self.fabric.ports] for path in paths]


THREE = build_layout(SimulatorConfig(hosts=8, shape=Shape.THREE_TIER))  # pods of four hosts, four leaves, four aggs
WITHIN = (("node1", "mlx5_0"), ("node2", "mlx5_2"))  # two leaves of one pod
BETWEEN = (("node1", "mlx5_0"), ("node5", "mlx5_0"))


def test_a_path_between_pods_crosses_five_switches_and_within_a_pod_three() -> None:
    between, within = Net(THREE, [BETWEEN, WITHIN]).switches()
    assert between == ["leaf1", "agg1", "core1", "agg5", "leaf5"]
    assert within == ["leaf1", "agg2", "leaf2"]


def test_flows_between_pods_spread_over_all_cores() -> None:
    assert {path[2] for path in Net(THREE, [BETWEEN] * 16).switches()} == set(THREE.cores)


@pytest.mark.parametrize(
    ("dead", "ways"),
    [
        (("agg1", "core1"), 15),  # one link below a core
        (("core1", "agg5"), 15),  # in the other pod and the other direction
        (("leaf1", "agg2"), 12),  # all four cores above an aggregation switch
        (("leaf1", "leaf1"), 16),  # none
    ],
)
def test_a_dead_link_takes_the_ways_over_it_and_no_others(dead: tuple[str, str], ways: int) -> None:
    net = Net(THREE, [BETWEEN] * 48)
    for i, port in enumerate(THREE.ports):
        if (port.device, port.peer_device) == dead:
            net.fabric.queues.capacity[i] = 0.0
    paths = net.switches()
    assert len({tuple(path) for path in paths}) == ways
    assert all(dead not in pairwise(path) for path in paths)


def test_between_rails_traffic_of_rail_only_leaves_by_the_nic_of_the_other_rail() -> None:
    layout = build_layout(SimulatorConfig(hosts=4, shape=Shape.RAIL_ONLY))
    here, there = layout.nic_index["node1", "mlx5_0"], layout.nic_index["node3", "mlx5_5"]
    found = Routes(layout).beside(np.array([here]), np.array([there]))
    assert found.tolist() == [layout.nic_index["node1", "mlx5_5"]]
    (path,) = Net(layout, [(("node1", "mlx5_5"), ("node3", "mlx5_5"))]).switches()
    assert path == ["leaf6"]


@pytest.mark.parametrize("shape", Shape)
def test_jobs_and_their_file_system_run_on_every_shape(shape: Shape) -> None:
    mix = JobMix(jobs=2, checkpoint_period_s=10.0, checkpoint_bytes=5e9)
    cluster = run(30, shape=shape, hosts=8, jobs=mix)
    flows = cluster.machine.fabric.flows
    assert (flows.path[flows.used, 0] >= 0).all()  # everything has a route
    assert all(job.iterations > 3 and job.checkpoints > 0 for job in cluster.jobs)
    delivered = cluster.readings.hosts.lustre_written_bytes.sum()
    assert delivered == pytest.approx(cluster.readings.storage.written_bytes.sum())


def test_one_nic_for_eight_gpus_needs_eight_times_as_long_for_an_all_reduce() -> None:
    """After 1.2 s of computing each of 8 rings sends 2 · 3/4 · 14 GB at 47 GB/s: 0.45 s, 3.6 s on one NIC."""
    alone, shared = (run(62, shape=shape).jobs[0].iterations for shape in (Shape.TWO_TIER, Shape.SINGLE_RAIL))
    assert 60 / alone == pytest.approx(1.2 + 0.45, rel=0.07)
    assert 60 / shared == pytest.approx(1.2 + 3.6, rel=0.07)


def test_oversubscribed_uplinks_are_the_bottleneck() -> None:
    """At 16:1 the four uplinks of a leaf carry together a quarter of what one of its four NICs sends."""
    full, thin = (run(62, oversubscription=ratio).jobs[0].iterations for ratio in (1.0, 16.0))
    assert thin < 0.5 * full


def test_infiniband_waits_for_credits_and_neither_pauses_nor_marks() -> None:
    fault = "slow-receiver@5s:node3/mlx5_0"
    pfc, credits = (run(30, fault, shape=shape).readings for shape in (Shape.TWO_TIER, Shape.INFINIBAND))
    assert pfc.ports.pause_frames.sum() > 0.0
    assert credits.ports.pause_frames.sum() == credits.ports.queue_ecn_packets.sum() == 0.0
    assert credits.nics.cnp_sent.sum() == 0.0
    waited_us = credits.ports.pause_us[:, LOSSLESS, RX]
    assert waited_us.max() > 1e6  # the leaf port before the slow NIC


def test_infiniband_spreads_congestion_to_every_sender_of_an_incast() -> None:
    """Without rates to lower, senders are held back by credits alone: 4 hosts into one NIC leave each a third."""
    readings = run(20, "incast@5s:node1/mlx5_0", shape="infiniband", jobs=JobMix(jobs=0)).readings
    received = readings.nics.bytes[0, RX]
    assert received == pytest.approx(15 * 400e9 / 8, rel=0.05)
    stopped_s = readings.nics.pause_us[8 : 4 * 8 : 8, LOSSLESS, RX] / 1e6
    assert (stopped_s > 1.0).all()


def test_infiniband_reports_port_counters_of_its_own() -> None:
    config = SimulatorConfig(hosts=2, gpus_per_host=2, shape=Shape.INFINIBAND, step_ms=50)
    (tick,) = campaign(config, [], lasts_s=10)
    leaf, node = values(tick.batches, "leaf1"), values(tick.batches, "node1")
    assert leaf['ib_port_state{device="leaf1",port="Ethernet0"}'] == 4.0
    sent = node['ib_port_transmit_bytes_total{device="node1",port="mlx5_0"}']
    assert leaf['ib_port_receive_bytes_total{device="leaf1",port="Ethernet0"}'] == sent > 0.0
    assert not any("pfc" in key or "ecn" in key or "cnp" in key for key in (*leaf, *node))


def test_a_counter_of_infiniband_stops_at_the_end_of_its_field() -> None:
    config = SimulatorConfig(hosts=2, gpus_per_host=2, shape=Shape.INFINIBAND, step_ms=50)
    ticks = campaign(config, [parse_fault("link-flap@1s:node1/mlx5_0")], lasts_s=10)
    cluster = next(iter(ticks)).cluster
    assert 0.0 < cluster.readings.ports.flaps[0] < 10.0
    cluster.machine.links.flaps[0] = 700.0
    cluster.machine.publish()
    (downed,) = (column for column in infiniband.PORTS if column.metric == "ib_port_link_downed_total")
    assert np.asarray(downed.of(cluster.readings))[0] == 255.0


def values(batches: list[SampleBatch], device: str) -> dict[str, float]:
    found = [dict(zip(b.table.keys, b.values.tolist(), strict=True)) for b in batches if b.table.device == device]
    return {key: value for page in found for key, value in page.items()}


def test_hosts_beyond_1024_stripe_their_files_over_16_targets_in_turn() -> None:
    config = SimulatorConfig(hosts=1056, gpus_per_host=1, jobs=JobMix(jobs=0), step_ms=50)
    cluster = SimulatedCluster(config, start_ns=0)
    storage, targets = cluster.machine.storage, len(cluster.layout.targets)
    assert storage.rows.shape == (2, 1056, 16)
    storage.request(1, list(range(1056)), 16e6)
    cluster.advance(2 * NS_PER_S)
    assert storage.host_bytes[1].tolist() == pytest.approx([16e6] * 1056)
    each = 16e6 * 1056 / targets
    assert storage.target_bytes[1].tolist() == pytest.approx([each] * targets)
    assert cluster.readings.nics.bytes[:1056, TX].sum() >= 16e6 * 1056
