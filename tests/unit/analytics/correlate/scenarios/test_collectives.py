"""Collectives far below their baseline open no incident, and show in that of a cause what it costs a job."""

from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

BANDWIDTH = Evidence("nccl_bus_bandwidth_bytes_per_second{}", 19.6e9, 65.49e9, "bytes_per_second")
TEXT = "job 1 moves far less data in its collectives than nccl-tests did (19.6 GB/s against 65.5 GB/s)"


def below(cluster: Fabric, at_s: float, job: str = "1") -> Finding:
    found = cluster.find(K.COLLECTIVE_BELOW_BASELINE, f"job:{job}", at_s)
    return replace(found, confidence=0.2, evidence=(BANDWIDTH,))


def texts(run: Run) -> list[str]:
    return [entry.text for entry in run.only.timeline]


def test_it_is_no_incident(cluster: Fabric, run: Run) -> None:
    run.tick(below(cluster, 0), ticks=60)
    assert run.incidents == {}


@pytest.mark.parametrize(
    ("kind", "about", "expected"),
    [
        (K.LINK_ERRORS, "leaf3/Ethernet4", I.LINK_DEGRADED),
        (K.GPU_NVLINK_ERRORS, "gpu:node2/GPU-0002-3", I.GPU_FAULT),
        (K.TCP_FALLBACK, "node2", I.TCP_FALLBACK),
        (K.PFC_PAUSE_RECEIVED, "leaf3/Ethernet4", I.SLOW_RECEIVER),
    ],
)
def test_it_is_a_symptom_of_what_its_job_meets(cluster: Fabric, run: Run, kind: K, about: str, expected: I) -> None:
    run.tick(cluster.find(kind, about))
    run.tick(ticks=4)
    before = run.only.severity
    run.tick(below(cluster, 20), ticks=12)
    assert run.only.kind is expected
    assert TEXT in texts(run)
    assert run.only.severity is before  # nothing shows that it waits


def test_that_of_another_job_is_not_its_own(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_NVLINK_ERRORS, "gpu:node2/GPU-0002-3"))
    run.tick(below(cluster, 20, job="2"), ticks=12)
    assert not [text for text in texts(run) if "nccl-tests" in text]


def test_what_was_so_before_has_another_reason(cluster: Fabric, run: Run) -> None:
    run.tick(below(cluster, -600))
    run.tick(cluster.find(K.LINK_ERRORS, "leaf3/Ethernet4"), ticks=12)
    assert not [text for text in texts(run) if "nccl-tests" in text]


def test_it_pages_nobody_for_pressure(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, "leaf3/Ethernet4"), below(cluster, 5), ticks=30)
    assert run.only.severity is Severity.INFO
