"""Devices that come back with other software: what their incident says, and when it is planned work."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from analytics.correlate import versions
from analytics.detectors.telemetry.software import Change, evidence_key
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, IncidentState, Severity
from telemetry.incidents import IncidentKind as I
from telemetry.topology import Job
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

KERNEL = Change("kernel", "6.8.0-60", "6.8.0-57")
DRIVER = Change("gpu_driver", "580.126.09", "580.105.08")
SAID = "came back with kernel 6.8.0-60, had 6.8.0-57"


def without_scheduler(run: Run) -> None:
    facts = {key: fact for key, fact in run.topology.facts.items() if not isinstance(fact.entity, Job)}
    run.topology = replace(run.topology, facts=facts)


def new_software(run: Run, name: str, *changes: Change) -> Finding:
    """What a device has since now."""
    at_ns = run.now_ns
    evidence = tuple(Evidence(evidence_key(name, each), 1.0, None, "version") for each in changes)
    found = run.cluster.find(K.SOFTWARE_CHANGED, name, score=1.0)
    return replace(found, id=f"{found.id}@{at_ns}", onset_ns=at_ns, observed_ns=at_ns, evidence=evidence)


def goes(run: Run, name: str) -> Sequence[Finding]:
    at_s = (run.now_ns - T0) / S
    cluster = run.cluster
    ports = [cluster.facing(leaf, int(name[4:])) for leaf in range(1, 9)]
    return [*(cluster.find(K.LINK_DOWN, port, at_s) for port in ports), cluster.find(K.TARGET_SILENT, name, at_s)]


def away_and_back(run: Run, name: str, away_s: int, *changes: Change) -> None:
    gone = goes(run, name)
    run.tick(*gone, ticks=away_s // 5)
    run.clear(*gone)
    rebooted = run.cluster.find(K.DEVICE_REBOOTED, name, (run.now_ns - T0) / S)
    run.tick(rebooted, *([new_software(run, name, *changes)] if changes else []))
    run.tick(ticks=3)


def said(incident: Incident) -> bool:
    return any(SAID in entry.text for entry in incident.timeline)


def test_a_host_that_was_in_use_says_what_it_came_back_with_and_stays_what_it_was(run: Run) -> None:
    away_and_back(run, "node1", 120, KERNEL)
    assert (run.only.kind, run.only.severity) == (I.DEVICE_DOWN, Severity.CRITICAL)
    assert said(run.only)
    assert any(SAID in reason for reason in run.only.because)
    assert len(run.pages) == 1


def test_a_reboot_that_nobody_missed_says_so_too(cluster: Fabric, run: Run) -> None:
    run.tick()
    run.tick(cluster.find(K.DEVICE_REBOOTED, "node1", 5), new_software(run, "node1", KERNEL), ticks=3)
    assert (run.only.kind, said(run.only)) == (I.DEVICE_REBOOTED, True)


@pytest.mark.parametrize(("changes", "severity"), [((), Severity.CRITICAL), ((KERNEL,), Severity.INFO)])
def test_a_host_of_which_no_use_is_known_that_is_back_with_another_kernel_was_worked_on(
    run: Run, changes: Sequence[Change], severity: Severity
) -> None:
    without_scheduler(run)
    away_and_back(run, "node1", 120, *changes)
    assert (len(run.incidents), run.only.severity, said(run.only)) == (1, severity, bool(changes))


def test_what_is_back_late_stays_what_it_is(run: Run) -> None:
    without_scheduler(run)
    away_and_back(run, "node1", 1900, KERNEL)
    assert (run.only.kind, run.only.severity, said(run.only)) == (I.DEVICE_DOWN, Severity.CRITICAL, True)


def test_an_exporter_that_starts_later_adds_what_it_says(run: Run) -> None:
    away_and_back(run, "node1", 120, KERNEL)
    run.tick(new_software(run, "node1", DRIVER), ticks=2)
    whole = "node1 came back with gpu driver 580.126.09, had 580.105.08; kernel 6.8.0-60, had 6.8.0-57"
    assert whole in [entry.text for entry in run.only.timeline]
    assert [reason for reason in run.only.because if "came back" in reason] == [whole]


def test_new_software_without_a_reboot_is_no_incident(cluster: Fabric, run: Run) -> None:
    run.tick(*(new_software(run, f"node{n}", DRIVER) for n in range(1, 9)), ticks=40)
    assert run.incidents == {}
    later = cluster.find(K.GPU_LOST, cluster.gpu(1, 1), 200)
    run.tick(later, ticks=3)
    assert not said(run.only)


def test_it_is_known_over_a_restart(run: Run) -> None:
    away_and_back(run, "node1", 120, KERNEL)
    state = run.correlator.state()
    run.correlator.restore(state)
    assert run.correlator.state() == state
    assert state.head["versions"]["node1"]["kernel"]["had"] == "6.8.0-57"


def test_hosts_that_lose_gpus_since_they_got_a_driver_are_one_incident_about_it(cluster: Fabric, run: Run) -> None:
    """Minutes after each other, in two racks, one of them long after the first."""
    run.tick(*(new_software(run, name, DRIVER) for name in ("node1", "node2", "node5", "node6")), ticks=60)
    lost_alike(run, ("node2", "node5", "node6"))
    (firing,) = [one for one in run.incidents.values() if one.state is IncidentState.FIRING]
    assert firing.kind is I.GPU_FAULT
    assert "3 GPUs of 3 hosts with new gpu driver 580.126.09" in firing.title
    why = "on 3 GPUs of 3 of 4 hosts with new gpu driver 580.126.09 within an hour, by chance once in"
    assert any(why in reason for reason in firing.because)


@pytest.mark.parametrize(
    ("updated", "kinds"),
    [
        ((), (K.GPU_LOST,) * 3),  # nothing is new
        (("node2", "node5"), (K.GPU_LOST,) * 3),  # one of them has not got it
        (("node2", "node5", "node6"), (K.GPU_LOST, K.GPU_HUNG, K.GPU_ECC)),  # they fail in other ways
        (("node2", "node5", "node6"), (K.GPU_THROTTLED,) * 3),  # by the air of each
    ],
)
def test_what_has_no_new_version_in_common_or_is_not_alike_stays_apart(
    run: Run, updated: Sequence[str], kinds: Sequence[K]
) -> None:
    run.tick(*(new_software(run, name, DRIVER) for name in updated), ticks=60)
    lost_alike(run, ("node2", "node5", "node6"), kinds)
    assert len([one for one in run.incidents.values() if one.state is IncidentState.FIRING]) == 3


def test_hosts_that_failed_before_their_update_did_not_fail_of_it(run: Run) -> None:
    lost_alike(run, ("node2", "node5", "node6"))
    run.tick(*(new_software(run, name, DRIVER) for name in ("node2", "node5", "node6")), ticks=10)
    assert len([one for one in run.incidents.values() if one.state is IncidentState.FIRING]) == 3


def lost_alike(run: Run, names: Sequence[str], kinds: Sequence[K] = (K.GPU_LOST,) * 3) -> None:
    """A GPU of each host fails, five minutes after the one before, and stays so."""
    for name, kind in zip(names, kinds, strict=True):
        run.tick(run.cluster.find(kind, run.cluster.gpu(int(name[4:]), 1), (run.now_ns - T0) / S), ticks=60)


def test_a_version_is_forgotten_after_a_week_and_with_its_device(run: Run) -> None:
    run.tick(new_software(run, "node1", KERNEL), new_software(run, "gone9", KERNEL))
    assert sorted(run.correlator.state().head["versions"]) == ["node1"]
    run.now_ns += versions.KEPT_NS
    run.tick(ticks=3)
    run.tick(new_software(run, "node2", KERNEL))
    assert sorted(run.correlator.state().head["versions"]) == ["node2"]
