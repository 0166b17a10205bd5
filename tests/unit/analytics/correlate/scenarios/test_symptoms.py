"""Symptoms: which open no incident, which wait for a cause, and which cause they belong to."""

from dataclasses import replace

import pytest

from analytics.detectors.multivariate.verdicts import CONFIDENCE
from analytics.detectors.storage.storage_slow import ONE_CLIENT_CONFIDENCE
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Evidence
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.objects import ObjectKind, ObjectRef
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def test_a_healthy_cluster_has_no_incident(run: Run) -> None:
    assert run.tick(ticks=50) == []
    assert run.incidents == {}


def test_few_deviations_alone_are_no_incident(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.DEVIATION, "leaf1"), cluster.find(K.DEVIATION, "node1"))
    run.tick(ticks=50)
    assert run.incidents == {}


def test_deviations_that_only_support_are_no_incident_however_many_they_are(cluster: Fabric, run: Run) -> None:
    found = [cluster.find(K.DEVIATION, f"node1/GPU-{n}") for n in range(8)]
    run.tick(*(replace(finding, confidence=CONFIDENCE) for finding in found))
    run.tick(ticks=50)
    assert run.incidents == {}


def test_symptoms_without_a_cause_wait_and_then_open_an_incident(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.JOB_STALLED, "job:1"))
    run.tick(ticks=11)
    assert run.incidents == {}
    run.tick()
    assert (run.only.kind, run.only.root) == (I.UNEXPLAINED, ObjectRef(ObjectKind.JOB, "1"))


def test_unexplained_symptoms_join_their_cause_when_it_appears(cluster: Fabric, run: Run) -> None:
    stalled = cluster.find(K.JOB_STALLED, "job:1", 60)
    run.tick(stalled)
    run.tick(ticks=14)
    before = run.only
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0001", 65))
    run.tick(ticks=3)
    assert run.only.id == before.id
    assert run.only.kind is I.SLOW_STORAGE
    assert any("cause revised" in entry.text for entry in run.only.timeline)


def test_most_of_a_job_unlike_the_rest_is_no_straggler(cluster: Fabric, run: Run) -> None:
    run.tick(*(cluster.find(K.STRAGGLER, cluster.gpu(node, index)) for node in range(1, 4) for index in range(8)))
    run.tick(ticks=30)
    assert run.only.kind is I.UNEXPLAINED


def test_two_targets_of_one_server_are_one_cause_two_servers_are_two(cluster: Fabric, run: Run) -> None:
    slow = [cluster.find(K.STORAGE_SLOW, f"storage_target:scratch/OST{n:04d}", score=3 + n / 10) for n in range(4)]
    run.tick(*slow)
    run.tick(ticks=5)
    assert run.roots == ["slow_storage scratch/OST0001", "slow_storage scratch/OST0003"]


def test_symptom_long_before_a_cause_is_not_its_consequence(cluster: Fabric, run: Run) -> None:
    run.tick(
        cluster.find(K.JOB_STALLED, "job:1", 0), cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 31)
    )
    run.tick(ticks=30)
    assert run.roots == ["slow_storage scratch/OST0000", "unexplained 1"]


def test_straggler_long_after_a_cause_is_another_one(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 0))
    run.tick(cluster.find(K.STRAGGLER, cluster.gpu(1, 1), 61))
    run.tick(ticks=3)
    assert run.roots == ["slow_storage scratch/OST0000", "straggler node1/GPU-0001-1"]


def test_faint_symptoms_at_a_job_start_are_normal(cluster: Fabric, run: Run) -> None:
    run.changes = [Change("j", ChangeKind.JOB_START, (ObjectRef(ObjectKind.JOB, "1"),), run.now_ns)]
    run.tick(
        *(cluster.find(K.DEVIATION, f"node{n}", 10) for n in range(1, 5)),
        cluster.find(K.ECN_MARKING, "leaf1/Ethernet0"),
    )
    run.tick(ticks=40)
    assert run.incidents == {}


def test_findings_about_an_ended_job_are_dropped(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.JOB_STALLED, "job:1"))
    fact = run.topology.facts["job/1"]
    run.topology = run.topology.with_facts([type(fact)(fact.entity, fact.observed_ns + 1, "slurm", gone=True)])
    run.tick(ticks=40)
    assert run.incidents == {}


