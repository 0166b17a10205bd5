"""What correlation remembers between steps, and its snapshot."""

import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from analytics.correlate import cadence
from analytics.correlate.absence import Absence
from analytics.correlate.cause import SYMPTOMS
from analytics.correlate.cluster.nodes import Nodes
from analytics.correlate.config import NS_PER_S
from analytics.correlate.object_records import ObjectRecords
from analytics.correlate.swaps import Swap
from analytics.correlate.tracks import Track
from analytics.correlate.versions import Versions
from analytics.correlate.view import CorrelationView
from common.errors import BadInput
from telemetry.codec.records import encode_record
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import Incident, IncidentState
from telemetry.objects import ObjectKind

VERSION = 4
READ = frozenset({3, VERSION})  # 3 has neither verdicts nor records nor absences nor a queue

RESOLVED_MAX, RESOLVED_KEPT_NS = 200, 600 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Taken:
    """What a step took from the findings that changed.

    new: those that were not active before, by id. others: whether others are active than before, or differ in other
    fields than scores and evidence.
    """

    new: Sequence[Finding]
    others: bool


@dataclass
class CorrelatorMemory:
    """findings: active ones by id. since: event time from which on nothing explains each. tracks: by age.

    absences: devices that are away, or were not long ago, by name. versions: what is new on devices.
    records: of what happened to each object.
    began_again: whether the clocks went back. All is seen for the first time then, which says nothing about faults.
    queue: what changed and no step has taken yet, the newest version of each by id. resolved: the newest incidents of
    ports and links that are over, by id, as how they came back from a flap shows some minutes later.
    swaps: of cables, whose incidents are over.
    """

    findings: dict[str, Finding] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    tracks: list[Track] = field(default_factory=list)
    absences: dict[str, Absence] = field(default_factory=dict)
    versions: Versions = field(default_factory=dict)
    records: ObjectRecords = field(default_factory=ObjectRecords)
    began_again: bool = False
    queue: dict[str, Finding] = field(default_factory=dict)
    resolved: dict[str, Incident] = field(default_factory=dict)
    swaps: list[Swap] = field(default_factory=list)

    def update(self, changed: Sequence[Finding], now_ns: int, changed_max: int = sys.maxsize) -> Taken:
        """Newer versions replace older ones; of two equally new ones a cleared one wins, then the greater bytes.

        changed_max: how many a step takes; the others stay in the queue, see ``_urgency``.
        """
        if self.began_again:
            changed = [replace(each, since_first_seen=False) for each in changed]
        once = len({each.id for each in changed}) == len(changed)
        for finding in changed if once else sorted(changed, key=_version):
            waiting = self.queue.get(finding.id)
            if waiting is None or waiting.observed_ns <= finding.observed_ns:
                self.queue[finding.id] = finding
        taken = list(self.queue.values())
        if len(taken) > changed_max:
            taken = sorted(taken, key=self._urgency(taken))[:changed_max]
        new: list[Finding] = []
        others = False
        for finding in sorted(taken, key=attrgetter("id")):
            del self.queue[finding.id]
            if finding.id not in self.findings and finding.state is FindingState.ACTIVE:
                new.append(finding)
            others |= self._update(finding, now_ns)
        return Taken(new, others)

    def _update(self, finding: Finding, now_ns: int) -> bool:
        known = self.findings.get(finding.id)
        if known is not None and known.observed_ns > finding.observed_ns:
            return False
        if finding.state is FindingState.CLEARED:
            self.since.pop(finding.id, None)
            return self.findings.pop(finding.id, None) is not None
        if finding.unloaded_since_ns and known is not None:  # without load its newest values show nothing
            since_ns = finding.unloaded_since_ns
            finding = replace(known, observed_ns=finding.observed_ns, unloaded_since_ns=since_ns)
        self.findings[finding.id] = finding
        self.since.setdefault(finding.id, now_ns)
        return (
            known is None
            or known.onset_ns != finding.onset_ns
            or known.kind is not finding.kind
            or known.object != finding.object
            or bool(known.unloaded_since_ns) != bool(finding.unloaded_since_ns)
        )

    def _urgency(self, waiting: Iterable[Finding]) -> Callable[[Finding], tuple[bool, int, bool, int, str, str]]:
        """The first of every kind on every device come before any second one, so that no storm hides another fault;
        then evidence before symptoms, and by device, the earliest first: what one of them shows together is mostly one
        fault. What is known and has only been seen again comes last."""
        ranks: dict[str, int] = {}
        began_ns: dict[str, int] = {}
        groups: Counter[tuple[FindingKind, str]] = Counter()
        for finding in sorted(waiting, key=attrgetter("onset_ns", "id")):
            device = _device(finding)
            began_ns.setdefault(device, finding.onset_ns)
            ranks[finding.id] = groups[finding.kind, device]
            groups[finding.kind, device] += 1

        def urgency(finding: Finding) -> tuple[bool, int, bool, int, str, str]:
            again = finding.state is FindingState.ACTIVE and finding.id in self.findings
            device = _device(finding)
            return again, ranks[finding.id], finding.kind in SYMPTOMS, began_ns[device], device, finding.id

        return urgency

    def active(self, ended_jobs: Container[str], nodes: Nodes) -> list[Finding]:
        """Active findings, without those about a job that has ended, about a device that the inventory does not have
        any more, and about a port whose cable led there."""
        less = bool(nodes.removed or nodes.disused)
        return [
            finding
            for finding in self.findings.values()
            if (finding.object.kind is not ObjectKind.JOB or finding.object.name not in ended_jobs)
            and not (less and (finding.object.device in nodes.removed or finding.object in nodes.disused))
        ]

    def waited(self, view: CorrelationView, now_ns: int) -> frozenset[str]:
        """Ids of the findings that have waited for a cause for long enough; see ``cadence.of_finding``."""
        config = view.config
        weak, least_ns = config.weak_hold_intervals, config.intervals_ns(config.weak_hold_intervals, config.tick_s)
        return frozenset(
            found
            for found, finding in view.by_id.items()
            if (since := self.since[found]) <= now_ns - least_ns
            and now_ns - since >= config.intervals_ns(weak, cadence.of_finding(view, finding))
        )

    def keep_resolved(self, published: Iterable[Incident], now_ns: int) -> None:
        """Remembers what is over, for as long as a comparison of flaps may wait; the oldest give way."""
        for incident in published:
            self.resolved.pop(incident.id, None)
            if incident.state is IncidentState.RESOLVED and incident.root.kind in (ObjectKind.PORT, ObjectKind.LINK):
                self.resolved[incident.id] = incident
        recent = sorted(self.resolved.values(), key=lambda one: (one.resolved_ns, one.id))[-RESOLVED_MAX:]
        self.resolved = {one.id: one for one in recent if now_ns - one.resolved_ns <= RESOLVED_KEPT_NS}

    def mark_explained(self, findings: Iterable[str], now_ns: int) -> None:
        """Explained findings wait from now on, should their incident end before them."""
        self.since.update(dict.fromkeys(findings, now_ns))


