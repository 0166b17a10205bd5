"""Facts that cannot be: what correlation makes of the cluster that they describe."""

from telemetry.findings import FindingKind as K
from telemetry.topology import Device, Gpu, Link, Role, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run


def seen_later(run: Run, *entities: Device | Gpu | Link) -> None:
    run.topology = run.topology.with_facts(TopologyFact(entity, T0 + 1, "lldp") for entity in entities)


def test_a_second_cable_at_a_port_replaces_the_first(run: Run, cluster: Fabric) -> None:
    """Else the walk along pauses would go one way and back another."""
    seen_later(run, Link("leaf1", "Ethernet0", "node2", "mlx5_9"))
    run.tick(cluster.find(K.LINK_DOWN, "node2/mlx5_9"), cluster.find(K.LINK_DOWN, "node1/mlx5_0", 1))
    run.tick(ticks=3)
    assert run.roots == ["link_down leaf1/Ethernet0--node2/mlx5_9", "link_down node1/mlx5_0"]
    assert run.correlator.refused["link/leaf1/Ethernet0--node1/mlx5_0"][0].reason == "port_twice"


def test_a_cable_to_itself_is_no_link_of_a_switch(run: Run, cluster: Fabric) -> None:
    """With them most links of the leaf were down, and it would be. Its ports count as those without a known cable, of
    which several at once would be one incident: here they go down a minute apart."""
    loops = [Link("leaf1", f"loop{n}", "leaf1", f"loop{n}b") for n in range(30)]
    seen_later(run, *loops)
    run.tick(*(cluster.find(K.LINK_DOWN, f"leaf1/loop{n}", -60.0 * n) for n in range(30)))
    run.tick(ticks=3)
    assert {one.kind for one in run.incidents.values()} == {"link_down"}
    assert {refusal.reason for found in run.correlator.refused.values() for refusal in found} == {"self_link"}


def test_a_host_that_is_its_own_rack_loses_no_power_of_it(run: Run, cluster: Fabric) -> None:
    seen_later(run, Device("node1", Role.HOST, rack="node1"))
    run.tick(cluster.find(K.TARGET_SILENT, "node1"))
    run.tick(ticks=3)
    assert "rack:node1" not in {str(one.root) for one in run.incidents.values()}
    assert not run.correlator._cluster.graph.rack("node1")


def test_a_gpu_moves_to_the_host_that_named_it_last(run: Run, cluster: Fabric) -> None:
    seen_later(run, Gpu("node8", "GPU-0001-5", 9))
    run.tick(cluster.find(K.GPU_LOST, "gpu:node8/GPU-0001-5"))
    run.tick(ticks=3)
    assert run.only.blast.jobs == ("2",)
    assert len(run.correlator._cluster.graph.gpus_of("node1")) == 7
