"""The simulated cluster as a whole: healthy is quiet, time may be sliced in any way, jobs start and end."""

import dataclasses
from pathlib import Path

import numpy as np
import orjson
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.counters.readings import Readings
from simulator.faults.schedule import ScheduledFault, parse_fault
from simulator.faults.truth import write_truth
from simulator.layout import LOSSLESS
from telemetry.changes import ChangeKind


def fingerprint(readings: Readings) -> bytes:
    groups = (readings.ports, readings.nics, readings.gpus, readings.hosts, readings.storage, readings.devices)
    return b"".join(getattr(g, f.name).tobytes() for g in groups for f in dataclasses.fields(g))


def test_healthy_training_over_several_jobs_is_quiet() -> None:
    mix = JobMix(lifetime_s=150.0, checkpoint_period_s=60.0)
    cluster = SimulatedCluster(SimulatorConfig(jobs=mix, step_ms=50), start_ns=0)
    cluster.advance(600 * NS_PER_S)
    readings = cluster.readings
    assert readings.ports.pause_us.sum() < 1e-4 * 600e6  # 0.01 % of the time of one port, all ports together
    assert readings.ports.discards.sum() == 0.0
    assert readings.ports.errors.sum() == 0.0
    assert readings.ports.flaps.sum() == 0.0
    assert readings.gpus.throttle_ns.sum() == 0.0
    kinds = [change.kind for change in cluster.changes]
    assert kinds.count(ChangeKind.JOB_START) >= 6
    assert kinds.count(ChangeKind.JOB_END) >= 4
    assert sum(job.checkpoints for job in cluster.machine.jobs.ended) >= 6
    marked = readings.ports.queue_ecn_packets[:, LOSSLESS].sum()
    assert 0.0 < marked < 1e-3 * readings.ports.queue_packets[:, LOSSLESS].sum()


@pytest.mark.parametrize("fault", ["slow-receiver@3s+5s", "link-flap@2s", "xid@4s"])
def test_slicing_time_changes_nothing(fault: str) -> None:
    whole, sliced = (
        SimulatedCluster(SimulatorConfig(hosts=4), start_ns=7),
        SimulatedCluster(SimulatorConfig(hosts=4), start_ns=7),
    )
    for cluster in (whole, sliced):
        cluster.inject(parse_fault(fault))
    whole.advance(7 + 12 * NS_PER_S)
    rng = np.random.default_rng(3)
    while sliced.now_ns < 7 + 12 * NS_PER_S:
        sliced.advance(min(7 + 12 * NS_PER_S, sliced.now_ns + int(rng.integers(1, NS_PER_S))))
        sliced.advance(sliced.now_ns)  # nothing to do
    assert fingerprint(whole.readings) == fingerprint(sliced.readings)
    assert whole.truth == sliced.truth
    assert whole.changes == sliced.changes


def test_the_seed_chooses_the_target_and_the_noise() -> None:
    roots, prints = set(), set()
    for seed in range(4):
        cluster = SimulatedCluster(SimulatorConfig(hosts=4, seed=seed), start_ns=0)
        cluster.inject(parse_fault("straggler-gpu@1s"))
        cluster.advance(3 * NS_PER_S)
        uuids = [gpu.uuid for gpu in cluster.layout.gpus]
        roots.add(uuids.index(cluster.truth[0].root.name.partition("/")[2]))
        prints.add(fingerprint(cluster.readings))
    assert len(roots) > 1
    assert len(prints) == 4


def test_readings_are_as_of_the_last_whole_step() -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=2), start_ns=100)
    cluster.advance(100 + 12_345_678)
    assert cluster.readings.now_ns == cluster.now_ns == 100 + 10_000_000


def test_counters_never_fall_without_a_reboot() -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=4), start_ns=0)
    cluster.inject(parse_fault("incast@2s+4s"))
    before = None
    for second in range(1, 12):
        cluster.advance(second * NS_PER_S)
        ports, nics = cluster.readings.ports, cluster.readings.nics
        now = np.concatenate(
            [ports.bytes.ravel(), ports.pause_us.ravel(), ports.queue_ecn_packets.ravel(), nics.cnp_sent]
        )
        assert before is None or (now >= before).all()
        before = now


def test_end_fault_ends_the_fault_now() -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=4), start_ns=0)
    cluster.inject(parse_fault("spine-down@1s:spine1"))
    cluster.advance(3 * NS_PER_S)
    assert not cluster.readings.devices.reachable.all()
    cluster.end_fault("spine-down")
    cluster.advance(4 * NS_PER_S)
    assert cluster.readings.devices.reachable.all()
    assert cluster.truth[0].end_ns == 3 * NS_PER_S


def test_truth_is_written_as_lines(tmp_path: Path) -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=4), start_ns=0)
    cluster.inject(parse_fault("spine-down@2s:spine1"))
    cluster.inject(parse_fault("link-down@1s+1s:leaf1/Ethernet0"))
    cluster.inject(parse_fault("incast@60s"))  # has not begun
    cluster.advance(3 * NS_PER_S)
    write_truth(tmp_path / "truth.jsonl", cluster.truth)
    lines = [orjson.loads(line) for line in (tmp_path / "truth.jsonl").read_bytes().splitlines()]
    assert [(x["fault"], x["root"]) for x in lines] == [
        ("link-down", "link:leaf1/Ethernet0--node1/mlx5_0"),
        ("spine-down", "device:spine1"),
    ]
    assert [(x["start_ns"], x["end_ns"]) for x in lines] == [(NS_PER_S, 2 * NS_PER_S), (2 * NS_PER_S, 0)]


