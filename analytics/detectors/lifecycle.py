"""From verdicts to findings: onset, persistence, hysteresis and ids that only depend on the telemetry."""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from analytics.detectors.spec import Verdicts
from analytics.detectors.unjudged import Unjudged
from analytics.snapshot.stateful import State
from analytics.state.lookup import lookup
from analytics.view.tick_view import TickView
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.objects import parse_object

_EVIDENCE_MAX = 5
_RISE = 1.5  # an active finding is published again when its score rose by this factor …
_GONE_MAX = 1000  # objects of a detector without any series that may come back; of more the oldest are given up
_FIRST_VALUE = 0.5  # gaps between two values within which the first one came; a rate needs one gap more
_NEVER_SEEN = 2**63 - 1
_REFRESH_INTERVALS = 6  # … or has more evidence than ever; or after so many intervals, to show that it is still active
_SEEN_INTERVALS = 7.0  # with load again until it is over: what comes back is proved within six samples (``heights``)


@dataclass
class Entry:
    """One object that breaches a detector's limit, or did so recently."""

    onset_ns: int
    newest_ns: int  # newest sample judged
    breached_ns: int  # newest sample that breached
    samples: int = 1  # that breached, in a row
    active: bool = False
    published_ns: int = 0
    published_score: float = 0.0
    published_evidence: int = 0  # the most values of it
    # The most that it carried in a sample that breached, or usually; bytes a second, of a GPU watts. 0: not known.
    load: float = 0.0
    idle_since_ns: int = 0  # first sample since the newest breach with too little load to show anything, 0 without any
    idle_ns: int = 0  # newest such sample that counts
    unseen: bool = False  # without these it would be over
    # What each series of its evidence was by itself when it was first judged, None where that was not known: while the
    # fault lasts the series learns it.
    normals: dict[str, float | None] = field(default_factory=dict)


def finding_id(detector: str, kind: str, subject: str, onset_ns: int) -> str:
    """The same telemetry gives the same id, in whatever process and order it is judged."""
    return hashlib.blake2b(f"{detector}\n{kind}\n{subject}\n{onset_ns}".encode(), digest_size=10).hexdigest()


