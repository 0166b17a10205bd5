"""Telemetry that is lost: one device is a line on a board, most of them at once are their collector."""

from dataclasses import replace

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from telemetry.series import series_key
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def silent(cluster: Fabric, device: str, collector: str) -> Finding:
    up = series_key("up", {"device": device, "target": f"{collector}/{device}"})
    return replace(cluster.find(K.TARGET_SILENT, device), evidence=(Evidence(up, 0.0, 1.0, "state"),))


def test_one_silent_device_among_healthy_ones_pages_nobody(cluster: Fabric, run: Run) -> None:
    run.tick(silent(cluster, "node2", "dcgm"))
    run.tick(ticks=60)
    assert (run.only.kind, str(run.only.root), run.only.severity) == (I.TELEMETRY_LOST, "device:node2", Severity.INFO)


def test_that_it_is_silent_does_not_explain_that_its_job_waits(cluster: Fabric, run: Run) -> None:
    run.tick(silent(cluster, "node6", "dcgm"), cluster.find(K.STRAGGLER, cluster.gpu(6, 1), score=4))
    run.tick(cluster.find(K.JOB_STALLED, "job:2", 3), ticks=60)
    found = {incident.kind: incident for incident in run.incidents.values()}
    assert set(found) == {I.TELEMETRY_LOST, I.STRAGGLER}
    assert found[I.TELEMETRY_LOST].severity is Severity.INFO
    assert found[I.TELEMETRY_LOST].gpu_seconds == 0.0
    assert found[I.STRAGGLER].severity is Severity.CRITICAL


def test_most_devices_of_a_role_at_once_are_what_collects_them(cluster: Fabric, run: Run) -> None:
    run.tick(*(silent(cluster, f"node{n}", "dcgm") for n in range(1, 6)), silent(cluster, "leaf3", "gnmi"))
    run.tick(ticks=4)
    assert run.roots == ["telemetry_lost leaf3", "telemetry_lost node1"]
    texts = [entry.text for incident in run.incidents.values() for entry in incident.timeline]
    assert "fired: 5 of 8 devices of role host at once, all collected by dcgm: suspect what collects them" in texts


def test_what_collects_them_is_named_and_to_be_checked_and_none_of_them(cluster: Fabric, run: Run) -> None:
    """As where ingest is short of CPU: it leaves out collections, and all of the devices are well."""
    run.tick(*(silent(cluster, f"node{n}", "dcgm") for n in range(1, 6)))
    run.tick(ticks=4)
    what, _, _ = run.only.title.partition(" — ")
    assert what == "[INFO] pod1: no telemetry from 5 of 8 devices of role host at once, all collected by dcgm"
    assert run.only.action.startswith("Ask /-/ready of the API whether ingest leaves out collections")
    assert "node" not in run.only.action


def test_half_of_a_role_are_so_many_devices(cluster: Fabric, run: Run) -> None:
    run.tick(*(silent(cluster, f"node{n}", "dcgm") for n in range(1, 5)))
    run.tick(ticks=4)
    assert len(run.incidents) == 4
