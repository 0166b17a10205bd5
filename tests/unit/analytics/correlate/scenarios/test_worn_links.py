"""A link whose error correction works hard and loses nothing is a line on a board, not a page."""

from dataclasses import replace

from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def margin(cluster: Fabric, at_s: float) -> Finding:
    return replace(cluster.find(K.WEAR, cluster.uplink(2, 3), at_s), detector="fec_margin", id="margin")


def test_little_reserve_alone_is_wear(cluster: Fabric, run: Run) -> None:
    run.tick(margin(cluster, 0))
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), ticks=3)
    assert (run.only.kind, run.only.severity) == (I.WEAR, Severity.INFO)
    assert any("nothing is lost so far" in entry.text for entry in run.only.timeline)


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
