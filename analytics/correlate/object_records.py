"""What has happened to each object: flaps, bit errors, remaps, incidents, moves, changes. Bounded, in event time."""

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from analytics.correlate.cluster.graph import Graph
from analytics.correlate.config import NS_PER_S
from analytics.correlate.texts import record_line
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding
from telemetry.incidents import ObjectRecord, RecordEvent
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectKind, ObjectRef, parse_object

OBJECTS_MAX = 5_000
EVENTS_MAX = 12
DAY_NS = 24 * 3600 * NS_PER_S
KEPT_NS = 30 * DAY_NS  # as long as the programs of a GPU are counted, and a warranty case takes to prove (assumption)
HALF_LIFE_NS = 7 * DAY_NS  # assumption: a part that has been quiet for a week is half as suspect
SAME_NS = 60 * NS_PER_S  # both ends of a link show one event, each when it is read: a minute apart at most
INCIDENT, MOVE, CHANGE = "incident", "move", "change"
_OF_JOBS = frozenset({ChangeKind.JOB_START, ChangeKind.JOB_END})


@dataclass
class LastIncident:
    """The newest incident with this root. resolved_ns: 0 while it is open."""

    id: str
    resolved_ns: int = 0
    occurrences: int = 1
    gpu_seconds: float = 0.0


@dataclass
class Known:
    """One object. peer: of a port, the port at the other end when it was last looked at, '' where unknown."""

    since_ns: int
    newest_ns: int
    events: list[RecordEvent] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    peer: str = ""
    last: LastIncident | None = None


@dataclass
class ObjectRecords:
    """All records, by object. At most ``OBJECTS_MAX``: those that have been quiet for longest give way."""

    known: dict[str, Known] = field(default_factory=dict)

    def add_findings(self, new: Iterable[Finding], graph: Graph) -> None:
        """Findings that are seen for the first time. One about a port is of its cable too."""
        for finding in sorted(new, key=lambda each: (each.onset_ns, each.id)):
            if noun := finding_kinds()[finding.kind].record:
                for ref in dict.fromkeys((finding.object, graph.link_of.get(finding.object, finding.object))):
                    self._add(ref, RecordEvent(finding.onset_ns, noun), graph)

    def add_changes(self, changes: Iterable[Change], now_ns: int) -> None:
        """What was done to objects that have a record: a cable that was swapped says so here."""
        for change in changes:
            if change.kind not in _OF_JOBS and change.starts_ns <= now_ns:
                event = RecordEvent(change.starts_ns, CHANGE, f"{change.kind} {change.summary}".strip())
                for ref in change.objects:
                    known = self.known.get(str(ref))
                    if known and change.starts_ns >= _oldest_ns(known) and event not in known.events:
                        _append(known, event)

    def follow_moves(self, graph: Graph, now_ns: int) -> None:
        """Ports that lead elsewhere by now, and GPUs that are in another host: their record goes with them."""
        hosts = {ref.name.partition("/")[2]: ref for ref in graph.gpus}
        for key in sorted(self.known):
            ref, known = parse_object(key), self.known[key]
            if ref.kind is ObjectKind.PORT and (peer := graph.peers.get(ref)):
                if known.peer and known.peer != peer.name:
                    _append(known, RecordEvent(now_ns, MOVE, f"from {known.peer} to {peer.name}"))
                known.peer = peer.name
            if ref.kind is ObjectKind.GPU and ref not in graph.gpus:
                there = hosts.get(ref.name.partition("/")[2])
                if there is not None and str(there) not in self.known:
                    _append(known, RecordEvent(now_ns, MOVE, f"from {ref.device} to {there.device}"))
                    self.known[str(there)] = self.known.pop(key)

    def recurs(self, root: ObjectRef, now_ns: int, within_ns: int) -> LastIncident | None:
        """The incident with this root that ended at most ``within_ns`` ago, None without one."""
        known = self.known.get(str(root))
        last = known.last if known else None
        return last if last and last.resolved_ns and now_ns - last.resolved_ns <= within_ns else None

    def open_incident(self, root: ObjectRef, kind: str, incident: LastIncident, now_ns: int, graph: Graph) -> None:
        """An incident that begins to fire."""
        self._add(root, RecordEvent(now_ns, INCIDENT, f"{kind.replace('_', ' ')} {incident.id}"), graph)
        self.known[str(root)].last = incident

    def close_incident(self, root: ObjectRef, incident: LastIncident) -> None:
        """An incident that is over. Its root may be another one than when it began."""
        if known := self.known.get(str(root)):
            known.last = incident

    def of(self, root: ObjectRef, now_ns: int) -> ObjectRecord | None:
        """The record of an object as it is published, None without one."""
        known = self.known.get(str(root))
        if known is None:
            return None
        ages_ns = [max(0, now_ns - event.at_ns) for event in known.events if event.what not in (MOVE, CHANGE)]
        score = sum(0.5 ** (age_ns / HALF_LIFE_NS) for age_ns in ages_ns)
        events, counts = tuple(known.events), dict(sorted(known.counts.items()))
        return ObjectRecord(root, known.since_ns, events, counts, round(score, 2), record_line.of(events, now_ns))

    def forget_old(self, now_ns: int) -> None:
        """Those without an event for ``KEPT_NS``."""
        for key in [key for key, known in self.known.items() if now_ns - known.newest_ns > KEPT_NS]:
            del self.known[key]

    def _make_room(self) -> None:
        """A tenth at a time, as a storm of new objects would look for the quietest one with each of them."""
        quietest = sorted(self.known, key=lambda key: (self.known[key].newest_ns, key))
        for key in quietest[: OBJECTS_MAX // 10]:
            del self.known[key]

    def _add(self, ref: ObjectRef, event: RecordEvent, graph: Graph) -> None:
        known = self.known.get(str(ref))
        if known is None:
            if len(self.known) >= OBJECTS_MAX:
                self._make_room()
            peer = graph.peers.get(ref)
            known = self.known[str(ref)] = Known(event.at_ns, event.at_ns, peer=peer.name if peer else "")
        if event.what == INCIDENT or not any(
            one.what == event.what and abs(one.at_ns - event.at_ns) <= SAME_NS for one in known.events
        ):
            _append(known, event)


def _oldest_ns(known: Known) -> int:
    """What is older is not kept."""
    return known.events[0].at_ns if len(known.events) == EVENTS_MAX else known.since_ns


def _append(known: Known, event: RecordEvent) -> None:
    insort(known.events, event, key=attrgetter("at_ns", "what", "detail"))
    del known.events[:-EVENTS_MAX]
    known.counts[event.what] = known.counts.get(event.what, 0) + 1
    known.newest_ns = max(known.newest_ns, event.at_ns)
