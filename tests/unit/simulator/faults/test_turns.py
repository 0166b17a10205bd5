"""How a fault happens: short, in turns, silent, and at the same time as another of the same object."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import DirectCollector
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault
from telemetry.samples import DownReason

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50)
UPLINK, GPU = "leaf1/Ethernet16", 3  # node2/1


def with_faults(*faults: ScheduledFault) -> SimulatedCluster:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    for fault in faults:
        cluster.inject(fault)
    return cluster


def test_an_intermittent_fault_acts_and_rests_in_turns_and_is_one_truth() -> None:
    fault = ScheduledFault(fault="straggler-gpu", at_s=5, lasts_s=40, target="node2/1", on_s=4, off_s=8)
    cluster = with_faults(fault)
    slow = []
    for second in range(1, 61):
        cluster.advance(second * NS_PER_S)
        slow.append(bool(cluster.machine.gpus.stuck[GPU] < 1.0))
    assert [second for second, acts in enumerate(slow) if acts] == [
        *range(5, 9),
        *range(17, 21),
        *range(29, 33),
        *range(41, 45),
    ]
    assert [(t.start_ns, t.end_ns) for t in cluster.truth] == [(5 * NS_PER_S, 45 * NS_PER_S)]


@pytest.mark.parametrize("fault", [name for name, kind in FAULTS.items() if kind.intermittent])
def test_the_seed_chooses_once_for_an_intermittent_fault(fault: str) -> None:
    cluster = with_faults(ScheduledFault(fault=fault, at_s=4, lasts_s=9, on_s=1, off_s=1))
    targets = set()
    for half_second in range(10, 26):
        cluster.advance(half_second * NS_PER_S // 2)
        targets.add(cluster._injected[0].fault.target)
    cluster.advance(14 * NS_PER_S)
    assert len(targets) == 1
    assert targets != {""}
    assert len(cluster.truth) == 1


@pytest.mark.parametrize("fault", [name for name, kind in FAULTS.items() if not kind.intermittent])
def test_what_cannot_begin_again_is_not_intermittent(fault: str) -> None:
    with pytest.raises(ValueError, match=f"{fault} cannot begin again"):
        ScheduledFault(fault=fault, on_s=5, off_s=5)


def test_a_fault_of_five_seconds_is_five_seconds() -> None:
    cluster = with_faults(ScheduledFault(fault="link-down", at_s=5, lasts_s=5, target=UPLINK))
    at, up = cluster.layout.port_index["leaf1", "Ethernet16"], []
    for second in range(1, 13):
        cluster.advance(second * NS_PER_S)
        up.append(bool(cluster.readings.ports.up[at]))
    assert up == [True] * 5 + [False] * 5 + [True] * 2


@pytest.mark.parametrize(
    ("fault", "target", "silent"),
    [
        ("link-down", UPLINK, {"leaf1", "spine1"}),
        ("dirty-optic", "leaf2/Ethernet0", {"leaf2", "node3"}),
        ("straggler-gpu", "node2/1", {"node2"}),
        ("slow-storage-target", "scratch/OST0002", {"oss2"}),
        ("rack-cooling", "r1", {"node1", "node2", "node3", "node4"}),
        ("late-checkpoint", "node4", {"node4"}),
    ],
)
def test_a_silent_fault_takes_the_telemetry_of_its_devices_and_nothing_else(
    fault: str, target: str, silent: set[str]
) -> None:
    cluster = with_faults(ScheduledFault(fault=fault, at_s=5, lasts_s=10, target=target, silent=True))
    collector = DirectCollector(cluster)
    cluster.advance(8 * NS_PER_S)
    batches = collector.collect()
    assert {b.table.device for b in batches if b.collection.down is DownReason.TIMEOUT} == silent
    assert cluster.machine.links.device_on.all(), "they work"
    assert cluster.truth[0].silent
    cluster.advance(16 * NS_PER_S)
    assert all(batch.collection.up for batch in collector.collect())


def test_telemetry_is_lost_in_the_pauses_of_a_silent_fault_too() -> None:
    cluster = with_faults(
        ScheduledFault(fault="link-down", at_s=5, lasts_s=10, target=UPLINK, on_s=2, off_s=4, silent=True)
    )
    at, leaf = cluster.layout.port_index["leaf1", "Ethernet16"], cluster.layout.device_index["leaf1"]
    cluster.advance(8 * NS_PER_S)
    assert cluster.readings.ports.up[at]
    assert not cluster.readings.devices.reachable[leaf]


@pytest.mark.parametrize(
    ("fault", "target", "parts"),
    [
        ("straggler-gpu", "node2/1", lambda m: m.gpus.stuck),
        ("hung-gpu", "node2/1", lambda m: m.gpus.hung),
        ("gpu-thermal-throttle", "node2/1", lambda m: m.gpus.cooling),
        ("dirty-optic", UPLINK, lambda m: m.optics.attenuation_db),
        ("speed-downgrade", UPLINK, lambda m: m.links.speed_factor),
        ("slow-storage-target", "scratch/OST0002", lambda m: m.storage.speed),
        ("late-checkpoint", "node4", lambda m: m.storage.client_speed),
        ("exporter-frozen", "dcgm/node2", lambda m: m.readings.frozen),
        ("spine-down", "spine1", lambda m: m.links.device_on),
        ("xid", "node2/1", lambda m: m.gpus.present),
        ("rack-power-loss", "r1", lambda m: m.links.device_on),
        ("pfc-deadlock", UPLINK, lambda m: m.fabric.queues.held),
        ("cable-swap", "node1/mlx5_0", lambda m: m.links.cuts),
    ],
)
def test_two_faults_of_one_object_end_separately(fault: str, target: str, parts) -> None:
    """The second one begins before the first has ended, and is still there when it has."""
    cluster = with_faults(
        *(ScheduledFault(fault=fault, at_s=at_s, lasts_s=6, target=target) for at_s in (4.0, 7.0)),
    )
    untouched = parts(cluster.machine).copy()
    broken = []
    for second in (6, 9, 12, 14):
        cluster.advance(second * NS_PER_S)
        broken.append(bool((parts(cluster.machine) != untouched).any()))
    assert broken == [True, True, True, False]


def test_a_reboot_does_not_repair_a_gpu_that_another_fault_broke() -> None:
    cluster = with_faults(
        ScheduledFault(fault="xid", at_s=4, lasts_s=30, target="node2/1"),
        ScheduledFault(fault="rack-power-loss", at_s=6, lasts_s=5, target="r1"),
    )
    cluster.advance(20 * NS_PER_S)
    assert cluster.readings.devices.reachable.all()
    assert np.flatnonzero(~cluster.readings.gpus.present).tolist() == [GPU]
    assert cluster.machine.jobs.drained == {1}, "its host still takes no job"
    cluster.advance(36 * NS_PER_S)
    assert cluster.readings.gpus.present.all()
    assert cluster.machine.jobs.drained == set()


def test_dirt_of_two_faults_adds_up() -> None:
    cluster = with_faults(
        *(ScheduledFault(fault="dirty-optic", at_s=1, lasts_s=50, target=UPLINK, strength=s) for s in (0.2, 0.3)),
    )
    cluster.advance(45 * NS_PER_S)
    at = cluster.layout.port_index["leaf1", "Ethernet16"]
    assert cluster.machine.optics.attenuation_db[at] == pytest.approx(0.5 * 2.75)
