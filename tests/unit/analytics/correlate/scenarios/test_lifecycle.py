"""When incidents fire, stay open and resolve."""

from dataclasses import replace

import pytest

from telemetry.findings import FindingKind as K
from telemetry.findings import FindingState
from telemetry.incidents import IncidentKind, IncidentState, Severity
from telemetry.objects import gpu
from tests.unit.analytics.correlate.faults import host_link_down
from tests.unit.analytics.correlate.small_fabric import Fabric, Run, S

FIRING, RESOLVED = IncidentState.FIRING, IncidentState.RESOLVED


def test_missing_telemetry_never_resolves(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)))
    run.tick(ticks=2000)
    assert run.only.state is FIRING


def test_resolves_once_cleared_for_the_keep_firing_time(cluster: Fabric, run: Run) -> None:
    down = cluster.find(K.LINK_DOWN, cluster.uplink(1, 1))
    run.tick(down)
    run.tick(ticks=3)
    run.clear(down)
    run.tick(ticks=11)
    assert run.only.state is FIRING
    run.tick()
    assert run.only.state is RESOLVED
    assert run.only.resolved_ns == run.now_ns
    assert run.correlator.state().head["tracks"] == []


@pytest.mark.parametrize(("hours", "usual"), [(1, False), (25, True)])
def test_what_has_become_usual_is_not_called_repaired(cluster: Fabric, run: Run, hours: int, usual: bool) -> None:
    slow = cluster.find(K.STRAGGLER, gpu("node1", "GPU-0001-0"))
    run.tick(slow)
    run.tick(ticks=12)
    over_ns = slow.onset_ns + hours * 3600 * S
    run.tick(replace(slow, state=FindingState.CLEARED, observed_ns=over_ns))
    run.tick(ticks=12)
    assert run.only.state is RESOLVED
    assert ("nothing shows a repair" in run.only.timeline[-1].text) is usual


def test_flapping_finding_is_one_incident_without_gaps(cluster: Fabric, run: Run) -> None:
    for round_ in range(10):
        down = replace(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1), round_ * 30), id=f"down{round_}")
        run.tick(down)
        run.tick(ticks=2)
        run.clear(down)
        run.tick(ticks=2)
    assert run.only.state is FIRING
    assert len(run.only.findings) == 10


def test_what_waits_is_due_when_its_hold_is_over_and_no_longer_once_it_fires(cluster: Fabric, run: Run) -> None:
    """So a light tick in which nothing was found fires it in time."""
    assert not run.correlator.is_due(run.now_ns)
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)))
    hold_ns = 10 * S  # one end alone
    assert not run.correlator.is_due(run.now_ns + hold_ns - 1)
    assert run.correlator.is_due(run.now_ns + hold_ns)
    run.tick(ticks=2)
    assert run.only.fired_ns == run.now_ns
    assert not run.correlator.is_due(run.now_ns + hold_ns)


def test_a_finding_shorter_than_the_hold_opens_nothing(cluster: Fabric, run: Run) -> None:
    down = cluster.find(K.LINK_DOWN, cluster.uplink(1, 1))
    run.tick(down)
    run.clear(down)
    run.tick(ticks=30)
    assert run.incidents == {}


def test_onset_after_resolution_is_a_new_incident(cluster: Fabric, run: Run) -> None:
    for at in (0, 120):
        slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", at)
        run.tick(slow)
        run.tick(ticks=3)
        run.clear(slow)
        run.tick(ticks=20)
    assert [incident.state for incident in run.incidents.values()] == [RESOLVED, RESOLVED]


def test_a_job_that_stays_stalled_after_its_cause_gets_an_incident_of_its_own(cluster: Fabric, run: Run) -> None:
    slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000")
    run.tick(slow, cluster.find(K.JOB_STALLED, "job:1"))
    run.tick(ticks=3)
    run.clear(slow)
    run.tick(ticks=20)
    assert run.only.state is RESOLVED
    run.tick(ticks=20)
    assert run.roots == ["slow_storage scratch/OST0000", "unexplained 1"]


def test_late_and_repeated_versions_of_a_finding_change_nothing(cluster: Fabric, run: Run) -> None:
    down = replace(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), observed_ns=run.now_ns + 9)
    run.tick(down)
    run.tick(ticks=3)
    before = run.correlator.state().head["findings"]
    run.tick(replace(down, observed_ns=down.observed_ns - 1, state=FindingState.CLEARED), down, down)
    assert run.correlator.state().head["findings"] == before