class Publisher(Protocol):
    """A source of findings; see ``Detector``, whose fields these are."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> FindingKind: ...
    @property
    def persist(self) -> int: ...
    @property
    def fire_immediately_score(self) -> float: ...
    @property
    def clear_intervals(self) -> float: ...


class FindingTracker:
    """The objects that breach a detector's limit, or did so recently. Healthy objects use no memory."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Entry]] = {}  # by detector and object
        self._kinds: dict[str, str] = {}  # of those detectors
        self.unjudged = Unjudged()

    def update(self, detector: Publisher, verdicts: Verdicts, view: TickView) -> list[Finding]:
        """The findings that these verdicts open, change or clear, ordered by object."""
        entries = self._entries.setdefault(detector.name, {})
        self._kinds[detector.name] = detector.kind
        rows = set(np.flatnonzero(verdicts.breached).tolist())
        if not entries and not rows:
            return []
        findings = []
        if entries:
            tracked = np.array([view.index.objects.get(name) for name in entries], dtype=float)
            gone = np.isnan(tracked)
            if np.count_nonzero(gone) > _GONE_MAX:
                findings = _forget_gone(
                    detector, entries, [n for n, is_gone in zip(entries, gone, strict=True) if is_gone]
                )
            at = lookup(verdicts.objects, tracked[~gone].astype(np.int64))
            rows.update(at[at >= 0].tolist())
        findings += self._rows(detector, entries, verdicts, rows, view)
        return sorted(findings, key=lambda finding: finding.object)

    def open(self, detector: Publisher, verdicts: Verdicts, view: TickView) -> list[Finding]:
        """The findings that these verdicts of a light tick open, ordered by object; what is open waits for its tick."""
        entries = self._entries.setdefault(detector.name, {})
        self._kinds[detector.name] = detector.kind
        rows = np.flatnonzero(verdicts.breached).tolist()
        if not rows:
            return []
        names = [view.index.objects.names[number] for number in verdicts.objects[rows].tolist()]
        new = [row for row, name in zip(rows, names, strict=True) if name not in entries or not entries[name].active]
        return sorted(self._rows(detector, entries, verdicts, new, view), key=lambda finding: finding.object)

    def _rows(
        self, detector: Publisher, entries: dict[str, Entry], verdicts: Verdicts, rows: Iterable[int], view: TickView
    ) -> list[Finding]:
        found = (self._row(detector, entries, verdicts, row, view) for row in sorted(rows))
        return [finding for finding in found if finding is not None]

    def _row(
        self, detector: Publisher, entries: dict[str, Entry], verdicts: Verdicts, row: int, view: TickView
    ) -> Finding | None:
        name = view.index.objects.names[int(verdicts.objects[row])]
        now_ns, score = int(verdicts.times_ns[row]), float(verdicts.score[row])
        entry = entries.get(name)
        if entry is None:
            onset_ns = now_ns if verdicts.onsets_ns is None else int(verdicts.onsets_ns[row])
            entry = entries[name] = Entry(onset_ns, now_ns, now_ns)
        elif now_ns <= entry.newest_ns:
            return None  # nothing new about this object
        elif verdicts.breached[row]:
            entry.samples, entry.breached_ns = entry.samples + 1, now_ns
        entry.newest_ns = now_ns
        was_unseen, follow_ns = entry.unseen, round(view.config.baseline_follow_s * 1e9)
        idle = _is_idle(entry, verdicts, row, follow_ns)
        evidence = _evidence(verdicts, row, view, entry.normals)
        at_once = score >= detector.fire_immediately_score
        state = _next_state(entry, detector, bool(verdicts.breached[row]), at_once, _waits_ns(verdicts, row, view))
        if not verdicts.breached[row] and (state is FindingState.CLEARED or not entry.active):
            del entries[name]
        shown = sum(not math.isnan(columns.values[row]) for columns in verdicts.evidence[:_EVIDENCE_MAX])
        worth = shown > entry.published_evidence or _worth_publishing(entry, score, now_ns, view)
        worth |= entry.unseen != was_unseen
        if state is None or not (state is FindingState.CLEARED or worth):
            return None
        entry.published_ns = now_ns
        if not entry.unseen:
            entry.published_score = score
        entry.published_evidence = max(shown, entry.published_evidence)
        unseen = entry.unseen or (idle and state is FindingState.CLEARED)
        return _finding(detector, verdicts, row, entry, state, view, evidence, entry.idle_since_ns if unseen else 0)

    def active_about(self, *detectors: str, since_ns: int = 0) -> list[str]:
        """Names of the objects about which these detectors have active findings, with an onset since then."""
        known = (self._entries.get(detector, {}) for detector in detectors)
        return [
            name for entries in known for name, entry in entries.items() if entry.active and entry.onset_ns >= since_ns
        ]

    def active_by_detector(self, since_ns: int) -> Mapping[str, Sequence[str]]:
        """The same by detector, of those that follow any object."""
        return {
            detector: self.active_about(detector, since_ns=since_ns)
            for detector, entries in self._entries.items()
            if entries
        }

    def objects(self) -> set[str]:
        """Names of the objects that breach a limit, or did so recently."""
        return {name for entries in self._entries.values() for name in entries}

    def active(self) -> int:
        """How many findings are active."""
        return sum(entry.active for entries in self._entries.values() for entry in entries.values())

    def adopt(self, known: Collection[str], changed: Collection[str]) -> None:
        """After a restart. known: all detectors. changed: those that judge by other settings or metrics than before."""
        gone = self._entries.keys() - known
        newest_ns = {
            detector: {name: entry.newest_ns for name, entry in entries.items()}
            for detector, entries in self._entries.items()
            if detector in gone or detector in changed
        }
        self.unjudged.begin(newest_ns, gone)

    def end_unjudged(self, view: TickView) -> list[Finding]:
        """After the detectors of a tick: ends the findings that none of them judges any more since the restart."""
        return [
            finding
            for detector, name in self.unjudged.due(self.newest_ns, view)
            if (finding := self._end(detector, name)) is not None
        ]

    def end_about(self, gone: Collection[str], doubtful: Collection[str]) -> list[Finding]:
        """Targets are not collected any more. gone: objects that nothing reports now, about which all ends. doubtful:
        objects that have lost some series; what nobody judges any more ends later.
        """
        lost = [(detector, name) for detector, known in self._entries.items() for name in known if name in gone]
        self.unjudged.doubt(
            {
                detector: {name: entry.newest_ns for name, entry in entries.items() if name in doubtful}
                for detector, entries in self._entries.items()
            }
        )
        return [finding for detector, name in sorted(lost) if (finding := self._end(detector, name)) is not None]

    def newest_ns(self, detector: str, name: str) -> int | None:
        """When an object was judged last; None for one that breaches nothing."""
        entry = self._entries.get(detector, {}).get(name)
        return None if entry is None else entry.newest_ns

    def _end(self, detector: str, name: str) -> Finding | None:
        entry, kind = self._entries[detector].pop(name), self._kinds.get(detector)
        if not self._entries[detector]:
            del self._entries[detector]
        # A newer version's kind has no findings here.
        return _ended(detector, FindingKind(kind), name, entry) if entry.active and kind in set(FindingKind) else None

    def state(self) -> State:
        entries = {d: {name: dict(vars(entry)) for name, entry in known.items()} for d, known in self._entries.items()}
        return State({"kinds": self._kinds, "entries": entries, "unjudged": self.unjudged.state()}, {})

    def restore(self, state: State) -> None:
        head = state.head
        entries = head["entries"].items()
        self._entries = {d: {name: Entry(**entry) for name, entry in known.items()} for d, known in entries}
        self._kinds = dict(head["kinds"])
        self.unjudged.restore(head["unjudged"])


