"""What has happened to each object: flaps, bit errors, remaps, incidents, moves, changes. Bounded, in event time.

A port's record is that of its module where the serial is known: it follows the serial into another port.
"""

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter

from analytics.correlate.cluster.graph import Graph
from analytics.correlate.config import NS_PER_S
from analytics.correlate.texts import record_line
from analytics.correlate.texts.clock import clock
from analytics.models.flap_comparison import FlapComparison
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding
from telemetry.incidents import ObjectRecord, RecordEvent, TimelineEntry
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectKind, ObjectRef, parse_object
from telemetry.series import is_series_key, parse_series_key

OBJECTS_MAX = 5_000
EVENTS_MAX = 12
PARTS_MAX = 64
_by_time = attrgetter("at_ns", "what", "detail")
DAY_NS = 24 * 3600 * NS_PER_S
KEPT_NS = 30 * DAY_NS  # as long as the programs of a GPU are counted, and a warranty case takes to prove (assumption)
HALF_LIFE_NS = 7 * DAY_NS  # assumption: a part that has been quiet for a week is half as suspect
SAME_NS = 60 * NS_PER_S  # both ends of a link show one event, each when it is read: a minute apart at most
INCIDENT, MOVE, CHANGE, MODULE = "incident", "move", "change", "module"
NO_FAILURES = frozenset({*record_line.WORK, record_line.COMPARED})
_NO_PART = NO_FAILURES | {INCIDENT}  # their details are of the object
_PARTS = ("link", "sensor", "peer")  # labels: an NVLink of a GPU, a fan of a device, a session of a switch
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
    """One object. peer: of a port, the port at the other end when it was last looked at, '' where unknown.

    serials: of the module in each port that the object is or has, where known. left: the port that a module was in, ''
    while it is in one. parts: counts of what parts showed, by part; of the first ``PARTS_MAX``.
    """

    since_ns: int
    newest_ns: int
    events: list[RecordEvent] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    peer: str = ""
    last: LastIncident | None = None
    serials: dict[str, str] = field(default_factory=dict)
    left: str = ""
    parts: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass
class ObjectRecords:
    """All records, by object. At most ``OBJECTS_MAX``: those that have been quiet for longest give way.

    unplugged: those of modules that are in no port, by serial; as many.
    """

    known: dict[str, Known] = field(default_factory=dict)
    unplugged: dict[str, Known] = field(default_factory=dict)

    def add_findings(self, new: Iterable[Finding], graph: Graph) -> None:
        """Findings that are seen for the first time. One about a port is of its cable too."""
        for finding in sorted(new, key=attrgetter("onset_ns", "id")):
            if noun := finding_kinds()[finding.kind].record:
                event, link = RecordEvent(finding.onset_ns, noun, _part(finding)), graph.link_of.get(finding.object)
                for ref in (finding.object,) if link is None else (finding.object, link):
                    self._add(ref, event, graph)

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

    def follow_modules(self, graph: Graph, now_ns: int) -> list[TimelineEntry]:
        """Ports with another module than before begin a new record, and the one of the old module goes where it went.

        A port that states no serial any more keeps its record until another one states it. Returns what incidents
        should say.
        """
        said: list[TimelineEntry] = []
        places = _places(graph)
        for key in sorted(self.known):
            ref, known = parse_object(key), self.known[key]
            here = _serials(ref, graph)
            for port, serial in here.items():
                if (before := known.serials.get(port, serial)) != serial:
                    event = RecordEvent(now_ns, MODULE, f"{serial} in place of {before}")
                    if ref.kind is ObjectKind.PORT:
                        self._unplug(before, key)
                        known = self.known[key] = Known(now_ns, now_ns, peer=known.peer)
                    else:
                        event = replace(event, detail=f"{event.detail} in {port}")
                    _append(known, event)
                    said.append(TimelineEntry(now_ns, ref, f"module {event.detail}"))
            known.serials |= here
            if ref.kind is ObjectKind.PORT and not here and (serial := known.serials.get(ref.name, "")):
                far_end = {graph.peers[ref]} if ref in graph.peers else set()  # a cable may have one serial
                if places[serial] - far_end:
                    self._unplug(serial, key)
        if self.unplugged:
            said += self._plug_in(graph, now_ns)
        return said

    def _unplug(self, serial: str, key: str) -> None:
        """Keeps the record of a module that left its port."""
        known = self.known.pop(key)
        known.left = parse_object(key).name
        if serial in self.unplugged:  # both ends of a cable may state one serial
            _merge(known, self.unplugged[serial])
        elif len(self.unplugged) >= OBJECTS_MAX:
            _make_room(self.unplugged)
        self.unplugged[serial] = known

    def _plug_in(self, graph: Graph, now_ns: int) -> list[TimelineEntry]:
        """Gives the records of modules that are in a port again to that port."""
        said: list[TimelineEntry] = []
        for ref, serial in sorted((ref, serial) for ref, serial in graph.serials.items() if serial in self.unplugged):
            module = self.unplugged.pop(serial, None)
            if module is None:
                continue
            left, module.left = module.left, ""
            past = ", ".join(f"{n} x {what}" for what, n in sorted(module.counts.items()) if what not in NO_FAILURES)
            if here := self.known.pop(str(ref), None):
                _merge(module, here)
            module.serials = {ref.name: serial}
            peer = graph.peers.get(ref)
            module.peer = peer.name if peer else ""
            self._keep(ref, module)
            if left != ref.name:
                _append(module, RecordEvent(now_ns, MOVE, f"from {left} to {ref.name}"))
                said.append(TimelineEntry(now_ns, ref, f"module {serial} was in {left} before"))
                if (cable := graph.link_of.get(ref)) and past:
                    event = RecordEvent(now_ns, MODULE, f"{serial} from {left} in {ref.name}, there {past}")
                    self._add(cable, event, graph)
                    said.append(TimelineEntry(now_ns, cable, f"module {event.detail}"))
        return said

    def add_comparison(self, flap: FlapComparison, graph: Graph, now_ns: int) -> list[TimelineEntry]:
        """How a port came back from a flap, for its record and its link's; returns what their incidents should say.

        What is as before begins no record.
        """
        said: list[TimelineEntry] = []
        for ref in dict.fromkeys((flap.port, graph.link_of.get(flap.port, flap.port))):
            at = "" if ref == flap.port else f" at {flap.port.name}"
            text = f"{flap.verdict}{at}: {flap.changes}" if flap.changes else str(flap.verdict)
            if flap.changes or str(ref) in self.known:
                self._add(ref, RecordEvent(flap.flapped_ns, record_line.COMPARED, text), graph)
            where = "" if flap.changes else at
            said.append(TimelineEntry(now_ns, ref, f"after the flap at {clock(flap.flapped_ns)}{where}: {text}"))
        return said

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
        ages_ns = [max(0, now_ns - event.at_ns) for event in known.events if event.what not in NO_FAILURES]
        score = sum(0.5 ** (age_ns / HALF_LIFE_NS) for age_ns in ages_ns)
        events, counts = tuple(known.events), dict(sorted(known.counts.items()))
        line, serials = record_line.of(events, now_ns), dict(sorted(known.serials.items()))
        parts = {part: dict(sorted(shown.items())) for part, shown in sorted(known.parts.items())}
        return ObjectRecord(root, known.since_ns, events, counts, round(score, 2), line, serials, parts)

    def forget_old(self, now_ns: int) -> None:
        """Those without an event for ``KEPT_NS``."""
        for kept in (self.known, self.unplugged):
            for key in [key for key, known in kept.items() if now_ns - known.newest_ns > KEPT_NS]:
                del kept[key]

    def _keep(self, ref: ObjectRef, known: Known) -> None:
        if len(self.known) >= OBJECTS_MAX:
            _make_room(self.known)
        self.known[str(ref)] = known

    def _add(self, ref: ObjectRef, event: RecordEvent, graph: Graph) -> None:
        known = self.known.get(str(ref))
        if known is None:
            peer = graph.peers.get(ref)
            known = Known(event.at_ns, event.at_ns, peer=peer.name if peer else "", serials=_serials(ref, graph))
            self._keep(ref, known)
        if event.what in (INCIDENT, MODULE, record_line.COMPARED) or not any(
            (one.what, one.detail) == (event.what, event.detail) and abs(one.at_ns - event.at_ns) <= SAME_NS
            for one in known.events
        ):
            _append(known, event)