def test_a_target_that_only_waits_for_a_slow_one_is_no_root(cluster: Fabric, run: Run) -> None:
    published = run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 0, score=1.1))
    published += run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0003", 2, score=5))
    assert [incident.root.name for incident in published] == ["scratch/OST0003"]


def test_a_slightly_slow_target_fires_after_an_interval(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 0, score=1.1))
    assert run.roots == []
    run.tick(ticks=2)
    assert run.roots == ["slow_storage scratch/OST0000"]


def test_slightly_slow_targets_of_another_server_open_nothing(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0001", 0, score=1.3))
    run.tick(ticks=2)
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0003", 15, score=1.1))
    run.tick(ticks=4)
    assert run.roots == ["slow_storage scratch/OST0001"]


def test_targets_with_less_load_because_another_is_slow_are_no_root(cluster: Fabric, run: Run) -> None:
    slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0001", score=2.3)
    others = [cluster.find(K.STORAGE_SLOW, f"storage_target:scratch/OST{n:04d}", 1, score=9) for n in (0, 2, 3)]
    run.tick(slow)
    run.tick(*(replace(finding, detector="storage_throughput") for finding in others), ticks=3)
    assert str(run.only.root) == "storage_target:scratch/OST0001"
    run.clear(slow)
    run.tick(ticks=3)
    assert str(run.only.root) == "storage_target:scratch/OST0001"


def test_a_late_checkpoint_does_not_come_from_a_gpu_or_a_link_that_routing_avoids(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_ECC, cluster.gpu(1, 1)), cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)))
    run.tick(cluster.find(K.CHECKPOINT_LATE, "job:1", 20), cluster.find(K.JOB_SLOWED, "job:1", 20))
    run.tick(ticks=4)
    assert any(root.startswith("late_checkpoint") for root in run.roots)
    assert len(run.roots) == 3


def test_a_late_checkpoint_may_come_from_a_link_that_loses_packets(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_FLAPPING, cluster.uplink(1, 1)))
    run.tick(cluster.find(K.CHECKPOINT_LATE, "job:1", 20), ticks=4)
    assert len(run.roots) == 1


def test_storage_that_may_only_wait_for_a_link_is_a_cause_where_no_link_loses_packets(
    cluster: Fabric, run: Run
) -> None:
    slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0001")
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), cluster.find(K.CHECKPOINT_LATE, "job:1", 5))
    run.tick(replace(slow, confidence=ONE_CLIENT_CONFIDENCE), ticks=6)
    assert run.roots == ["link_down leaf1/Ethernet4000--spine1/Ethernet0", "slow_storage scratch/OST0001"]


@pytest.mark.parametrize(
    ("target", "roots"),
    [
        ("OST0002", ["device_down leaf2"]),  # of oss2, behind leaf2
        ("OST0000", ["device_down leaf2", "slow_storage scratch/OST0000"]),  # of oss1, behind leaf1
    ],
)
def test_a_target_behind_the_switch_that_died_is_not_blamed(
    target: str, roots: list[str], cluster: Fabric, run: Run
) -> None:
    """Its operations collapse, because no client reaches its server."""
    hosts = [cluster.find(K.LINK_DOWN, f"node{node}/mlx5_1") for node in range(1, 9)]
    run.tick(*hosts, cluster.find(K.TARGET_SILENT, "leaf2"))
    run.tick(cluster.find(K.STORAGE_SLOW, f"storage_target:scratch/{target}", 8, score=2.0))
    run.tick(ticks=30)
    assert run.roots == roots


@pytest.mark.parametrize(("work", "found"), [(0.81, []), (0.79, [I.UNEXPLAINED])])
def test_a_job_that_is_a_little_slower_is_no_incident_by_itself(
    cluster: Fabric, run: Run, work: float, found: list[I]
) -> None:
    """As one whose experts get hot."""
    run.tick(replace(cluster.find(K.JOB_SLOWED, "job:1"), evidence=(Evidence("work", work, 1.0, "ratio"),)))
    run.tick(ticks=14)
    assert [incident.kind for incident in run.incidents.values()] == found
