"""Whether a tour ends as it must: an incident and a page for each fault that name it, and nothing else. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from fabricscope.api.instants import rfc3339_ns
from tests.acceptance.tour.record import Fault, Notification, Tour, pages_of


def problems(tour: Tour) -> list[str]:
    """What is wrong, a line each; empty when all is well."""
    pages = pages_of(tour.notifications)
    found = [line for fault in tour.faults for line in _problems_of(fault, tour, pages)]
    found += [
        f"an incident that is none of the faults: {incident['kind']} at {root_of(incident)}, {incident['title']!r}"
        for incident in counted(tour)
        if not any(names(fault, incident) for fault in tour.faults)
    ]
    expected = {incident["id"] for fault in tour.faults for incident in incidents_of(fault, tour)}
    found += [
        f"a page that is for none of the faults: {page.annotations['title']!r}"
        for page in pages
        if page.incident not in expected
    ]
    return found


def counted(tour: Tour) -> list[Mapping[str, Any]]:
    """All incidents but those that were over before the first fault: the program had just started."""
    begin_ns = min(fault.start_ns for fault in tour.faults)
    return [one for one in tour.incidents if not one["resolved"] or rfc3339_ns(one["resolved"]) >= begin_ns]


def incidents_of(fault: Fault, tour: Tour) -> list[Mapping[str, Any]]:
    """Those that name it, in the order of the API."""
    return [incident for incident in counted(tour) if names(fault, incident)]


def names(fault: Fault, incident: Mapping[str, Any]) -> bool:
    return root_of(incident) == fault.root and incident["kind"] in fault.kinds


def root_of(incident: Mapping[str, Any]) -> str:
    """``kind:name``"""
    return "{kind}:{name}".format(**incident["root"])


def _problems_of(fault: Fault, tour: Tour, pages: tuple[Notification, ...]) -> Iterator[str]:
    mine = incidents_of(fault, tour)
    if len(mine) != 1:
        yield f"{fault.name} at {fault.root}: {len(mine)} incidents, expected one"
    yield from (f"{fault.name} at {fault.root}: its incident never fired" for one in mine if not one["fired"])
    of_mine = [page for page in pages if page.incident in {incident["id"] for incident in mine}]
    if len(of_mine) != 1:
        yield f"{fault.name} at {fault.root}: {len(of_mine)} pages, expected one"
    for page in of_mine:
        if page.labels["object"] != fault.root:
            yield f"{fault.name} at {fault.root}: its page names {page.labels['object']}"