def _part(finding: Finding) -> str:
    """Which part of its object shows it, as ``link 5``; '' where that is the object itself."""
    for evidence in finding.evidence:
        if is_series_key(evidence.series):
            labels = parse_series_key(evidence.series)[1]
            for name in _PARTS:
                if name in labels:
                    return f"{name} {labels[name]}"
    return ""


def _serials(ref: ObjectRef, graph: Graph) -> dict[str, str]:
    """Of the modules in a port, or at both ends of a link, by port."""
    if ref.kind not in (ObjectKind.PORT, ObjectKind.LINK) or not graph.serials:
        return {}
    ports = graph.ports(ref) or (ref,)
    return {port.name: graph.serials[port] for port in ports if port in graph.serials}


def _places(graph: Graph) -> defaultdict[str, set[ObjectRef]]:
    """The ports that state each serial."""
    found: defaultdict[str, set[ObjectRef]] = defaultdict(set)
    for port, serial in graph.serials.items():
        found[serial].add(port)
    return found


def _make_room(kept: dict[str, Known]) -> None:
    """A tenth at a time, as a storm of new objects would look for the quietest one with each of them."""
    quietest = sorted(kept, key=lambda key: (kept[key].newest_ns, key))
    for key in quietest[: OBJECTS_MAX // 10]:
        del kept[key]


def _merge(known: Known, other: Known) -> None:
    """Adds what happened to a module under another name."""
    known.events = _newest([*known.events, *other.events])
    known.counts = dict(Counter(known.counts) + Counter(other.counts))
    for part, shown in other.parts.items():
        known.parts[part] = dict(Counter(known.parts.get(part, {})) + Counter(shown))
    known.since_ns, known.newest_ns = min(known.since_ns, other.since_ns), max(known.newest_ns, other.newest_ns)
    known.last = other.last or known.last


def _newest(events: Iterable[RecordEvent]) -> list[RecordEvent]:
    return sorted(events, key=_by_time)[-EVENTS_MAX:]


def _oldest_ns(known: Known) -> int:
    """What is older is not kept."""
    return known.events[0].at_ns if len(known.events) == EVENTS_MAX else known.since_ns


def _append(known: Known, event: RecordEvent) -> None:
    insort(known.events, event, key=_by_time)
    del known.events[:-EVENTS_MAX]
    known.counts[event.what] = known.counts.get(event.what, 0) + 1
    if event.detail and event.what not in _NO_PART and (event.detail in known.parts or len(known.parts) < PARTS_MAX):
        shown = known.parts.setdefault(event.detail, {})
        shown[event.what] = shown.get(event.what, 0) + 1
    known.newest_ns = max(known.newest_ns, event.at_ns)
