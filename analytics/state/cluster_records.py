"""Records about the cluster besides its series: topology and changes, each from its own time on."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pydantic import TypeAdapter

from analytics.snapshot.stateful import State
from telemetry.changes import Change
from telemetry.refusals import bounded
from telemetry.topology import Topology, TopologyFact

_CHANGES_KEPT_NS = 24 * 3600 * 10**9
_UNCOLLECTED_MAX = 10_000  # devices; names of containers must not add up
_facts = TypeAdapter(list[TopologyFact])
_changes = TypeAdapter(list[Change])


class ClusterRecords:
    """topology, changes: as of the newest tick. Records of a later time wait.

    left: targets that the newest tick has taken off the lists of ingest. moved: of these the ones whose device has
    another address in the same job now, with the name of the new target.
    """

    def __init__(self) -> None:
        self.topology = Topology()
        self.changes: tuple[Change, ...] = ()
        self._waiting_facts: list[TopologyFact] = []
        self._waiting_changes: dict[str, Change] = {}
        self._uncollected_ns: dict[str, int] = {}  # end of the tick in which the last target of each device left
        self.left: frozenset[str] = frozenset()
        self.moved: Mapping[str, str] = {}

    def add_facts(self, facts: Iterable[TopologyFact]) -> None:
        """Facts are valid from the tick in which they were observed."""
        self._waiting_facts.extend(facts)

    def add_change(self, change: Change) -> None:
        """A change is valid from the tick in which it starts, and within the limits of ``telemetry.refusals``.

        Collectors repeat what they know when they start.
        """
        if (valid := bounded(change)) not in self.changes:
            self._waiting_changes[valid.id] = valid

    def update(self, end_ns: int) -> None:
        """Adds all records up to the end of a tick, and drops changes that ended a day ago."""
        due = [fact for fact in self._waiting_facts if fact.observed_ns < end_ns]
        if due:
            self._waiting_facts = [fact for fact in self._waiting_facts if fact.observed_ns >= end_ns]
            before = self.topology.targets
            self.topology = self.topology.with_facts(sorted(due, key=lambda f: (f.observed_ns, f.entity.key, f.source)))
            self._compare(before, end_ns)
        else:
            self.left, self.moved = frozenset(), {}
        begun = {name: change for name, change in self._waiting_changes.items() if change.starts_ns < end_ns}
        if begun:
            self._waiting_changes = {n: change for n, change in self._waiting_changes.items() if n not in begun}
            known = {change.id: change for change in self.changes} | begun
            recent = (c for c in known.values() if max(c.starts_ns, c.ends_ns) >= end_ns - _CHANGES_KEPT_NS)
            self.changes = tuple(sorted(recent, key=lambda change: (change.starts_ns, change.id)))

    def _compare(self, before: Mapping[str, tuple[str, str]], end_ns: int) -> None:
        """What has left the lists of targets since ``before``."""
        after = self.topology.targets
        self.left = frozenset(before.keys() - after.keys())
        new: dict[tuple[str, str], str] = {}
        for name in sorted(after.keys() - before.keys(), reverse=True):
            new[after[name]] = name
        self.moved = {name: new.pop(before[name]) for name in sorted(self.left) if before[name] in new}
        collected = {device for device, _ in after.values()}
        gone = {before[name][0] for name in self.left} - collected
        known = {name: at_ns for name, at_ns in self._uncollected_ns.items() if name not in collected}
        known |= dict.fromkeys(gone, end_ns)
        newest = sorted(known, key=lambda name: (known[name], name))[-_UNCOLLECTED_MAX:]
        self._uncollected_ns = {name: known[name] for name in newest}
        if self.topology.uncollected != self._uncollected_ns.keys():
            self.topology = replace(self.topology, uncollected=frozenset(newest))

    def state(self) -> State:
        head = {
            "topology": [fact for _, fact in sorted(self.topology.facts.items())],
            "uncollected_ns": self._uncollected_ns,
            "changes": self.changes,
            "waiting_facts": self._waiting_facts,
            "waiting_changes": list(self._waiting_changes.values()),
        }
        return State(head, {})

    def restore(self, state: State) -> None:
        head = state.head
        self._uncollected_ns = head.get("uncollected_ns", {})  # older snapshots have none
        topology = Topology(uncollected=frozenset(self._uncollected_ns))
        self.topology = topology.with_facts(_facts.validate_python(head["topology"]))
        self.changes = tuple(_changes.validate_python(head["changes"]))
        self._waiting_facts = _facts.validate_python(head["waiting_facts"])
        self._waiting_changes = {change.id: change for change in _changes.validate_python(head["waiting_changes"])}
