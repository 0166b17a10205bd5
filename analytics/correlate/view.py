"""What is wrong right now, indexed for the families of causes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, TypeVar

from analytics.correlate.absence import Absence
from analytics.correlate.cause import JOB_WAITS, SILENCE
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.finding_index import FindingIndex
from analytics.correlate.kept import Kept
from analytics.correlate.pauses import Origin, origins
from analytics.correlate.swaps import Swap
from analytics.correlate.versions import Versions
from analytics.correlate.waves import Member, Wave, waves
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef

T = TypeVar("T")
PLANNED = frozenset({ChangeKind.MAINTENANCE, ChangeKind.REBOOT, ChangeKind.FIRMWARE, ChangeKind.DRAIN})


class CorrelationView:
    """Active findings by onset, with the cluster and the changes; the same for every order of arrival.

    firing: onsets of the incidents that already fire, by kind and root. now_ns: event time of this step. away: by
    device that one of these took away with its root, that root.
    absences: of devices that are away or were not long ago, by name; brought up to ``now_ns`` before causes ask for it.
    versions: what is new on devices. swaps: of cables, whose incidents ended not long ago.
    unpaged: those of ``firing`` that are pressure on the fabric which nobody was paged for.
    read_every_s: by device of which all is read more often than once an interval, seconds between two readings.
    Causes read absences as ``waves``, ``members`` or ``idle`` alone: on these it rests whether a choice is kept.
    """

    def __init__(
        self,
        findings: Iterable[Finding] | FindingIndex,
        cluster: Cluster,
        changes: Sequence[Change] = (),
        config: CorrelateConfig | None = None,
        firing: Mapping[tuple[IncidentKind, ObjectRef], int] | None = None,
        now_ns: int = 0,
        away: Mapping[str, ObjectRef] | None = None,
        absences: Mapping[str, Absence] | None = None,
        versions: Versions | None = None,
        kept: Kept | None = None,
        swaps: Sequence[Swap] = (),
        unpaged: Set[tuple[IncidentKind, ObjectRef]] = frozenset(),
        read_every_s: Mapping[str, float] | None = None,
    ) -> None:
        self._kept = kept or Kept()
        self._now_ns, self.asked_for_time = now_ns, False
        self.away = away or {}
        self.absences = {} if absences is None else absences
        self.versions = {} if versions is None else versions
        self.swaps, self.unpaged = swaps, unpaged
        self.read_every_s = read_every_s or {}
        self._computed: dict[Callable[[CorrelationView], Any], Any] = {}
        self.index = findings if isinstance(findings, FindingIndex) else FindingIndex(findings)
        self.findings = self.index.findings
        self.cluster, self.graph, self.jobs = cluster, cluster.graph, cluster.jobs
        self.changes = sorted(changes, key=lambda change: (change.starts_ns, change.id))
        self.config = config or CorrelateConfig()
        self.firing = firing or {}
        self.by_id = self.index.by_id
        self._changes: defaultdict[ObjectRef, list[Change]] = defaultdict(list)
        for change in self.changes:
            for ref in change.objects:
                self._changes[ref].append(change)

    @property
    def now_ns(self) -> int:
        """Event time of this step. What asks for it may change with every tick, and is chosen again in each."""
        self.asked_for_time = True
        return self._now_ns

    def of(self, *kinds: FindingKind) -> list[Finding]:
        """Findings of some kinds, kind by kind, each by onset."""
        return [finding for kind in kinds for finding in self.index.of(kind)]

    def about(self, ref: ObjectRef) -> Sequence[Finding]:
        """Findings whose object is exactly this one, by onset."""
        return self.index.about(ref)

    def on_device(self, name: str) -> Sequence[Finding]:
        """Findings about a device and its parts, by onset."""
        return self.index.on_device(name)

    def onset(self, ids: Iterable[str]) -> int:
        """The earliest onset of those that are still active, in nanoseconds; 0 when none is."""
        return min((self.by_id[found].onset_ns for found in ids if found in self.by_id), default=0)

    def waits_since(self, job: ObjectRef) -> int:
        """When a job began to wait, by the earliest active finding about its work: one that stalls was slow before."""
        return min(finding.onset_ns for finding in self.about(job) if finding.kind in JOB_WAITS)

    def root(self, kind: IncidentKind, ranked: Sequence[ObjectRef]) -> ObjectRef:
        """The best ranked object, unless an incident that already fires names another of them."""
        return next((ref for ref in ranked if (kind, ref) in self.firing), ranked[0])

    def began_to_wait(self, ref: ObjectRef) -> list[int]:
        """Since when each job of an object waits, of those that do."""
        return [self._waiting[job_id] for job_id in self.jobs.of(ref) if job_id in self._waiting]

    @cached_property
    def _waiting(self) -> Mapping[str, int]:
        """Since when jobs wait, by id."""
        return {each.object.name: self.waits_since(each.object) for each in self.of(*sorted(JOB_WAITS))}

    def is_firing(self, kind: IncidentKind, refs: Iterable[ObjectRef]) -> bool:
        """Whether an incident of this kind already fires with one of ``refs`` as its root."""
        return any((kind, ref) in self.firing for ref in refs)

    def firing_since(self, kind: IncidentKind, ref: ObjectRef) -> int | None:
        """Onset of the incident of this kind and root that already fires, in nanoseconds."""
        return self.firing.get((kind, ref))

    def changes_of(self, refs: Iterable[ObjectRef]) -> list[Change]:
        """Changes of any of the objects, by their start."""
        found = {change.id: change for ref in refs for change in self._changes.get(ref, ())}
        return sorted(found.values(), key=lambda change: (change.starts_ns, change.id))

    def covers(self, change: Change, at_ns: int) -> bool:
        """Whether something that began at ``at_ns`` may come from the change."""
        return change.starts_ns - self.config.onset_slack_ns <= at_ns <= self._ends_ns(change)

    def is_over(self, change: Change) -> bool:
        """Whether what it took away should be back by now."""
        return self._now_ns > self._ends_ns(change)

    def lasts(self, change_id: str) -> bool:
        """Whether a change of this id is known and not over."""
        return change_id in self.lasting

    @cached_property
    def lasting(self) -> frozenset[str]:
        """Ids of the changes that are not over."""
        return frozenset(change.id for change in self.changes if not self.is_over(change))

    def _ends_ns(self, change: Change) -> int:
        ends_ns = max(change.ends_ns, change.starts_ns + self.config.change_window_ns)
        return ends_ns + self.config.onset_slack_ns

    def planned(self, refs: Iterable[ObjectRef], at_ns: int) -> Change | None:
        """The maintenance, reboot, firmware update or drain that covers ``refs`` at a time, and is not over."""
        for change in self.changes_of(refs):
            if change.kind in PLANNED and self.covers(change, at_ns) and not self.is_over(change):
                return change
        return None

    def announced(self, refs: Iterable[ObjectRef], at_ns: int) -> bool:
        """Whether such a change covers ``refs`` at a time, over or not."""
        return any(change.kind in PLANNED and self.covers(change, at_ns) for change in self.changes_of(refs))

    def wanted(self, ref: ObjectRef, at_ns: int) -> bool:
        """Whether the scheduler wanted the host of an object out of use at a time, and still does."""
        since_ns = self.cluster.nodes.since_ns.get(ref.device)
        return since_ns is not None and since_ns <= at_ns

    @cached_property
    def waves(self) -> tuple[Wave, ...]:
        """Devices that went away in turn, by role and time. Without any, that holds at every time."""
        return waves(self.absences, self.graph, self.config, self._now_ns)

    @cached_property
    def members(self) -> Mapping[str, tuple[Wave, Member]]:
        """The devices of all waves, by name."""
        return {each.name: (wave, each) for wave in self.waves for each in wave.members}

    @cached_property
    def idle(self) -> frozenset[str]:
        """Hosts that nobody used when they went away."""
        return frozenset(name for name, absence in self.absences.items() if absence.idle)

    @cached_property
    def job_ends(self) -> Mapping[str, int]:
        """When jobs ended, by id, as far as a change says so."""
        return {
            change.objects[0].name: change.starts_ns for change in self.changes if change.kind is ChangeKind.JOB_END
        }

    def changes_around(self, ref: ObjectRef) -> list[Change]:
        """Changes of an object and of what contains it, by their start."""
        return self.changes_of(self.surroundings(ref)) if self.changes else []

    def planned_around(self, ref: ObjectRef, at_ns: int) -> bool:
        """Whether planned work on an object, or on what contains it, covers a time and is not over."""
        return bool(self.changes) and self.planned(self.surroundings(ref), at_ns) is not None

    def once(self, compute: Callable[["CorrelationView"], T]) -> T:
        """What a function makes of the view, kept for all that ask for it in this step."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        found: T = self._computed[compute]
        return found

    def kept(self, make: Callable[..., T], name: str, *args: Any) -> T:
        """What a function makes of the view and ``args``, from step to step; see ``kept.py``."""
        return self._kept.of(make, self, name, *args)

    @cached_property
    def silent(self) -> frozenset[str]:
        """Names of the devices of which something is not heard."""
        return frozenset(finding.object.device for finding in self.of(*sorted(SILENCE))) - {""}

    @cached_property
    def symptomatic(self) -> frozenset[ObjectRef]:
        """Objects of symptoms: a set, as two of them are compared without a call of Python for each object."""
        return frozenset(finding.object for finding in self.index.symptoms)

    @cached_property
    def origins(self) -> list[Origin]:
        """Where the pauses of all findings start."""
        pauses = self.of(FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PFC_PAUSE_SENT)
        return self.kept(_origins, "", pauses, self.of(FindingKind.PAUSE_STORM))

    @cached_property
    def starts(self) -> list[tuple[int, str]]:
        """When jobs started or ended, by time."""
        known = [(job.started_ns, job.job_id) for job in self.jobs.running.values() if job.started_ns]
        changed = [
            (change.starts_ns, ref.name)
            for change in self.changes
            if change.kind in (ChangeKind.JOB_START, ChangeKind.JOB_END)
            for ref in change.objects
        ]
        return sorted({*known, *changed})

    def surroundings(self, ref: ObjectRef) -> list[ObjectRef]:
        """An object, and what contains it: ends of a link, device, rack."""
        graph = self.graph
        parts = [ref, graph.link_of.get(ref, ref)]
        devices = {ref.device} if ref.device else set(graph.ends(ref))
        devices |= {graph.server_of(ref)} - {""}
        parts += [ObjectRef(ObjectKind.DEVICE, name) for name in sorted(devices)]
        racks = {known.rack for name in devices if (known := graph.devices.get(name)) and known.rack}
        parts += [ObjectRef(ObjectKind.RACK, rack) for rack in sorted(racks)]
        return list(dict.fromkeys(parts))


def _origins(view: CorrelationView, pauses: Sequence[Finding], storms: Sequence[Finding]) -> list[Origin]:
    of_switches = (each for each in storms if view.graph.is_switch(each.object.device))  # NICs say of neither side
    return origins([*pauses, *of_switches], view.graph, {finding.object for finding in storms})
