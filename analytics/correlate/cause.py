"""A cause that the evidence allows, the groups of findings that causes use, and how much a finding counts."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.kinds import FindingGroup, HoldPolicy, Tier, finding_kinds, incident_kinds, kinds_in
from telemetry.objects import ObjectKind, ObjectRef

# Kind and root, in the order of names. Plain strings: they remember their hashes, and a step asks for thousands.
Key = tuple[IncidentKind, ObjectKind, str]


@dataclass(frozen=True)
class Cause:
    """kind and root, the ids of the findings that are its own evidence, and why it ranks where it does.

    factor:  how much of the usual evidence is there, 0..1.
    devices: further devices that it disturbs (those that a pause reached).
    gone:    further devices that it took away with the root, or slows as it does the root: their jobs wait, too.
    links:   further links that fail with the root, for what all of them have in common.
    change:  id of the change that explains it, '' for none.
    subject: what of the root, for the title ("3 of 16 links of leaf1"); '' for its name alone.
    headline: the title in place of the phrase of the kind, '' for that.
    action:  what to do first in place of the action of the kind, '' for that.
    part:    links of the root that alone are concerned, where the rest of it works; empty: all of the root.
    unused: what it took away was in nobody's use, so no symptom of anything comes from it.
    keep_s: how long its incident stays open without evidence, where that is longer than usual.
    harmless: nothing works slower for it, as far as is known, so it is INFO until a job waits, whatever its kind is
             otherwise.
    wait_hold: of what pages once a job waits: how long that job must have waited.
    ceiling: severity whatever it costs, where nothing is known to be broken.
    """

    kind: IncidentKind
    root: ObjectRef
    primary: frozenset[str]
    reason: str
    tier: Tier
    hold: HoldPolicy
    factor: float = 1.0
    devices: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    links: frozenset[ObjectRef] = frozenset()
    change: str = ""
    subject: str = ""
    headline: str = ""
    action: str = ""
    part: frozenset[ObjectRef] = frozenset()
    unused: bool = False
    keep_s: float = 0.0
    harmless: bool = False
    wait_hold: HoldPolicy = HoldPolicy.NONE
    ceiling: Severity = Severity.CRITICAL

    @cached_property  # so no slots: a step asks each cause some twenty times
    def key(self) -> Key:
        return self.kind, self.root.kind, self.root.name

    @cached_property
    def reaching(self) -> tuple[Hashable, ...]:
        """All on which it depends what it reaches, in a cluster."""
        kind = incident_kinds()[self.kind]
        how = kind.disturbs_fabric, kind.pages_without_waiting, self.harmless
        return how, self.root, self.devices, self.gone, self.links, self.part

    @property
    def pages_without_waiting(self) -> bool:
        """Whether people are paged for it before a job shows that it waits."""
        return not self.harmless and incident_kinds()[self.kind].pages_without_waiting

    @property
    def takes_paths(self) -> bool:
        """Whether jobs that need a path stop: not for an outage that is over, which is harmless."""
        return not self.harmless and "path" in incident_kinds()[self.kind].takes_away


def cause_of(
    kind: IncidentKind,
    root: ObjectRef,
    primary: frozenset[str],
    reason: str,
    *,
    tier: Tier | None = None,
    hold: HoldPolicy | None = None,
    factor: float = 1.0,
    devices: frozenset[str] = frozenset(),
    gone: frozenset[str] = frozenset(),
    links: frozenset[ObjectRef] = frozenset(),
    change: str = "",
    subject: str = "",
    headline: str = "",
    action: str = "",
    part: frozenset[ObjectRef] = frozenset(),
    unused: bool = False,
    keep_s: float = 0.0,
    harmless: bool = False,
    wait_hold: HoldPolicy | None = None,
    ceiling: Severity = Severity.CRITICAL,
) -> Cause:
    """A cause with the tier and holds of its kind where none are given."""
    row = incident_kinds()[kind]
    return Cause(
        kind,
        root,
        primary,
        reason,
        tier=row.tier if tier is None else tier,
        hold=row.hold if hold is None else hold,
        factor=factor,
        devices=devices,
        gone=gone,
        links=links,
        change=change,
        subject=subject,
        headline=headline,
        action=action,
        part=part,
        unused=unused,
        keep_s=keep_s,
        harmless=harmless,
        wait_hold=row.wait_hold if wait_hold is None else wait_hold,
        ceiling=ceiling,
    )


PAUSES = kinds_in(FindingGroup.PAUSE)
QUEUES = kinds_in(FindingGroup.QUEUE)
CONGESTED = PAUSES | QUEUES | kinds_in(FindingGroup.CONGESTION)  # at a port, or of a whole switch
STORAGE = kinds_in(FindingGroup.STORAGE)
ENVIRONMENT = kinds_in(FindingGroup.ENVIRONMENT)
SILENCE = kinds_in(FindingGroup.SILENCE)
LINK = kinds_in(FindingGroup.LINK)
GPU_FAULTS = kinds_in(FindingGroup.GPU)
CHECKPOINTS = kinds_in(FindingGroup.CHECKPOINT)
AWAY = LINK | SILENCE | {FindingKind.DEVICE_REBOOTED, FindingKind.GPU_LOST}  # of a device that goes or returns
JOB_WAITS = frozenset({FindingKind.JOB_STALLED, FindingKind.JOB_SLOWED})  # a job's own work shows it
SUPPORTS_ONLY = 0.25  # confidence below which findings open no incident, in any number
SYMPTOMS = frozenset(kind for kind, row in finding_kinds().items() if row.symptom)


def weight(finding: Finding) -> float:
    """What a finding adds to the causes that explain it: confidence times its score, within limits."""
    return max(0.05, min(1.0, finding.confidence)) * max(0.5, min(3.0, finding.score))
