"""What is wrong right now, indexed for the hypotheses."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from analytics.correlate.causes.cause import Reach
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.graph import Graph
from analytics.correlate.jobs import Jobs
from analytics.correlate.pauses import Origin, origins
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef

PLANNED = frozenset({ChangeKind.MAINTENANCE, ChangeKind.REBOOT, ChangeKind.FIRMWARE, ChangeKind.DRAIN})


ReachKey = tuple[bool, ObjectRef, frozenset[str], bool]


class CorrelationView:
    """Active findings by onset, with the cluster and the changes; the same for every order of arrival.

    firing: onsets of the incidents that already fire, by kind and root.
    reaches: what is known of this cluster (``reach.py``).
    """

    def __init__(
        self,
        findings: Iterable[Finding],
        graph: Graph,
        jobs: Jobs,
        changes: Sequence[Change] = (),
        config: CorrelateConfig | None = None,
        firing: Mapping[tuple[IncidentKind, ObjectRef], int] | None = None,
        reaches: dict[ReachKey, Reach] | None = None,
    ) -> None:
        self.findings = sorted(findings, key=lambda finding: (finding.onset_ns, finding.id))
        self.graph = graph
        self.jobs = jobs
        self.changes = sorted(changes, key=lambda change: (change.starts_ns, change.id))
        self.config = config or CorrelateConfig()
        self.reaches = {} if reaches is None else reaches
        self._firing = firing or {}
        self.by_id = {finding.id: finding for finding in self.findings}
        self._kinds: defaultdict[FindingKind, list[Finding]] = defaultdict(list)
        self._objects: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
        self._devices: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in self.findings:
            self._kinds[finding.kind].append(finding)
            self._objects[finding.object].append(finding)
            self._devices[finding.object.device].append(finding)
        self._changes: defaultdict[ObjectRef, list[Change]] = defaultdict(list)
        for change in self.changes:
            for ref in change.objects:
                self._changes[ref].append(change)

    def of(self, *kinds: FindingKind) -> list[Finding]:
        """Findings of some kinds, kind by kind, each by onset."""
        return [finding for kind in kinds for finding in self._kinds.get(kind, ())]

    def about(self, ref: ObjectRef) -> list[Finding]:
        """Findings whose object is exactly this one, by onset."""
        return self._objects.get(ref, [])

    def on_device(self, name: str) -> list[Finding]:
        """Findings about a device and its parts, by onset."""
        return self._devices.get(name, [])

    def onset(self, ids: Iterable[str]) -> int:
        """The earliest onset of those that are still active, in nanoseconds; 0 when none is."""
        return min((self.by_id[found].onset_ns for found in ids if found in self.by_id), default=0)

    def root(self, kind: IncidentKind, ranked: Sequence[ObjectRef]) -> ObjectRef:
        """The best ranked object, unless an incident that already fires names another of them."""
        return next((ref for ref in ranked if (kind, ref) in self._firing), ranked[0])

    def is_firing(self, kind: IncidentKind, refs: Iterable[ObjectRef]) -> bool:
        """Whether an incident of this kind fires already with one of ``refs`` as its root."""
        return any((kind, ref) in self._firing for ref in refs)

    def firing_since(self, kind: IncidentKind, ref: ObjectRef) -> int | None:
        """Onset of the incident of this kind and root that fires already, in nanoseconds."""
        return self._firing.get((kind, ref))

    def changes_of(self, refs: Iterable[ObjectRef]) -> list[Change]:
        """Changes of any of the objects, by their start."""
        found = {change.id: change for ref in refs for change in self._changes.get(ref, ())}
        return sorted(found.values(), key=lambda change: (change.starts_ns, change.id))

    def covers(self, change: Change, at_ns: int) -> bool:
        """Whether something that began at ``at_ns`` may come from the change."""
        slack = self.config.onset_slack_ns
        ends = max(change.ends_ns, change.starts_ns + self.config.change_window_ns)
        return change.starts_ns - slack <= at_ns <= ends + slack

    def planned(self, refs: Iterable[ObjectRef], at_ns: int) -> Change | None:
        """The maintenance, reboot, firmware update or drain under which ``refs`` were at a time."""
        for change in self.changes_of(refs):
            if change.kind in PLANNED and self.covers(change, at_ns):
                return change
        return None

    @cached_property
    def origins(self) -> list[Origin]:
        """Where the pauses of all findings start."""
        return origins(self.of(FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PFC_PAUSE_SENT), self.graph)

    @cached_property
    def starts(self) -> list[tuple[int, str]]:
        """When jobs started or ended, by time."""
        known = [(job.started_ns, job.job_id) for job in self.jobs.running.values() if job.started_ns]
        announced = [
            (change.starts_ns, ref.name)
            for change in self.changes
            if change.kind in (ChangeKind.JOB_START, ChangeKind.JOB_END)
            for ref in change.objects
        ]
        return sorted({*known, *announced})

    def server(self, target: ObjectRef) -> str:
        """Name of the server of a storage target; empty when the topology does not know it."""
        known = self.graph.targets.get(target)
        return known.server if known else ""

    def surroundings(self, ref: ObjectRef) -> list[ObjectRef]:
        """An object, and what contains it: ends of a link, device, rack."""
        graph = self.graph
        parts = [ref, graph.link_of.get(ref, ref)]
        devices = {ref.device} if ref.device else set(graph.ends(ref))
        if target := graph.targets.get(ref):
            devices.add(target.server)
        parts += [ObjectRef(ObjectKind.DEVICE, name) for name in sorted(devices)]
        racks = {known.rack for name in devices if (known := graph.devices.get(name)) and known.rack}
        parts += [ObjectRef(ObjectKind.RACK, rack) for rack in sorted(racks)]
        return list(dict.fromkeys(parts))
