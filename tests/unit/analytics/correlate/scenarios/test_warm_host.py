"""One host that is only warm is a line on a board; it is a page once that harms somebody, or is about to."""

from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def warm(cluster: Fabric, host: str = "node1", at: float = 0.0, margin: float = 9.0) -> Finding:
    """The GPUs of a host are warmer than their power explains. margin: kelvin until the first one slows down."""
    found = cluster.find(K.OVERHEATED, host, at)
    temperature, left = Evidence("median(t{})", 78.0, 69.0, "celsius"), Evidence("least(m{})", margin, None, "kelvin")
    return replace(found, detector="rack_hot", evidence=(temperature, left))


def test_a_warm_host_that_slows_nothing_is_info_and_says_why(cluster: Fabric, run: Run) -> None:
    run.tick(warm(cluster))
    run.tick(ticks=10)
    assert (run.only.kind, run.only.severity) == (I.ENVIRONMENT, Severity.INFO)
    assert "no job waits" in run.only.title
    (why,) = [entry.text for entry in run.only.timeline if entry.text.startswith("fired: ")]
    assert "heat slows no GPU of it" in why
    assert why.endswith("so nobody is paged")


def test_it_is_a_page_once_heat_slows_one_of_its_gpus(cluster: Fabric, run: Run) -> None:
    run.tick(warm(cluster))
    run.tick(ticks=10)
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 0), 55))
    assert (run.only.kind, str(run.only.root), run.only.severity) == (I.ENVIRONMENT, "device:node1", Severity.WARNING)
    assert [entry for entry in run.only.timeline if entry.text.endswith("heat slows GPUs of it")]


def test_it_is_a_page_once_a_gpu_is_about_to_slow_down(cluster: Fabric, run: Run) -> None:
    run.tick(warm(cluster))
    run.tick(ticks=10)
    run.tick(replace(warm(cluster, margin=1.5), observed_ns=warm(cluster, at=55).observed_ns))
    assert run.only.severity is Severity.WARNING


@pytest.mark.parametrize("kind", [K.OVERHEATED, K.PART_FAILED])
def test_warm_air_by_its_sensor_and_a_part_that_failed_are_pages(kind: K, cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(kind, "node1"))
    run.tick(ticks=10)
    assert (run.only.kind, run.only.severity) == (I.ENVIRONMENT, Severity.WARNING)


def test_a_part_that_fails_under_a_warm_host_is_a_page(cluster: Fabric, run: Run) -> None:
    run.tick(warm(cluster))
    run.tick(ticks=10)
    run.tick(cluster.find(K.PART_FAILED, "node1", 55))
    assert run.only.severity is Severity.WARNING


def test_a_job_that_slows_down_after_it_was_warm_waits_for_something_else(cluster: Fabric, run: Run) -> None:
    was_warm = warm(cluster)
    run.tick(was_warm)
    run.tick(ticks=10)
    run.clear(was_warm)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 55), ticks=4)
    assert {each.severity for each in run.incidents.values() if each.kind is I.ENVIRONMENT} == {Severity.INFO}


def test_a_warm_rack_is_a_page(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.OVERHEATED, "rack:r1"), warm(cluster))
    run.tick(ticks=10)
    assert (str(run.only.root), run.only.severity) == ("rack:r1", Severity.WARNING)


def test_one_gpu_that_alone_is_too_warm_is_a_fault_of_it(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_HOT, cluster.gpu(1, 0)), ticks=4)
    assert (run.only.kind, run.only.root, run.only.severity) == (I.GPU_FAULT, cluster.gpu(1, 0), Severity.WARNING)
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 0), 60), ticks=4)
    assert run.only.kind is I.GPU_FAULT


def test_several_of_a_host_have_its_air_in_common(cluster: Fabric, run: Run) -> None:
    hot = [cluster.find(K.GPU_HOT, cluster.gpu(1, index)) for index in range(2)]
    run.tick(*hot, cluster.find(K.GPU_HOT, cluster.gpu(1, 2)), ticks=4)
    assert (run.only.kind, str(run.only.root)) == (I.ENVIRONMENT, "device:node1")
    assert run.only.severity is Severity.WARNING
