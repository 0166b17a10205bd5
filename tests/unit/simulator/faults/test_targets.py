"""What a fault hits: the named target in every form, or one that the seed chooses; and that its end undoes it."""

import pytest

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault
from telemetry.objects import ObjectKind
from tests.unit.simulator.faults.knobs import knobs

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50)


def broken(fault: str, target: str = "", *, seed: int = 1, at_s: float = 5.0, lasts_s: float = 0.0) -> SimulatedCluster:
    cluster = SimulatedCluster(CONFIG.model_copy(update={"seed": seed}), start_ns=0)
    cluster.inject(ScheduledFault(fault=fault, at_s=at_s, lasts_s=lasts_s, target=target))
    cluster.advance(int((at_s + 1) * NS_PER_S))
    return cluster


LAYOUT = SimulatedCluster(CONFIG, start_ns=0).layout
UUID = LAYOUT.gpus[3].uuid  # node2/1


@pytest.mark.parametrize(
    ("fault", "target", "root"),
    [
        ("slow-receiver", "node1/mlx5_1", "port:leaf1/Ethernet4"),
        ("incast", "node3/mlx5_0", "port:leaf2/Ethernet0"),
        ("dirty-optic", "leaf1/Ethernet16", "link:leaf1/Ethernet16--spine1/Ethernet1/1"),
        ("link-down", "spine1/Ethernet1/1", "link:leaf1/Ethernet16--spine1/Ethernet1/1"),
        ("link-flap", "node1/mlx5_0", "link:leaf1/Ethernet0--node1/mlx5_0"),
        ("speed-downgrade", "oss1/mlx5_0", "link:leaf3/Ethernet0--oss1/mlx5_0"),
        ("spine-down", "spine3", "device:spine3"),
        ("switch-reboot", "leaf2", "device:leaf2"),
        ("gpu-thermal-throttle", "node2/1", f"gpu:node2/{UUID}"),
        ("straggler-gpu", f"node2/{UUID}", f"gpu:node2/{UUID}"),
        ("hung-gpu", "node2/1", f"gpu:node2/{UUID}"),
        ("gpu-memory-wears", "node2/1", f"gpu:node2/{UUID}"),
        ("xid", "node2/1", f"gpu:node2/{UUID}"),
        ("slow-storage-target", "scratch/OST0002", "storage_target:scratch/OST0002"),
        ("late-checkpoint", "node4", "job:4711"),
        ("exporter-frozen", "gnmi/leaf1", "device:leaf1"),
        ("rack-power-loss", "r1", "rack:r1"),
        ("rack-cooling", "r1", "rack:r1"),
        ("planned-reboot-wave", "r1", "device:node1"),
        ("leaf-down", "leaf3", "device:leaf3"),
        ("storage-server-down", "oss2", "device:oss2"),
        ("line-card-down", "spine2/1", "device:spine2"),
        ("pdu-phase-loss", "r1/L3", "rack:r1"),
        ("row-power-loss", "r1", "rack:r1"),
        ("fan-wall-failure", "node4", "device:node4"),
        ("routing-daemon-down", "spine1", "device:spine1"),
        ("nic-driver-push", "r1", "port:leaf1/Ethernet0"),
        ("pfc-deadlock", "leaf2/Ethernet16", "port:leaf2/Ethernet16"),
        ("rdma-over-sockets", "node1", "device:node1"),
        ("nvlink-down", "node2/1", f"gpu:node2/{UUID}"),
        ("lossless-misconfigured", "spine1/Ethernet1/1", "port:spine1/Ethernet1/1"),
        ("cable-swap", "node2/mlx5_0", "link:leaf1/Ethernet8--node2/mlx5_0"),
        ("nccl-hang", "node4", "job:4711"),
        ("rolling-reboot", "r1", "device:node1"),
    ],
)
def test_a_target_is_the_root_that_it_names(fault: str, target: str, root: str) -> None:
    (truth,) = broken(fault, target).truth
    assert (truth.fault, str(truth.root)) == (fault, root)
    assert truth.expected is FAULTS[fault].kind


@pytest.mark.parametrize("fault", FAULTS)
def test_without_a_target_the_seed_chooses_the_same_one_again(fault: str) -> None:
    roots = [str(broken(fault, seed=seed).truth[0].root) for seed in (3, 3)]
    assert roots[0] == roots[1]


def test_the_seed_chooses_among_all_of_them() -> None:
    assert {str(broken("spine-down", seed=seed).truth[0].root) for seed in range(20)} == {
        f"device:spine{number}" for number in range(1, 5)
    }
    hosts = {device.name for device in LAYOUT.devices if device.name.startswith("node")}
    assert {broken("exporter-frozen", seed=seed).truth[0].root.name for seed in range(25)} == hosts


