"""Silence alone is not death: whoever lives would see the link to a dead device go down."""

import pytest

from telemetry.findings import FindingKind as F
from telemetry.incidents import IncidentKind as I
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

HOSTS_OF_R1 = ("node1", "node2", "node3", "node4")


def test_a_rack_whose_streams_starve_has_power(cluster: Fabric, run: Run) -> None:
    run.tick(*(cluster.find(F.TARGET_SILENT, node) for node in HOSTS_OF_R1), ticks=20)
    assert I.RACK_POWER not in {incident.kind for incident in run.incidents.values()}


@pytest.mark.parametrize("dead", [HOSTS_OF_R1, HOSTS_OF_R1[:3]])
def test_a_rack_that_its_leaves_have_lost_has_none(dead: tuple[str, ...], cluster: Fabric, run: Run) -> None:
    silent = [cluster.find(F.TARGET_SILENT, node) for node in dead]
    lost = [cluster.find(F.LINK_DOWN, cluster.facing(leaf, int(node[4:]))) for node in dead for leaf in range(1, 9)]
    run.tick(*silent, *lost, ticks=20)
    assert run.roots == ["rack_power r1"]