def test_spine_and_its_first_link_are_merged_when_both_already_fire(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 2)), cluster.find(K.LINK_DOWN, cluster.uplink(2, 2)))
    run.tick(ticks=4)
    assert len(run.incidents) == 2
    run.tick(*(cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2), 25) for leaf in range(3, 9)))
    run.tick(ticks=2)
    states = sorted((incident.state, incident.kind) for incident in run.incidents.values())
    assert states == [(FIRING, IncidentKind.DEVICE_DOWN), (RESOLVED, IncidentKind.LINK_DOWN)]
    merged = next(incident for incident in run.incidents.values() if incident.state is RESOLVED)
    assert any("merged into" in entry.text for entry in merged.timeline)


def test_restored_links_shrink_the_cause_but_keep_the_incident(cluster: Fabric, run: Run) -> None:
    down = [cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2)) for leaf in range(1, 9)]
    run.tick(*down)
    run.tick(ticks=3)
    run.clear(*down[1:])
    run.tick(ticks=30)
    assert (len(run.incidents), run.only.state) == (1, FIRING)
    run.clear(down[0])
    run.tick(ticks=13)
    assert run.only.state is RESOLVED


def test_quiet_ticks_publish_nothing(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)))
    run.tick(ticks=2)
    assert run.tick(ticks=1) == []


def test_severity_never_falls_while_open(cluster: Fabric, run: Run) -> None:
    stalled = cluster.find(K.JOB_STALLED, "job:1")
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000"), stalled)
    run.tick(ticks=3)
    run.clear(stalled)
    run.tick(ticks=30)
    assert run.only.severity is Severity.CRITICAL


def test_device_that_dies_after_its_link_has_cleared_continues_the_incident(cluster: Fabric, run: Run) -> None:
    first = cluster.find(K.LINK_DOWN, cluster.uplink(1, 2))
    run.tick(first)
    run.tick(ticks=3)
    run.clear(first)
    run.tick(*(cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2), 25) for leaf in range(2, 9)))
    run.tick(ticks=3)
    assert run.only.kind is IncidentKind.DEVICE_DOWN


@pytest.mark.parametrize(("cadence_s", "ticks"), [(0.0, 12), (1.0, 12), (30.0, 36), (600.0, 72)])
def test_an_incident_stays_open_for_six_intervals_of_its_evidence(
    cadence_s: float, ticks: int, cluster: Fabric, run: Run
) -> None:
    """Of a minute at most, and of the collection where the evidence comes more often; a tick is half of that."""
    down = replace(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), cadence_s=cadence_s)
    run.tick(down)
    run.tick(ticks=13)  # it is seen from one end only: it waits for an interval of its evidence first
    run.clear(down)
    run.tick(ticks=ticks - 1)
    assert run.only.state is FIRING
    run.tick()
    assert run.only.state is RESOLVED


@pytest.mark.parametrize(("cadence_s", "ticks"), [(10.0, 12), (30.0, 36)])
def test_a_symptom_waits_for_a_cause_in_the_cadence_of_its_evidence(
    cadence_s: float, ticks: int, cluster: Fabric, run: Run
) -> None:
    run.tick(replace(cluster.find(K.JOB_STALLED, "job:1"), cadence_s=cadence_s))
    run.tick(ticks=ticks - 1)
    assert run.incidents == {}
    run.tick(ticks=2)
    assert run.only.kind is IncidentKind.UNEXPLAINED


def test_a_known_fault_pages_nobody_until_a_job_waits_for_it(cluster: Fabric, run: Run) -> None:
    old = [replace(one, since_first_seen=True) for one in host_link_down(cluster)[0][:2]]
    run.tick(*old)
    run.tick(ticks=20)
    assert (run.only.severity, run.only.since_first_seen) == (Severity.INFO, True)
    assert "since before it was first seen" in run.only.title
    assert any("a known fault; no job shows that it waits" in entry.text for entry in run.only.timeline)
    run.tick(cluster.find(K.JOB_STALLED, "job:1", 100))
    run.tick()
    assert run.only.severity is Severity.CRITICAL
    assert any(entry.text == "critical: job 1 stalled" for entry in run.only.timeline)


def test_a_known_fault_that_gets_worse_is_a_fault_like_any_other(cluster: Fabric, run: Run) -> None:
    run.tick(*(replace(one, since_first_seen=True) for one in host_link_down(cluster)[0][:1]))
    run.tick(ticks=5)
    assert run.only.severity is Severity.INFO
    run.tick(cluster.find(K.LINK_FLAPPING, "node1/mlx5_0", 30, score=5))
    run.tick(ticks=2)
    assert (run.only.severity, run.only.since_first_seen) == (Severity.WARNING, False)
