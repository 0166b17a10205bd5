"""Pages are what the alerts stage would send: neither pending nor harmless incidents, and no second one in a while."""

from dataclasses import replace

from common.units import NS_PER_S
from evaluation.families.paging import Pager
from telemetry.incidents import IncidentKind, IncidentState, Severity
from telemetry.objects import device, parse_object
from tests.unit.evaluation.families.made_up import CABLE, page

FIRING = page(IncidentKind.LINK_DOWN, CABLE, 100.0, key="one").incident


def at(second: float) -> int:
    return int(second * NS_PER_S)


def test_the_first_version_that_notifies_somebody_is_the_page() -> None:
    pager = Pager()
    pager.step([replace(FIRING, state=IncidentState.PENDING, updated_ns=at(80))], at(80))
    pager.step([replace(FIRING, severity=Severity.INFO, updated_ns=at(90))], at(90))
    assert pager.pages == []
    pager.step([FIRING], at(100))
    assert [(each.at_ns, each.incident) for each in pager.pages] == [(at(100), FIRING)]


def test_a_change_of_root_is_known_later_and_no_second_page() -> None:
    pager = Pager()
    pager.step([FIRING], at(100))
    moved = replace(FIRING, root=device("leaf1"), kind=IncidentKind.DEVICE_DOWN, updated_ns=at(110))
    pager.step([moved], at(110))
    assert pager.roots == {"one": parse_object(CABLE)}  # not within five minutes of the page
    pager.step([], at(401))
    assert (pager.roots, len(pager.pages)) == ({"one": device("leaf1")}, 1)


def test_an_incident_that_returns_after_its_quiet_time_is_a_second_page() -> None:
    pager = Pager()
    for second, state in ((100, "firing"), (200, "resolved"), (300, "firing"), (500, "resolved"), (2000, "firing")):
        pager.step([replace(FIRING, state=IncidentState(state), updated_ns=at(second))], at(second))
    assert [each.at_ns for each in pager.pages] == [at(100), at(2000)]


def test_no_more_pages_than_the_budget_allows() -> None:
    pager = Pager()
    pager.step([replace(FIRING, id=str(number), severity=Severity.CRITICAL) for number in range(30)], at(100))
    assert len(pager.pages) == 20
    pager.step([], at(701))
    assert len(pager.pages) == 30
