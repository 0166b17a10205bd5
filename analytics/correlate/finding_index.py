"""Active findings by id, kind, object and device, kept from step to step: only what changed is put in its place."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import NamedTuple

from analytics.correlate.cause import SYMPTOMS, weight
from analytics.correlate.symptoms import Shown, shown_by
from telemetry.findings import Finding, FindingKind
from telemetry.objects import ObjectRef

_Group = dict[str, Finding]  # by id, in order of onset


class Moved(NamedTuple):
    """Ids of findings. others: those that are new, gone, or differ from what they were. seen: those that differ only in
    when they were observed last."""

    others: frozenset[str]
    seen: frozenset[str]


class FindingIndex:
    """What is not seen at the moment, as nothing is sent there, keeps what is open, and opens and explains nothing new:
    it is in ``by_id`` and ``about`` alone.

    by_id: all of them. unloaded: ids of those that are not seen. weights: by id, what each adds to the causes that
    explain it. shown: by id, what symptoms show."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self.by_id: dict[str, Finding] = {}
        self.unloaded: set[str] = set()
        self.weights: dict[str, float] = {}
        self.shown: dict[str, Shown] = {}
        self._groups: dict[Hashable, _Group] = {}
        self._unordered: set[Hashable] = set()
        self.replace(findings)

    def replace(self, findings: Iterable[Finding]) -> Moved:
        """Keeps these and no others; returns what is another one than before. Every order gives the same.

        Only identity is compared: what is not new costs next to nothing.
        """
        kept = {finding.id: finding for finding in findings}
        gone = [self.by_id[found] for found in self.by_id.keys() - kept.keys()]
        new = [finding for found, finding in kept.items() if self.by_id.get(found) is not finding]
        seen = frozenset(finding.id for finding in new if _is_seen_again(finding, self.by_id.get(finding.id)))
        for finding in gone:
            self._remove(finding)
        for finding in sorted(new, key=_order):  # so that few groups have to be put in order again
            self._put(finding)
        for name in self._unordered:
            self._groups[name] = {each.id: each for each in sorted(self._groups[name].values(), key=_order)}
        self._unordered.clear()
        return Moved(frozenset(finding.id for finding in (*gone, *new)) - seen, seen)

    @property
    def findings(self) -> Sequence[Finding]:
        """All, by onset."""
        return self._in(None)

    @property
    def symptoms(self) -> Sequence[Finding]:
        """Those that are symptoms of something else, by onset."""
        return self._in(True)

    def of(self, kind: FindingKind) -> Sequence[Finding]:
        return self._in(kind)

    def about(self, ref: ObjectRef) -> Sequence[Finding]:
        return self._in(ref)

    def on_device(self, name: str) -> Sequence[Finding]:
        return self._in(("device", name))

    def _in(self, name: Hashable) -> list[Finding]:
        group = self._groups.get(name)
        return list(group.values()) if group else []

    def _put(self, finding: Finding) -> None:
        known = self.by_id.get(finding.id)
        if known is not None and _place(known) != _place(finding):
            self._remove(known)
            known = None
        self.by_id[finding.id] = finding
        if finding.unloaded_since_ns:
            self.unloaded.add(finding.id)
        self.weights[finding.id] = weight(finding)
        if finding.kind in SYMPTOMS:
            self.shown[finding.id] = shown_by(finding)
        order = _order(finding)
        for name in _names(finding):
            group = self._groups.get(name)
            if group is None:
                self._groups[name] = {finding.id: finding}
                continue
            if known is None and _order(next(reversed(group.values()))) > order:
                self._unordered.add(name)
            group[finding.id] = finding

    def _remove(self, finding: Finding) -> None:
        del self.by_id[finding.id], self.weights[finding.id]
        self.unloaded.discard(finding.id)
        self.shown.pop(finding.id, None)
        for name in _names(finding):
            del self._groups[name][finding.id]
            if not self._groups[name]:
                del self._groups[name]
                self._unordered.discard(name)


def _names(finding: Finding) -> Iterable[Hashable]:
    """The groups of a finding."""
    if finding.unloaded_since_ns:
        yield finding.object
        return
    yield from (None, finding.kind, finding.object, ("device", finding.object.device))
    if finding.kind in SYMPTOMS:
        yield True


def _place(finding: Finding) -> tuple[int, FindingKind, ObjectRef, bool]:
    return finding.onset_ns, finding.kind, finding.object, bool(finding.unloaded_since_ns)


def _is_seen_again(finding: Finding, known: Finding | None) -> bool:
    return known is not None and _content(finding) == _content(known)


_order = attrgetter("onset_ns", "id")
_content = attrgetter(*(each.name for each in fields(Finding) if each.name != "observed_ns"))
