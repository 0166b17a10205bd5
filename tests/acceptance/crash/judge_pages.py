"""Compares the incidents on the bus with what two receivers were sent. Pure.

A receiver knows only what it gets: it drops a notification with a key that it has seen, and a page is visible when an
incident begins to fire that did not fire before. Alertmanager's notifications have no key; it drops repetitions itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MUTED = "info"  # the severity that pages nobody


@dataclass(frozen=True, slots=True)
class Notification:
    """receiver: who got it. key: '' where there is none. fires: else it is the end of the incident."""

    receiver: str
    key: str
    incident: str
    fires: bool
    body: str


@dataclass(frozen=True, slots=True)
class IncidentOnTheBus:
    """Its newest version."""

    id: str
    severity: str
    fired: bool
    resolved: bool

    @property
    def pages(self) -> bool:
        return self.fired and self.severity != MUTED


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """incidents: that must page. transitions: each of them fired, and some ended. visible: pages that people saw.

    doubled: pages or ends beyond the one, and keys with two meanings. missing: transitions that nobody was notified of.
    invented: notifications of incidents that are not on the bus. repeated: sent again under a known key, not visible.
    """

    incidents: int
    transitions: int
    visible: int
    doubled: int
    missing: int
    invented: int
    repeated: int

    @property
    def passed(self) -> bool:
        return not (self.doubled or self.missing or self.invented)


def judge_pages(
    incidents: Sequence[IncidentOnTheBus], notifications: Sequence[Notification], receivers: Sequence[str]
) -> PageVerdict:
    """notifications: in the order in which they came. receivers: all that must be notified; figures are their sums."""
    paging = {one.id: one for one in incidents if one.pages}
    known = {one.id for one in incidents}
    expected = sum(1 + one.resolved for one in paging.values())
    visible = doubled = missing = repeated = 0
    for receiver in receivers:
        got = [one for one in notifications if one.receiver == receiver]
        fresh = _once_a_key(got)
        repeated += len(got) - len(fresh)
        doubled += _keys_with_two_meanings(got)
        turns = _turns(fresh)
        for fires in turns.values():
            visible += fires.count(True)
            doubled += max(0, fires.count(True) - 1) + max(0, fires.count(False) - 1)
        for identity, incident in paging.items():
            fires = turns.get(identity, [])
            missing += (True not in fires) + (incident.resolved and False not in fires)
    return PageVerdict(
        incidents=len(paging),
        transitions=expected,
        visible=visible,
        doubled=doubled,
        missing=missing,
        invented=sum(one.incident not in known for one in notifications),
        repeated=repeated,
    )


def _once_a_key(got: Iterable[Notification]) -> list[Notification]:
    keys, fresh = set[str](), []
    for one in got:
        if not one.key or one.key not in keys:
            fresh.append(one)
        keys.add(one.key)
    return fresh


def _keys_with_two_meanings(got: Iterable[Notification]) -> int:
    bodies: dict[str, set[str]] = defaultdict(set)
    for one in got:
        if one.key:
            bodies[one.key].add(one.body)
    return sum(len(of_one) - 1 for of_one in bodies.values())


def _turns(fresh: Iterable[Notification]) -> Mapping[str, list[bool]]:
    """By incident, each time that it began to fire or ended; what fires already and is notified again is an update."""
    turns: dict[str, list[bool]] = defaultdict(list)
    for one in fresh:
        state = turns[one.incident]
        if one.fires != (bool(state) and state[-1]):
            state.append(one.fires)
    return turns