def from_format_1(state: State) -> State:
    """Of state version 15, which did not say of which kind each detector's findings are."""
    return State({"kinds": {}, "entries": state.head, "unjudged": Unjudged().state()}, {})


def from_format_2(state: State) -> State:
    """Of before it was kept how much evidence was published: it is taken for all that there can be."""
    entries = {
        detector: {name: {**entry, "published_evidence": _EVIDENCE_MAX} for name, entry in known.items()}
        for detector, known in state.head["entries"].items()
    }
    return State({**state.head, "entries": entries}, state.arrays)


def from_format_3(state: State) -> State:
    """Of before normals were kept: those of the next value are."""
    entries = {
        detector: {name: {**entry, "normals": {}} for name, entry in known.items()}
        for detector, known in state.head["entries"].items()
    }
    return State({**state.head, "entries": entries}, state.arrays)


def _forget_gone(detector: Publisher, entries: dict[str, Entry], gone: list[str]) -> list[Finding]:
    """Names that are never heard of again, such as those of containers, must not add up: the oldest are cleared."""
    oldest = sorted(gone, key=lambda name: (entries[name].newest_ns, name))[: len(gone) - _GONE_MAX]
    return [_ended(detector.name, detector.kind, name, entry) for name in oldest if (entry := entries.pop(name)).active]


def _ended(detector: str, kind: FindingKind, name: str, entry: Entry) -> Finding:
    """Cleared without a new value."""
    return Finding(
        id=finding_id(detector, kind, name, entry.onset_ns),
        kind=kind,
        object=parse_object(name),
        detector=detector,
        state=FindingState.CLEARED,
        onset_ns=entry.onset_ns,
        observed_ns=entry.newest_ns,
        score=0.0,
        confidence=0.0,
        evidence=(),
        unloaded_since_ns=entry.idle_since_ns if entry.unseen else 0,
    )


def _is_idle(entry: Entry, verdicts: Verdicts, row: int, most_ns: int) -> bool:
    """Whether the newest sample has too little load to show anything, which is remembered.

    A port whose job waits for something else is neither paused nor loses frames, and a GPU does not get warm. most_ns:
    for how long that is so; what nobody uses any more must not keep its finding for ever.
    """
    if verdicts.load is None or verdicts.usual_load is None:
        return False
    load = float(verdicts.load[row])
    if entry.breached_ns == entry.newest_ns:
        entry.load = float(np.fmax(entry.load, np.fmin(load, verdicts.usual_load[row])))
        entry.idle_since_ns, entry.idle_ns, entry.unseen = 0, 0, False
        return False
    if not entry.active or not load < verdicts.loaded_share * entry.load:
        return False
    entry.idle_since_ns = entry.idle_since_ns or entry.newest_ns
    if entry.newest_ns - entry.idle_since_ns < most_ns:
        entry.idle_ns = entry.newest_ns
    return True


def _next_state(entry: Entry, detector: Publisher, breached: bool, at_once: bool, waits_ns: int) -> FindingState | None:
    """The state to publish, None while there is none; marks the entry active when it becomes so. waits_ns: what its
    clear time counts in."""
    if breached:
        entry.active = entry.active or at_once or entry.samples >= detector.persist
        return FindingState.ACTIVE if entry.active else None
    if not entry.active:
        return None
    if entry.newest_ns - entry.breached_ns < round(detector.clear_intervals * waits_ns):
        return None
    entry.unseen = entry.newest_ns - entry.idle_ns < round(_SEEN_INTERVALS * waits_ns)
    if entry.unseen:
        return FindingState.ACTIVE
    return FindingState.CLEARED


