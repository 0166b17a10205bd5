"""What a tour saw: what was broken, what the API says of incidents, and what a receiver got."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from common.units import NS_PER_S
from fabricscope.api.instants import rfc3339_ns
from tests.servers.webhook import Request

STATES = ("opened", "fired", "resolved")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault as it happened. root: ``kind:name``. jobs: names of those whose hosts it is on, or that use it."""

    name: str
    target: str
    words: str
    root: str
    kinds: tuple[str, ...]
    start_ns: int
    end_ns: int
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification as the receiver got it. sent_ns: whole seconds, as its header says."""

    incident: str
    status: str
    sent_ns: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Transition:
    """A change of an incident's state, in event time: ``opened``, ``fired`` or ``resolved``. One that comes back opens
    again."""

    at_ns: int
    incident: str
    what: str


@dataclass(frozen=True, slots=True)
class Tour:
    """incidents: the newest version of each that was seen. transitions: in order of time. lag_s_max: seconds that the
    simulation was late, at most."""

    hosts: int
    switches: int
    targets: int
    series: int
    jobs: tuple[str, ...]
    interval_s: float
    faults: tuple[Fault, ...]
    incidents: tuple[Mapping[str, Any], ...]
    transitions: tuple[Transition, ...]
    notifications: tuple[Notification, ...]
    lag_s_max: float


def transitions_of(incident: Mapping[str, Any]) -> set[Transition]:
    """Those that the API's newest version has."""
    return {Transition(rfc3339_ns(incident[what]), incident["id"], what) for what in STATES if incident[what]}


def notifications_of(requests: Iterable[Request]) -> tuple[Notification, ...]:
    """Those that a webhook accepted, in order; a repetition under the same key counts once, as receivers drop it."""
    by_key = {request.headers["x-fabricscope-key"]: request for request in reversed(list(requests))}
    found = [_notification(request) for request in by_key.values()]
    return tuple(sorted(found, key=lambda one: one.sent_ns))


def pages_of(notifications: Iterable[Notification]) -> tuple[Notification, ...]:
    """Those that wake somebody: an alert that fires already is updated, not paged again."""
    firing: set[str] = set()
    pages = []
    for one in notifications:
        if one.status != "firing":
            firing.discard(one.incident)
        elif one.incident not in firing:
            firing.add(one.incident)
            pages.append(one)
    return tuple(pages)


def _notification(request: Request) -> Notification:
    body = json.loads(request.body)
    (alert,) = body["alerts"]
    return Notification(
        incident=alert["labels"]["incident_id"],
        status=alert["status"],
        sent_ns=int(request.headers["x-fabricscope-timestamp"]) * NS_PER_S,
        labels=alert["labels"],
        annotations=alert["annotations"],
    )