def _device(finding: Finding) -> str:
    """The device of a finding, else its object."""
    return finding.object.device or str(finding.object)


def _version(finding: Finding) -> tuple[str, int, bool, bytes]:
    return finding.id, finding.observed_ns, finding.state is FindingState.CLEARED, encode_record(finding)


_adapter = TypeAdapter(CorrelatorMemory)


def dump(memory: CorrelatorMemory) -> dict[str, Any]:
    """JSON values in a fixed order, so that equal memories give equal bytes."""
    for track in memory.tracks:
        track.condense()
    plain = orjson.loads(orjson.dumps(_adapter.dump_python(memory, mode="json")))
    plain["findings"] = dict(sorted(plain["findings"].items()))
    plain["queue"] = dict(sorted(plain["queue"].items()))
    plain["resolved"] = dict(sorted(plain["resolved"].items()))
    plain["since"] = dict(sorted(plain["since"].items()))
    plain["absences"] = dict(sorted(plain["absences"].items()))
    plain["versions"] = {name: dict(sorted(new.items())) for name, new in sorted(plain["versions"].items())}
    for name in ("known", "unplugged"):
        plain["records"][name] = dict(sorted(plain["records"][name].items()))
    for track in plain["tracks"]:
        for name in ("primary", "symptoms", "measured", "ended_jobs"):
            track[name] = sorted(track[name])
        for name in ("job_impact", "cost_until_ns", "counted", "expected"):
            track[name] = dict(sorted(track[name].items()))
        for name in ("primary", "devices", "gone"):
            track["cause"][name] = sorted(track["cause"][name])
        track["cause"]["links"].sort(key=lambda link: link["name"])
    return {"version": VERSION, **plain}


def load(state: Mapping[str, Any]) -> CorrelatorMemory:
    """Reads what ``dump`` returned; BadInput (reason ``snapshot``) for another version or a wrong field."""
    if state.get("version") not in READ:
        raise BadInput(f"correlation snapshot of version {state.get('version')!r}: expected {VERSION}", "snapshot")
    try:
        return _adapter.validate_python({key: value for key, value in state.items() if key != "version"})
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(
            f"correlation snapshot: {'.'.join(map(str, first['loc']))}: {first['msg']}", "snapshot"
        ) from error
