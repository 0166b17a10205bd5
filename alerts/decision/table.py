"""The incidents that the stage knows, with an index for each question that a round asks. Pure."""

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AliasChoices, Field

from alerts.decision.lifecycle import NotifiedState
from alerts.own_kinds import OWN_KINDS
from telemetry.incidents import Incident
from telemetry.objects import Count

Importance = tuple[bool, int, int]
_STALE_ENTRIES = 1000  # of the heap, before it is built again: far below the size at which that takes milliseconds


@dataclass(frozen=True, slots=True)
class Tracked:
    """One incident as this stage knows it. incident: newest version, None once it is over and nobody waits for it.

    updated_ns: event time of the newest version. taken_ns: stage time at which we took it; 0 before schema 3.
    """

    updated_ns: Count
    incident: Incident | None
    # "told" in outboxes of schema 1
    notified: Annotated[NotifiedState | None, Field(validation_alias=AliasChoices("notified", "told"))]
    taken_ns: Count = 0

    @property
    def is_open(self) -> bool:
        """Whether people were paged and wait for the end."""
        return self.notified is not None and self.notified.firing

    @property
    def known_since_ns(self) -> int:
        return self.taken_ns or self.updated_ns


class EvictionReason(StrEnum):
    """Why an incident made room for another one."""

    RESOLVED = "resolved"
    LESS_IMPORTANT = "less_important"


def importance(incident: Incident) -> Importance:
    """Larger is more important: that incidents are lost, then the worse, and of equal ones the older."""
    return incident.kind in OWN_KINDS, incident.severity.rank, -incident.onset_ns


class Table:
    """Every incident is in exactly one of: open, over, expendable."""

    def __init__(self, tracked: Mapping[str, Tracked]) -> None:
        self.tracked: dict[str, Tracked] = {}
        self.open: dict[str, None] = {}
        # oldest first, as stage time never goes back
        self._over: dict[str, None] = {}
        self._over_and_notified: dict[str, None] = {}
        self._expendable: dict[str, Importance] = {}
        self._heap: list[tuple[Importance, str]] = []
        for incident_id, each in sorted(tracked.items(), key=lambda item: item[1].known_since_ns):
            self.put(incident_id, each)

    def put(self, incident_id: str, each: Tracked) -> None:
        """Adds or replaces it."""
        before = self._expendable.get(incident_id)
        self.remove(incident_id)
        self.tracked[incident_id] = each
        if each.is_open:
            self.open[incident_id] = None
        elif each.incident is None:
            (self._over if each.notified is None else self._over_and_notified)[incident_id] = None
        else:
            now = self._expendable[incident_id] = importance(each.incident)
            if now != before:
                self._push(now, incident_id)

    def remove(self, incident_id: str) -> None:
        for index in (self.tracked, self.open, self._over, self._over_and_notified, self._expendable):
            index.pop(incident_id, None)

    @property
    def bounded(self) -> int:
        """Incidents that count against the limit: those without an open page."""
        return len(self.tracked) - len(self.open)

    def over(self, count: int, besides: Collection[str]) -> list[str]:
        """Up to ``count`` incidents that are over: those that nobody was notified of first, oldest first."""
        found: list[str] = []
        for index in (self._over, self._over_and_notified):
            for incident_id in index:
                if len(found) >= count:
                    return found
                if incident_id not in besides:
                    found.append(incident_id)
        return found

    def over_since(self, before_ns: int) -> list[str]:
        """The incidents that are over and were last heard of before that."""
        found: list[str] = []
        for index in (self._over, self._over_and_notified):
            for incident_id in index:
                if self.tracked[incident_id].known_since_ns >= before_ns:
                    break
                found.append(incident_id)
        return found

    def least_important(self, count: int, besides: Collection[str]) -> list[tuple[Importance, str]]:
        """Up to ``count`` incidents that are not over and have no open page, least important first."""
        found: list[tuple[Importance, str]] = []
        looked_at: list[tuple[Importance, str]] = []
        while self._heap and len(found) < count:
            entry = heapq.heappop(self._heap)
            repeated = bool(looked_at) and looked_at[-1] == entry
            if repeated or self._expendable.get(entry[1]) != entry[0]:
                continue
            looked_at.append(entry)
            if entry[1] not in besides:
                found.append(entry)
        for entry in looked_at:
            heapq.heappush(self._heap, entry)
        return found

    def _push(self, now: Importance, incident_id: str) -> None:
        heapq.heappush(self._heap, (now, incident_id))
        if len(self._heap) > 2 * len(self._expendable) + _STALE_ENTRIES:
            self._heap = [(each, key) for key, each in self._expendable.items()]
            heapq.heapify(self._heap)