def test_an_unnamed_link_fault_hits_a_link_between_switches_of_a_pod() -> None:
    for seed in range(10):
        root = broken("dirty-optic", seed=seed).truth[0].root
        assert root.kind is ObjectKind.LINK
        assert "spine" in root.name
        assert "leaf3" not in root.name, "storage leaves are left alone"
        assert "leaf4" not in root.name


@pytest.mark.parametrize(
    ("fault", "reach"),
    [
        ("slow-receiver", ("node1",)),
        ("straggler-gpu", ("node2",)),
        ("late-checkpoint", ("node4",)),
        ("rack-power-loss", ("node1", "node2", "node3", "node4")),
        ("rack-cooling", ("node1", "node2", "node3", "node4")),
        ("planned-reboot-wave", ("node1", "node2", "node3", "node4")),
        ("spine-down", ()),
        ("slow-storage-target", ()),
    ],
)
def test_the_reach_are_the_hosts_that_suffer_directly(fault: str, reach: tuple[str, ...]) -> None:
    targets = {
        "slow-receiver": "node1/mlx5_1",
        "straggler-gpu": "node2/1",
        "late-checkpoint": "node4",
        "rack-power-loss": "r1",
        "rack-cooling": "r1",
        "planned-reboot-wave": "r1",
    }
    assert broken(fault, targets.get(fault, "")).truth[0].reach == reach


# Not to be seen in what they set: errors that are counted, flows, a job, a link that may be up at the moment.
UNSEEN = ("gpu-memory-wears", "incast", "link-flap", "nccl-hang", "rdma-over-sockets")


@pytest.mark.parametrize("fault", FAULTS)
def test_the_end_of_a_fault_undoes_all_that_it_set(fault: str) -> None:
    lasts_s, strength = FAULTS[fault].lasts_s or 8.0, min(1.5, FAULTS[fault].strengths[1])
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    untouched = knobs(cluster.machine)
    cluster.inject(ScheduledFault(fault=fault, at_s=5.0, lasts_s=lasts_s, strength=strength))
    cluster.advance(12 * NS_PER_S)
    assert fault in UNSEEN or knobs(cluster.machine) != untouched
    cluster.advance(int((7.0 + lasts_s) * NS_PER_S))
    assert knobs(cluster.machine) == untouched


@pytest.mark.parametrize(
    ("fault", "target", "knob", "usual", "strong"),
    [
        ("straggler-gpu", "node2/1", "clocks", 0.55, 0.325),
        ("gpu-thermal-throttle", "node2/1", "cooling", 3.0, 4.0),
        ("slow-storage-target", "scratch/OST0002", "targets", 0.06, 0.04),
        ("late-checkpoint", "node4", "clients", 0.1e9, 0.1e9 / 1.5),
        ("speed-downgrade", "leaf1/Ethernet16", "speed", 0.25, 0.1),  # at least a tenth is left
    ],
)
def test_strength_scales_faults_that_have_degrees(
    fault: str, target: str, knob: str, usual: float, strong: float
) -> None:
    for strength, expected in ((1.0, usual), (1.5, strong)):
        cluster = SimulatedCluster(CONFIG, start_ns=0)
        cluster.inject(ScheduledFault(fault=fault, at_s=5.0, target=target, strength=strength))
        cluster.advance(6 * NS_PER_S)
        healthy = SimulatedCluster(CONFIG, start_ns=0)
        pairs = zip(knobs(cluster.machine)[knob], knobs(healthy.machine)[knob], strict=True)
        changed = {now for now, before in pairs if now != before}
        assert list(changed) == [pytest.approx(expected)]


def test_two_faults_of_one_link_end_separately() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    for at_s in (1.0, 2.0):
        cluster.inject(ScheduledFault(fault="link-down", at_s=at_s, lasts_s=4.0, target="leaf1/Ethernet16"))
    at = cluster.layout.port_index["leaf1", "Ethernet16"]
    up = []
    for second in (3.0, 5.5, 6.5):
        cluster.advance(int(second * NS_PER_S))
        up.append(bool(cluster.readings.ports.up[at]))
    assert up == [False, False, True]


def test_a_fault_that_was_rejected_can_be_dropped_and_the_others_go_on() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    cluster.inject(ScheduledFault(fault="xid", at_s=1.0, target="node9/0"))
    cluster.inject(ScheduledFault(fault="link-down", at_s=1.0, target="leaf1/Ethernet16"))
    with pytest.raises(ConfigError, match="xid: no target"):
        cluster.advance(3 * NS_PER_S)
    cluster.drop_rejected_fault()
    cluster.advance(3 * NS_PER_S)
    assert [truth.fault for truth in cluster.truth] == ["link-down"]
