"""What a step of correlation looks at where there is too much: the rest waits, and hides nothing of other devices."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from analytics.correlate.budget import LeftOut, consider
from analytics.correlate.config import CorrelateConfig
from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentState
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

SMALL = CorrelateConfig(correlated_findings_max=20, device_findings_max=10)


def lost(cluster: Fabric, number: int, host: int = 1, at: float = 0.0) -> list[Finding]:
    """So many GPUs of one host."""
    return [cluster.find(K.GPU_LOST, f"gpu:node{host}/GPU-{each:05d}", at) for each in range(number)]


def ids(findings: Sequence[Finding]) -> set[str]:
    return {finding.id for finding in findings}


def test_few_are_all_looked_at(cluster: Fabric) -> None:
    findings = lost(cluster, 10)
    assert consider(findings, [], SMALL).findings == findings


def test_of_one_kind_on_one_device_the_first_are(cluster: Fabric) -> None:
    storm, other = lost(cluster, 40, at=1), cluster.find(K.LINK_DOWN, "node1/mlx5_0", 2)
    early = replace(storm[30], onset_ns=storm[30].onset_ns - 1)
    found = consider([*storm[:30], early, *storm[31:], other], [], SMALL)
    assert ids(found.findings) == ids([*storm[:9], early, other])
    assert found.left_out == {LeftOut.DEVICE_LIMIT: 30, LeftOut.CLUSTER_LIMIT: 0}
    assert found.devices == {"node1"}


def test_the_first_of_each_device_and_kind_come_before_any_second(cluster: Fabric) -> None:
    storm = [finding for host in (1, 2, 3) for finding in lost(cluster, 8, host)]
    later = [cluster.find(K.LINK_DOWN, f"node{host}/mlx5_0", 9) for host in range(4, 9)]
    found = consider([*storm, *later], [], SMALL)
    assert ids(later) <= ids(found.findings)
    assert len(found.findings) == 20
    assert found.left_out == {LeftOut.DEVICE_LIMIT: 0, LeftOut.CLUSTER_LIMIT: 9}
    assert ids(consider([*later, *reversed(storm)], [], SMALL).findings) == ids(found.findings)


def test_what_is_in_an_incident_stays_in_it(start: type[Run], cluster: Fabric) -> None:
    """Else it would look as if it had cleared."""
    run = start(cluster, SMALL)
    ports = [(host, f"node{host}/mlx5_{rail}") for host in range(1, 4) for rail in range(6)]
    run.tick(*(cluster.find(K.LINK_ERRORS, port, -60.0 * host) for host, port in ports))
    run.tick(ticks=3)
    firing = set(run.incidents)
    run.tick(*(cluster.find(K.LINK_DOWN, f"x{number}/p0", 20) for number in range(30)))
    run.tick(ticks=20)
    assert {key for key, one in run.incidents.items() if one.state is IncidentState.FIRING} >= firing
    assert len(firing) == 18


def test_the_rest_is_looked_at_once_others_have_cleared(start: type[Run], cluster: Fabric) -> None:
    run = start(cluster, SMALL)
    first = [cluster.find(K.LINK_ERRORS, f"x{number}/p0", 0) for number in range(20)]
    last = cluster.find(K.LINK_ERRORS, "y/p0", 1)
    run.tick(*first, last)
    run.tick(ticks=3)
    assert run.correlator.left_out[LeftOut.CLUSTER_LIMIT] == 1
    assert "port:y/p0" not in {str(one.root) for one in run.incidents.values()}
    assert all("over 20 findings are active: the rest waits" in one.gaps for one in run.incidents.values())
    run.clear(first[0])
    run.tick(ticks=3)
    assert not any(run.correlator.left_out.values())
    assert "port:y/p0" in {str(one.root) for one in run.incidents.values()}


@pytest.mark.parametrize("number", [11, 3000])
def test_an_incident_of_a_device_with_a_storm_says_so(start: type[Run], cluster: Fabric, number: int) -> None:
    run = start(cluster, SMALL)
    run.tick(*lost(cluster, number))
    run.tick(ticks=9)  # until no more than a step takes wait
    assert run.only.gaps == ("node1 has over 10 findings of one kind: the rest waits",)
    assert len(run.only.findings) == 10
