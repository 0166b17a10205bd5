"""One incident as it is followed from tick to tick, and which of them a newly chosen cause continues."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from analytics.correlate.causes.cause import Cause
from analytics.correlate.cover import Claim
from analytics.correlate.lifecycle import Life
from analytics.correlate.view import CorrelationView
from telemetry.findings import Evidence
from telemetry.incidents import Hypothesis, IncidentKind, IncidentState, Severity, TimelineEntry
from telemetry.kinds import Tier
from telemetry.objects import ObjectKind, ObjectRef


@dataclass
class Track:
    """The memory of one incident; everything in it goes into the snapshot.

    id:       '' until it fires: made of the root that fired first, and kept when a better root is found later.
    primary:  active findings that are its own evidence; symptoms: active findings that it explains.
    members:  every finding it ever explained, with its onset; the earliest ``findings_max``.
    job_impact:     share of its time that each job lost when it last showed that it waits; jobs that ever did.
    measured: those with findings about their own work.
    cost_until_ns:  until when the cost of each such job has been counted.
    published_digest: digest of what was published last; published_gpu_seconds belongs to it.
    """

    cause: Cause
    life: Life
    onset_ns: int
    id: str = ""
    severity: Severity = Severity.INFO
    confidence: float = 0.0
    primary: set[str] = field(default_factory=set)
    symptoms: set[str] = field(default_factory=set)
    members: dict[str, int] = field(default_factory=dict)
    job_impact: dict[str, float] = field(default_factory=dict)
    measured: set[str] = field(default_factory=set)
    cost_until_ns: dict[str, int] = field(default_factory=dict)
    first: tuple[int, str, str] = (0, "", "")
    order_known: bool = True
    evidence: tuple[Evidence, ...] = ()
    alternatives: tuple[Hypothesis, ...] = ()
    notes: list[TimelineEntry] = field(default_factory=list)
    gpu_seconds: float = 0.0
    accounted_ns: int = 0
    published_digest: str = ""
    published_gpu_seconds: float = 0.0

    @property
    def key(self) -> tuple[IncidentKind, ObjectRef]:
        return self.cause.key

    @property
    def fires(self) -> bool:
        return self.life.state is IncidentState.FIRING

    @property
    def age(self) -> tuple[bool, int, IncidentKind, ObjectRef]:
        """Sorts firing before pending, and the older first."""
        return not self.fires, self.life.opened_ns, *self.key

    def note(self, at_ns: int, ref: ObjectRef, text: str) -> None:
        """A line of the timeline."""
        self.notes.append(TimelineEntry(at_ns, ref, text))


def incident_id(kind: IncidentKind, root: ObjectRef, onset_ns: int, taken: Collection[str] = ()) -> str:
    """The same telemetry gives the same id: 16 hex digits of SHA-256 over cause, root and onset.

    taken: ids of open incidents. One of them may have begun as this very cause and have found a better root since.
    """
    text = f"{kind}|{root}|{onset_ns}"
    while (found := hashlib.sha256(text.encode()).hexdigest()[:16]) in taken:
        text += "|again"
    return found


@dataclass(frozen=True, slots=True)
class Matching:
    """Which track each claim continues (None: a new one), and which tracks are swallowed by which claim."""

    continues: tuple[Track | None, ...]
    merged: tuple[tuple[Track, int], ...]


def match(view: CorrelationView, claims: Sequence[Claim], tracks: Sequence[Track]) -> Matching:
    """A claim continues the track of its own cause, else the oldest track that it explains better than that track did.

    So one fault stays one incident while its evidence grows from a link to a spine to a rack.
    """
    by_key = {track.key: track for track in tracks}
    continues: list[Track | None] = [by_key.get(claim.cause.key) for claim in claims]
    free = sorted(
        (track for track in tracks if all(track is not known for known in continues)), key=lambda track: track.age
    )
    merged: list[tuple[Track, int]] = []
    for track in free:
        at = _successor(view, claims, track)
        if at is None:
            continue
        if continues[at] is None:
            continues[at] = track
        else:
            merged.append((track, at))
    return Matching(tuple(continues), tuple(merged))


def _successor(view: CorrelationView, claims: Sequence[Claim], track: Track) -> int | None:
    """The claim that now explains most of a track's evidence, or is about the same thing."""
    active = {found for found in track.primary if found in view.by_id}
    shares = [(len(active & claim.findings), -at) for at, claim in enumerate(claims)]
    most, at = max(shares, default=(0, 0))
    if most and 2 * most > len(active):
        return -at
    related = [at for at, claim in enumerate(claims) if _related(track, claim, cooling=not active)]
    return related[0] if related else None


def _related(track: Track, claim: Claim, *, cooling: bool) -> bool:
    """The same root; or, for a track whose evidence has cleared, a device that contains its link or port."""
    known, cause = track.cause, claim.cause
    if cause.root == known.root:
        return True
    part = known.root.kind in (ObjectKind.LINK, ObjectKind.PORT) and cause.root.kind is ObjectKind.DEVICE
    return part and cooling and cause.tier is not Tier.RESIDUAL and known.root in claim.reach.own