def test_interval_peaks_cover_the_interval_before_and_are_cleared() -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=4, interval_s=2.0), start_ns=0)
    cluster.inject(parse_fault("incast@4s+3s"))
    cluster.advance(8 * NS_PER_S)
    during = cluster.readings.ports.queue_peak.max()
    cluster.advance(30 * NS_PER_S)
    assert during > 10 * cluster.readings.ports.queue_peak.max()


def test_jobs_become_facts_and_end() -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=4, jobs=JobMix(lifetime_s=5.0, gap_s=2.0)), start_ns=0)
    cluster.advance(20 * NS_PER_S)
    facts = cluster.job_facts()
    gone = {f.entity.key for f in facts if f.gone}
    running = {f.entity.key for f in facts if not f.gone}
    assert "job/4711" in gone
    assert running.isdisjoint(gone)


SMALL = SimulatorConfig(hosts=2, gpus_per_host=2, step_ms=50)


@pytest.mark.parametrize(
    ("at_s", "injected_s", "begins_s"),
    [(0.0, 0.0, 0.0), (1.5, 0.0, 1.5), (1.5, 1.0, 1.5), (1.5, 3.0, 3.0)],  # what is past begins at once
)
def test_a_fault_begins_at_its_time_or_at_once(at_s: float, injected_s: float, begins_s: float) -> None:
    cluster = SimulatedCluster(SMALL, start_ns=7 * NS_PER_S)
    cluster.advance(int((7 + injected_s) * NS_PER_S))
    cluster.inject(ScheduledFault(fault="hung-gpu", at_s=at_s, target="node1/0"))
    cluster.advance(int((7 + begins_s) * NS_PER_S))
    assert cluster.truth == []
    cluster.advance(int((7 + begins_s + 0.05) * NS_PER_S))
    assert [truth.start_ns for truth in cluster.truth] == [int((7 + begins_s) * NS_PER_S)]


@pytest.mark.parametrize(
    ("fault", "lasts_s", "ends_s"),
    [("hung-gpu", 0.0, 0.0), ("hung-gpu", 2.0, 3.0), ("switch-reboot", 0.0, 26.0), ("switch-reboot", 3.0, 4.0)],
)
def test_a_fault_ends_by_its_schedule_by_nature_or_never(fault: str, lasts_s: float, ends_s: float) -> None:
    cluster = SimulatedCluster(SMALL, start_ns=0)
    cluster.inject(ScheduledFault(fault=fault, at_s=1.0, lasts_s=lasts_s))
    cluster.advance(2 * NS_PER_S)
    assert cluster.truth[0].end_ns == int(ends_s * NS_PER_S)


def test_a_fault_acts_from_its_first_step_to_its_last() -> None:
    cluster = SimulatedCluster(SMALL, start_ns=0)
    cluster.inject(ScheduledFault(fault="hung-gpu", at_s=1.0, lasts_s=1.0, target="node1/0"))
    hung = []
    for step in range(60):
        cluster.advance(step * 50_000_000)
        hung.append(bool(cluster.machine.gpus.hung[0]))
    assert [step for step in range(60) if hung[step]] == list(range(21, 41)), "what a step at 1.00 s to 1.95 s saw"


def test_ending_a_fault_that_has_not_begun_or_has_ended_changes_nothing() -> None:
    cluster = SimulatedCluster(SMALL, start_ns=0)
    cluster.inject(ScheduledFault(fault="hung-gpu", at_s=5.0, target="node1/0"))
    cluster.inject(ScheduledFault(fault="hung-gpu", at_s=0.0, lasts_s=1.0, target="node1/1"))
    cluster.advance(2 * NS_PER_S)
    cluster.end_fault("hung-gpu")
    cluster.advance(6 * NS_PER_S)
    assert [truth.end_ns for truth in cluster.truth] == [NS_PER_S, 0]


def test_no_step_is_taken_before_it_is_due() -> None:
    cluster = SimulatedCluster(SMALL, start_ns=0)
    before = cluster.readings.gpus.energy_joules.copy()
    cluster.advance(49_999_999)
    assert cluster.now_ns == 0
    assert (cluster.readings.gpus.energy_joules == before).all()
    cluster.advance(50_000_000)
    assert cluster.now_ns == 50_000_000


def test_without_a_fault_that_was_removed_in_time_the_cluster_is_as_if_it_was_never_scheduled() -> None:
    prints = []
    for faults in (["xid@3s:node1/0", "link-down@4s:leaf1/Ethernet0"], ["link-down@4s:leaf1/Ethernet0"]):
        cluster = SimulatedCluster(SimulatorConfig(hosts=4), start_ns=0)
        for fault in faults:
            cluster.inject(parse_fault(fault))
        cluster.advance(2 * NS_PER_S)
        cluster.remove_faults([at for at in range(len(faults)) if faults[at].startswith("xid")])
        cluster.advance(6 * NS_PER_S)
        prints.append(fingerprint(cluster.readings))
    assert prints[0] == prints[1]
    with pytest.raises(ValueError, match="have begun"):
        cluster.remove_faults([0])


def test_observers_see_every_step() -> None:
    cluster, seen = SimulatedCluster(SimulatorConfig(hosts=4, step_ms=50), start_ns=0), list[int]()
    cluster.observers.append(lambda: seen.append(cluster.now_ns))
    cluster.advance(NS_PER_S)
    assert seen == list(range(NS_PER_S // 20, NS_PER_S + 1, NS_PER_S // 20))
