"""Pages as a webhook received them, and plans as cluster files."""

from dataclasses import replace
from pathlib import Path

import yaml

from evaluation.collected.families import CLUSTERS, FAMILIES, planned
from evaluation.collected.observed import Notified, Observed
from evaluation.collected.run_live import add_pages, cluster_of
from evaluation.families import parts
from simulator.cluster_file import read_cluster
from telemetry.incidents import IncidentKind, IncidentState
from telemetry.objects import parse_object
from tests.unit.evaluation.families.made_up import CABLE, page, run

FIRST = page(IncidentKind.LINK_DOWN, CABLE, 1000.0, key="a").incident
LATER = replace(FIRST, root=parse_object("device:node1"))
OVER = replace(LATER, state=IncidentState.RESOLVED)


def test_a_page_is_about_the_version_that_was_known_and_updates_are_none() -> None:
    versions = [(10, FIRST), (30, LATER), (50, OVER), (70, LATER)]
    notified = [Notified(15, FIRST.id, True), Notified(35, FIRST.id, True), Notified(55, FIRST.id, False)]
    again = Notified(75, FIRST.id, True)
    found = run([], [])
    add_pages(found, Observed(versions, notified=[*notified, again]), lambda wall_ns: wall_ns * 6)
    assert [(one.at_ns, one.incident.root) for one in found.pages] == [(90, FIRST.root), (450, LATER.root)]
    assert found.roots == {FIRST.id: LATER.root}
    assert {key: notice.at_ns for key, notice in found.notices.items()} == {FIRST.id: 60}


def test_a_notification_about_the_product_itself_is_no_page() -> None:
    found = run([], [])
    add_pages(found, Observed([(10, FIRST)], notified=[Notified(15, "own", True)]), lambda wall_ns: wall_ns)
    assert found.pages == []


def test_a_plan_is_a_cluster_file_of_the_same_cluster_faults_and_telemetry(tmp_path: Path) -> None:
    parts.check(FAMILIES)
    plans = planned()
    assert len(plans) == CLUSTERS * len(FAMILIES)
    assert len({plan.config.seed for plan in plans}) == len(plans)
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump(cluster_of(plans[0])))
    found = read_cluster(file)
    assert (found.config, found.faults) == (plans[0].config, plans[0].faults)
    assert found.collection == parts.collection_of(plans[0].family)
