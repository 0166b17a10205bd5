"""Where the time until a page goes: parts that add up to it."""

from dataclasses import astuple, replace

from common.units import NS_PER_S
from evaluation.families import rows
from evaluation.families.delays import delay_of
from evaluation.families.paging import Page
from evaluation.families.run_plan import FamilyRun
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from tests.unit.evaluation.families.made_up import CABLE, finding, judge, page, run, truth

FAULT = truth("link-down", CABLE, starts_s=1000.0)


def noticed(*published: tuple[Finding, float], fired_s: float, paged_s: float) -> FamilyRun:
    """A run with one incident: its findings with the time of publication."""
    sent = page(IncidentKind.LINK_DOWN, CABLE, fired_s)
    fired = Page(sent.at_ns, replace(sent.incident, findings=tuple(found.id for found, _ in published)))
    made = run([FAULT], [Page(int(paged_s * NS_PER_S), fired.incident)])
    made.notices = {fired.incident.id: fired}
    made.findings = {found.id: found for found, _ in published}
    made.published_ns = {found.id: int(at_s * NS_PER_S) for found, at_s in published}
    return made


def seen(onset_s: float, observed_s: float) -> Finding:
    found = finding(FindingKind.LINK_DOWN, "port:leaf1/Ethernet0", onset_s)
    return replace(found, observed_ns=int(observed_s * NS_PER_S))


def test_the_parts_follow_the_first_finding_that_was_published() -> None:
    made = noticed((seen(1002.0, 1022.0), 1030.0), (seen(1003.0, 1013.0), 1020.0), fired_s=1030.0, paged_s=1045.0)
    found = delay_of(made.pages[0], FAULT.start_ns, made)
    assert found is not None
    assert astuple(found) == (3.0, 10.0, 7.0, 10.0, 15.0)
    assert found.total_s == 45.0


def test_what_was_there_before_the_fault_shows_nothing_of_it() -> None:
    old = (seen(900.0, 990.0), 995.0)
    made = noticed(old, (seen(998.0, 1004.0), 1010.0), fired_s=1010.0, paged_s=1010.0)
    found = delay_of(made.pages[0], FAULT.start_ns, made)
    assert found is not None
    assert astuple(found) == (0.0, 4.0, 6.0, 0.0, 0.0)
    made = noticed(old, fired_s=1010.0, paged_s=1010.0)
    assert delay_of(made.pages[0], FAULT.start_ns, made) is None


def test_the_table_has_the_medians_by_kind_of_fault_and_what_they_may_take() -> None:
    outcomes = [
        judge(noticed((seen(1002.0, 1002.0), published), fired_s=paged, paged_s=paged))
        for published, paged in ((1010.0, 1014.0), (1012.0, 1022.0), (1008.0, 1010.0))
    ]
    table = [row for row in rows.rows(outcomes) if row["table"] == "delays"]
    assert [row["fault"] for row in table] == ["link-down", "all hard"]
    first = table[0]
    assert (first["faults"], first["paged"], first["in time"], first["may take"]) == (3, 3, 2, 15.0)
    assert (first["tick closes"], first["hold"], first["all"]) == (8.0, 4.0, 14.0)