def _cadence_s(verdicts: Verdicts, row: int, view: TickView) -> float:
    """How often something new is known of what a verdict rests on, in seconds; 0 where no series says so."""
    if verdicts.cadence_s is not None:
        return float(verdicts.cadence_s[row])
    sid = int(verdicts.evidence[0].sids[row]) if verdicts.evidence else -1
    return float(view.cadence_s[sid]) if sid >= 0 else 0.0


def _waits_ns(verdicts: Verdicts, row: int, view: TickView) -> int:
    """What a clear time counts in: evidence that comes rarely needs longer to show that it is over.

    Evidence that comes often does not make the time shorter: a link that flaps is not repaired after six seconds.
    """
    return max(view.config.interval_ns, round(_cadence_s(verdicts, row, view) * 1e9))


def _worth_publishing(entry: Entry, score: float, now_ns: int, view: TickView) -> bool:
    if entry.published_ns == 0 or now_ns - entry.published_ns >= _REFRESH_INTERVALS * view.config.interval_ns:
        return True
    return score >= entry.published_score * _RISE


def _finding(
    detector: Publisher,
    verdicts: Verdicts,
    row: int,
    entry: Entry,
    state: FindingState,
    view: TickView,
    evidence: tuple[Evidence, ...],
    unloaded_since_ns: int,
) -> Finding:
    subject = view.index.object_ref(int(verdicts.objects[row]))
    confidence = verdicts.confidence if isinstance(verdicts.confidence, float) else verdicts.confidence[row]
    return Finding(
        id=finding_id(detector.name, detector.kind, str(subject), entry.onset_ns),
        kind=detector.kind,
        object=subject,
        detector=detector.name,
        state=state,
        onset_ns=entry.onset_ns,
        observed_ns=entry.newest_ns,
        score=_rounded(verdicts.score[row]),
        confidence=_rounded(confidence * _data_quality(verdicts, row, view)),
        evidence=evidence,
        cadence_s=_rounded(_cadence_s(verdicts, row, view)),
        since_first_seen=_since_first_seen(verdicts, row, entry, view),
        unloaded_since_ns=unloaded_since_ns,
    )


def _since_first_seen(verdicts: Verdicts, row: int, entry: Entry, view: TickView) -> bool:
    """Whether the first values that could show it did: the first of a gauge, the second one of a rate."""
    sid = int(verdicts.evidence[0].sids[row]) if verdicts.evidence else -1
    if sid >= 0:
        first_ns = int(view.targets["first_ns"][view.index.columns["target"][sid]])
    else:
        own = view.targets["first_ns"][view.index.device_objects == int(verdicts.objects[row])]
        first_ns = int(own.min(initial=_NEVER_SEEN))
        if first_ns == _NEVER_SEEN:  # of what has no telemetry of its own, such as a job
            return False
    is_rate = sid >= 0 and view.index.rules.counter[view.index.columns["metric"][sid]]
    values = _FIRST_VALUE + 1.0 if is_rate else _FIRST_VALUE
    return entry.onset_ns <= first_ns + round(values * _waits_ns(verdicts, row, view))


def _data_quality(verdicts: Verdicts, row: int, view: TickView) -> float:
    """Data quality of the target of the strongest evidence; 1 for findings about targets themselves."""
    sid = int(verdicts.evidence[0].sids[row]) if verdicts.evidence else -1
    return float(view.target_quality[view.index.columns["target"][sid]]) if sid >= 0 else 1.0


def _evidence(verdicts: Verdicts, row: int, view: TickView, normals: dict[str, float | None]) -> tuple[Evidence, ...]:
    """normals: what was learned of each series before the fault; a series that is new here is added."""
    found = []
    for columns in verdicts.evidence[:_EVIDENCE_MAX]:
        sid, value, normal = int(columns.sids[row]), float(columns.values[row]), float(columns.normals[row])
        if math.isnan(value):
            continue
        name = columns.label(row) if columns.label else view.index.keys[sid]
        unit = columns.unit or (view.unit(sid) if sid >= 0 else "")
        usual = None if math.isnan(normal) else _rounded(normal)
        if columns.learned:
            usual = normals.setdefault(name, usual)
        found.append(Evidence(name, _rounded(value), usual, unit))
    return tuple(found)


def _rounded(value: float) -> float:
    """Six digits: more would be noise. JSON has no infinities."""
    return float(f"{min(max(value, -1e30), 1e30):.6g}")
