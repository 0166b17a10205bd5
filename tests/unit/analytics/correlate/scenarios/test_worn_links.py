"""A link whose error correction works hard and loses nothing is a line on a board, not a page."""

from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState, Severity
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def margin(cluster: Fabric, at_s: float) -> Finding:
    return replace(errors_corrected(cluster, 3e-5, at_s), id="margin")


def errors_corrected(cluster: Fabric, ratio: float, at_s: float = 0) -> Finding:
    evidence = (Evidence("fabric_port_bit_error_ratio{}", ratio, 2e-9, "ratio"),)
    return replace(cluster.find(K.WEAR, cluster.uplink(2, 3), at_s), detector="fec_margin", evidence=evidence)


def test_little_reserve_alone_is_wear(cluster: Fabric, run: Run) -> None:
    run.tick(margin(cluster, 0))
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), ticks=3)
    assert (run.only.kind, run.only.severity) == (I.WEAR, Severity.INFO)
    assert any("nothing is lost so far" in entry.text for entry in run.only.timeline)


def test_errors_that_rise_and_are_all_corrected_are_a_line_on_a_board(cluster: Fabric, run: Run) -> None:
    run.tick(errors_corrected(cluster, 6e-7), ticks=3)
    assert run.only.title.startswith("[INFO] pod1: bit errors of leaf2/Ethernet4008--spine3/Ethernet4 rose to 6.0e-07")
    assert any("usually 2.0e-09; none is left" in entry.text for entry in run.only.timeline)
    assert not run.pages


def test_little_reserve_and_errors_at_once_are_one_incident(cluster: Fabric, run: Run) -> None:
    run.tick(margin(cluster, 0))
    run.tick(cluster.find(K.LINK_ERRORS, cluster.downlink(3, 2), 10))
    run.tick(ticks=5)
    newest = {incident.kind: incident for incident in run.incidents.values() if incident.resolved_ns == 0}
    assert list(newest) == [I.LINK_DEGRADED]
    assert newest[I.LINK_DEGRADED].severity is Severity.WARNING
    assert "margin" in newest[I.LINK_DEGRADED].findings


def test_a_link_that_has_had_little_reserve_for_long_breaks_when_it_breaks(cluster: Fabric, run: Run) -> None:
    errors = cluster.find(K.LINK_ERRORS, cluster.downlink(3, 2), 300)
    run.tick(margin(cluster, 0))
    run.tick(ticks=60)
    run.tick(errors)
    run.tick(ticks=5)
    found = {incident.kind: incident for incident in run.incidents.values()}
    assert sorted(found) == [I.LINK_DEGRADED, I.WEAR]
    assert found[I.LINK_DEGRADED].onset_ns == errors.onset_ns


def test_a_link_that_came_back_from_a_flap_worse_is_wear_and_the_flap_is_over(cluster: Fabric, run: Run) -> None:
    flaps = cluster.find(K.LINK_FLAPPING, cluster.uplink(2, 3), 0)
    run.tick(flaps, errors_corrected(cluster, 6e-7, 2), ticks=5)
    assert run.only.kind is I.LINK_FLAPPING
    run.clear(flaps)
    run.tick(ticks=40)
    found = {incident.kind: incident for incident in run.incidents.values()}
    assert found[I.LINK_FLAPPING].state is IncidentState.RESOLVED
    assert (found[I.WEAR].state, found[I.WEAR].severity) == (IncidentState.FIRING, Severity.INFO)


@pytest.mark.parametrize(
    ("ratio", "began_s", "expected"),
    [
        (3e-6, 5, I.SLOW_RECEIVER),  # FEC repairs all of it, so nobody waits for that
        (3e-6, -300, I.LINK_DEGRADED),  # the pauses began long before the job slowed down
        (1e-3, 5, I.LINK_DEGRADED),  # more than FEC repairs: frames are lost
    ],
)
def test_a_job_that_slows_down_beside_errors_that_are_repaired_waits_for_pressure_that_began_with_it(
    ratio: float, began_s: float, expected: I, cluster: Fabric, run: Run
) -> None:
    evidence = (Evidence("fabric_port_bit_error_ratio{}", ratio, 2e-9, "ratio"),)
    errors = cluster.find(K.LINK_ERRORS, cluster.facing(1, 2))
    slowed = replace(cluster.find(K.JOB_SLOWED, "job:1", 10, score=0.5), confidence=0.2)  # one low bin
    run.tick(replace(errors, detector="fec_budget", evidence=evidence), slowed)
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), began_s), ticks=4)
    assert [one.kind for one in run.incidents.values() if slowed.id in one.findings] == [expected]
    assert (run.of_kind(I.SLOW_RECEIVER).severity is Severity.INFO) == (expected is I.LINK_DEGRADED)
