"""Slow storage pages nobody until a job shows that it waits, and is named where it explains why."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from analytics.detectors.storage.storage_slow import ONE_CLIENT_CONFIDENCE
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from telemetry.topology import Device, Entity, Link, Role, StorageTarget
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

TARGET = "storage_target:scratch/OST0000"


def test_a_slow_target_is_info_while_nobody_waits_and_says_so(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, TARGET, score=9))
    run.tick(ticks=60)
    assert (run.only.kind, run.only.severity) == (I.SLOW_STORAGE, Severity.INFO)
    assert run.only.title == "[INFO] pod1: storage target scratch/OST0000 slow — no job waits, 2 in reach"
    assert [entry.text for entry in run.only.timeline if entry.text.endswith("so nobody is paged")]


def test_a_metadata_storm_is_not_called_slow_until_its_target_is(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.METADATA_STORM, TARGET), cluster.find(K.JOB_SLOWED, "job:1", 2), ticks=4)
    assert run.only.title.startswith("[CRIT] pod1: metadata storm at storage target scratch/OST0000 — 32 GPUs, job 1")
    assert run.only.because[0].startswith("scratch/OST0000 gets many times its usual metadata operations")
    run.tick(cluster.find(K.STORAGE_SLOW, TARGET, 20), ticks=4)
    assert any(each.startswith("scratch/OST0000 answers slowly") for each in run.only.because)
    assert run.only.title.startswith("[CRIT] pod1: storage target scratch/OST0000 slow — ")


@pytest.mark.parametrize("waits", [K.JOB_SLOWED, K.JOB_STALLED, K.JOB_IDLE, K.CHECKPOINT_LATE])
def test_a_job_meets_a_slow_target_when_it_next_writes(cluster: Fabric, run: Run, waits: K) -> None:
    """However long that has been slow: a checkpoint comes once in minutes or hours."""
    run.tick(cluster.find(K.STORAGE_SLOW, TARGET))
    run.tick(ticks=200)
    run.tick(cluster.find(waits, "job:2", 1000))
    assert (run.only.kind, run.only.severity) == (I.SLOW_STORAGE, Severity.CRITICAL)
    assert [entry.text for entry in run.only.timeline if entry.text == "critical: job 2 stalled"]


def test_a_job_that_has_waited_before_the_target_got_slow_waits_for_something_else(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", -31), cluster.find(K.STORAGE_SLOW, TARGET, 0))
    run.tick(ticks=30)
    assert run.roots == ["slow_storage scratch/OST0000", "unexplained 1"]
    slow = next(incident for incident in run.incidents.values() if incident.kind is I.SLOW_STORAGE)
    assert slow.severity is Severity.INFO


@pytest.mark.parametrize("waits", [K.JOB_SLOWED, K.JOB_STALLED, K.CHECKPOINT_LATE])
def test_a_job_whose_storage_server_died_waits_for_it(cluster: Fabric, run: Run, waits: K) -> None:
    ports = ("leaf1/Ethernet7000", "oss1/mlx5_0")
    run.tick(cluster.find(K.TARGET_SILENT, "oss1"), *(cluster.find(K.LINK_DOWN, port) for port in ports))
    run.tick(ticks=3)
    assert run.only.severity is Severity.CRITICAL
    assert run.only.title.endswith("oss1 down since 08:00:00 — 64 GPUs, 2 jobs cut off")
    run.tick(cluster.find(waits, "job:2", 40))
    run.tick(ticks=20)
    assert (run.only.kind, str(run.only.root)) == (I.DEVICE_DOWN, "device:oss1")
    assert run.only.title.endswith("— 32 GPUs, job 2 stalled")


def test_a_storage_server_with_a_second_link_is_at_risk_and_waits_are_its_leafs(cluster: Fabric) -> None:
    second = Link("leaf9", "Ethernet0", "oss1", "mlx5_1")
    run = Run(Fabric([Device("leaf9", Role.LEAF, pod="pod1"), second]))
    run.tick(cluster.find(K.TARGET_SILENT, "leaf9"), cluster.find(K.LINK_DOWN, "oss1/mlx5_1"))
    run.tick(ticks=4)
    assert run.only.title == "[WARN] pod1: leaf9 down since 08:00:00 — 64 GPUs, 2 jobs at risk"
    run.tick(cluster.find(K.JOB_IDLE, "job:2", 10))
    run.tick(ticks=20)
    assert run.only.severity is Severity.CRITICAL
    assert run.only.title.endswith("leaf9 down since 08:00:00 — 32 GPUs, job 2 stalled")


def test_jobs_are_cut_off_where_a_second_link_of_the_server_does_not_help(cluster: Fabric) -> None:
    second = Link("leaf9", "Ethernet0", "oss1", "mlx5_1")
    run = Run(Fabric([Device("leaf9", Role.LEAF, pod="pod1"), second]))
    down = [cluster.find(K.LINK_DOWN, "oss1/mlx5_1"), cluster.find(K.STORAGE_SLOW, TARGET)]
    run.tick(cluster.find(K.TARGET_SILENT, "leaf9"), *down)
    run.tick(ticks=4)
    assert run.only.title == "[CRIT] pod1: leaf9 down since 08:00:00 — 64 GPUs, 2 jobs cut off"


def test_a_slow_target_of_another_server_cuts_nobody_off(cluster: Fabric) -> None:
    second = Link("leaf9", "Ethernet0", "oss1", "mlx5_1")
    run = Run(Fabric([Device("leaf9", Role.LEAF, pod="pod1"), second]))
    elsewhere = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0002")
    run.tick(cluster.find(K.TARGET_SILENT, "leaf9"), cluster.find(K.LINK_DOWN, "oss1/mlx5_1"), elsewhere)
    run.tick(ticks=4)
    titles = {incident.kind: incident.title for incident in run.incidents.values()}
    assert titles[I.DEVICE_DOWN] == "[WARN] pod1: leaf9 down since 08:00:00 — 64 GPUs, 2 jobs at risk"


def test_targets_behind_a_link_of_their_server_that_loses_packets_are_not_blamed(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_ERRORS, "leaf1/Ethernet7000"))
    run.tick(*(cluster.find(K.STORAGE_SLOW, f"storage_target:scratch/OST000{n}", 8, score=9) for n in range(2)))
    run.tick(cluster.find(K.CHECKPOINT_LATE, "job:1", 12))
    run.tick(ticks=20)
    assert run.roots == ["link_degraded leaf1/Ethernet7000--oss1/mlx5_0"]
    assert run.only.title.endswith("— 32 GPUs, job 1 stalled")


def test_a_checkpoint_that_has_not_come_pages_nobody(cluster: Fabric, run: Run) -> None:
    """A crash would cost more, but nobody waits."""
    run.tick(cluster.find(K.CHECKPOINT_OVERDUE, "job:1"))
    run.tick(ticks=30)
    assert (run.only.kind, run.only.severity) == (I.LATE_CHECKPOINT, Severity.INFO)


@pytest.mark.parametrize(("written_s", "ticks"), [(0, 3), (40, 1)])
def test_a_late_checkpoint_waits_for_a_slow_target_until_each_was_read_twice(
    cluster: Fabric, run: Run, written_s: int, ticks: int
) -> None:
    """A job that has been writing for that long by then waits for nothing else."""
    run.tick(ticks=10)
    now_s = 55
    run.tick(cluster.find(K.CHECKPOINT_LATE, "job:1", now_s - 2 - written_s))
    run.tick(ticks=ticks - 1)
    assert run.pages == ["late_checkpoint 1"]
    assert run.only.severity is Severity.CRITICAL


def of_others(fabric: Fabric, share: float, score: float = 1.2) -> Finding:
    """A checkpoint that is late, and the part that others have in what the target moves that it waits for."""
    shown = Evidence('storage_others_share{job_id="1"}', share, None, "ratio")
    late = fabric.find(K.CHECKPOINT_LATE, "job:1", score=score)
    return replace(late, evidence=(*late.evidence, shown))


def test_a_checkpoint_that_other_clients_make_late_pages_nobody_and_says_so(cluster: Fabric, run: Run) -> None:
    run.tick(of_others(cluster, 0.98))
    run.tick(ticks=8)
    assert run.only.severity is Severity.INFO
    assert run.only.title.startswith("[INFO] checkpoint of job 1 late, other clients use its storage")
    assert any("98% of what its target moves is of others" in each for each in run.only.because)
    assert not run.pages


def test_a_checkpoint_that_others_hold_up_for_far_longer_is_a_warning(cluster: Fabric, run: Run) -> None:
    run.tick(of_others(cluster, 0.98), ticks=8)
    run.tick(of_others(cluster, 0.98, score=2.5), ticks=8)
    run.tick(cluster.find(K.JOB_STALLED, "job:1", 20), ticks=8)
    assert run.only.severity is Severity.WARNING
    assert run.pages == ["late_checkpoint 1"]


def test_a_member_that_is_late_is_no_load_of_others(cluster: Fabric, run: Run) -> None:
    member = replace(cluster.find(K.CHECKPOINT_LATE, "job:1"), id="member", detector="checkpoint_member")
    run.tick(of_others(cluster, 0.98), member, ticks=4)
    assert run.only.severity is Severity.CRITICAL


def test_a_checkpoint_that_others_are_a_small_part_of_is_late_as_ever(cluster: Fabric, run: Run) -> None:
    run.tick(of_others(cluster, 0.3), ticks=4)
    assert run.only.severity is Severity.CRITICAL


def many_servers() -> Fabric:
    """Four storage servers of four file system targets each."""
    more: list[Entity] = []
    for n in (3, 4):
        more += [Device(f"oss{n}", Role.STORAGE, pod="pod1"), Link(f"leaf{n}", "Ethernet7000", f"oss{n}", "mlx5_0")]
        more += [StorageTarget("scratch", f"OST000{2 * n + t}", f"oss{n}") for t in (0, 1)]
    return Fabric(more)


@pytest.mark.parametrize("slow", [("OST0000", "OST0002", "OST0006"), ("OST0000", "OST0002", "OST0006", "OST0008")])
def test_several_servers_of_a_file_system_that_get_slow_at_once_are_one_incident(slow: Sequence[str]) -> None:
    fabric = many_servers()
    run = Run(fabric)
    for at_s, name in enumerate(slow):
        run.tick(fabric.find(K.STORAGE_SLOW, f"storage_target:scratch/{name}", at_s, score=4))
    run.tick(fabric.find(K.JOB_STALLED, "job:1", 12), ticks=8)
    alive = [one for one in run.incidents.values() if not one.resolved_ns]
    assert [one.root.name for one in alive] == ["scratch"]
    assert alive[0].title == (f"[CRIT] file system scratch slow, {len(slow)} of 4 servers — 32 GPUs, job 1 stalled")
    assert len(run.pages) == 1


def test_two_servers_that_get_slow_at_once_are_two_incidents() -> None:
    fabric = many_servers()
    run = Run(fabric)
    run.tick(
        *(fabric.find(K.STORAGE_SLOW, f"storage_target:scratch/{name}", score=4) for name in ("OST0000", "OST0006"))
    )
    run.tick(ticks=8)
    assert run.roots == ["slow_storage scratch/OST0000", "slow_storage scratch/OST0006"]


def test_targets_whose_servers_nobody_recorded_are_no_servers() -> None:
    fabric = Fabric()
    run = Run(fabric)
    slow = [fabric.find(K.STORAGE_SLOW, f"storage_target:other/OST000{n}", score=4) for n in range(3)]
    run.tick(*slow, ticks=8)
    assert run.roots == [f"slow_storage other/OST000{n}" for n in range(3)]


def test_a_file_system_is_its_slow_server_once_the_others_are_back() -> None:
    fabric = many_servers()
    run = Run(fabric)
    slow = [
        fabric.find(K.STORAGE_SLOW, f"storage_target:scratch/{name}", score=4)
        for name in ("OST0000", "OST0002", "OST0006")
    ]
    run.tick(*slow, ticks=8)
    assert run.only.root.name == "scratch"
    run.clear(slow[0])
    run.tick(ticks=4)
    assert run.only.title.startswith("[INFO] file system scratch slow, 2 of 4 servers")
    run.clear(slow[1])
    run.tick(ticks=4)
    assert run.only.title.startswith("[INFO] pod1: storage target scratch/OST0006 slow")


def test_servers_behind_a_fabric_that_stands_still_are_not_blamed_at_once() -> None:
    fabric = many_servers()
    run = Run(fabric)
    slow = [f"storage_target:scratch/{name}" for name in ("OST0000", "OST0002", "OST0006")]
    found = [*(fabric.find(K.STORAGE_SLOW, target, score=4) for target in slow), fabric.find(K.JOB_STALLED, "job:1", 1)]
    run.tick(fabric.find(K.PAUSE_STORM, fabric.uplink(1, 1)), *found)
    assert not run.pages
    run.tick(ticks=4)
    assert "slow_storage scratch" in run.pages


def test_a_host_that_stands_still_delays_no_page_about_storage(cluster: Fabric, run: Run) -> None:
    storm = cluster.find(K.PAUSE_STORM, cluster.facing(3, 7))
    run.tick(storm, cluster.find(K.STORAGE_SLOW, TARGET, score=9), cluster.find(K.JOB_STALLED, "job:1", 1))
    assert "slow_storage scratch/OST0000" in run.pages


def test_clients_that_wait_behind_a_bad_link_make_no_file_system_slow() -> None:
    """No more operations wait at each target than one client has in flight, and a client loses packets."""
    fabric = many_servers()
    slow = [f"storage_target:scratch/{name}" for name in ("OST0000", "OST0002", "OST0006")]
    found = [fabric.find(K.STORAGE_SLOW, target, 8, score=4) for target in slow]
    run = Run(fabric)
    errors = fabric.find(K.LINK_ERRORS, "node1/mlx5_0")
    run.tick(errors, *(replace(each, confidence=ONE_CLIENT_CONFIDENCE) for each in found), ticks=12)
    assert run.roots == ["link_degraded leaf1/Ethernet0--node1/mlx5_0"]
    sure = Run(fabric)
    sure.tick(errors, *found, ticks=12)
    assert sure.roots == ["link_degraded leaf1/Ethernet0--node1/mlx5_0", "slow_storage scratch"]


def test_pauses_that_end_at_servers_of_a_slow_file_system_are_its_own() -> None:
    fabric = many_servers()
    run = Run(fabric)
    slow = [f"storage_target:scratch/{name}" for name in ("OST0000", "OST0002", "OST0006")]
    pauses = [fabric.find(K.PFC_PAUSE_RECEIVED, f"leaf{n}/Ethernet7000") for n in (1, 2)]
    run.tick(*pauses, *(fabric.find(K.STORAGE_SLOW, target, score=4) for target in slow), ticks=12)
    assert run.only.root.name == "scratch"
    assert len(run.only.findings) == 5
