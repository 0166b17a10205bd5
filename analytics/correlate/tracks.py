"""An incident as it is tracked from tick to tick, and which track each newly chosen cause continues."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from analytics.correlate.cause import Cause, Key
from analytics.correlate.claim import Claim
from analytics.correlate.lifecycle import Life
from analytics.correlate.object_records import LastIncident
from analytics.correlate.view import CorrelationView
from telemetry.findings import Evidence
from telemetry.incidents import Hypothesis, IncidentKind, IncidentState, Severity, TimelineEntry
from telemetry.kinds import Tier, incident_kinds
from telemetry.objects import ObjectKind, ObjectRef

FORECASTS = frozenset({IncidentKind.CAPACITY, IncidentKind.WEAR})


@dataclass
class Track:
    """The memory of one incident; everything in it goes into the snapshot.

    id:       '' until it fires: a hash of the root that fired first, and kept when a better root is found later.
    primary:  active findings that are its own evidence; symptoms: active findings that it explains.
    members:  every finding that it has explained so far, with its onset; the earliest ``findings_max``.
    job_impact:    of every job that has waited so far, the share of its time that it last lost.
    measured:      jobs with findings about their own work.
    cost_until_ns: until when the cost of each such job has been counted.
    counted: of jobs whose share is a mean: since when it is one, since when it counts, the seconds of each GPU that
    were counted since the former, and the share that this incident pays now.
    expected: of gpu_seconds, those of jobs that are cut off and have not shown yet what they lose.
    matters_since_ns: of pressure on the fabric, from when on it was more than ordinary, as a job waited; 0 until then.
    since_first_seen: all its evidence was there when telemetry of its objects began.
    usual: some of its evidence ended because it had lasted until it was learned: nothing shows a repair.
    unseen_since_ns: evidence of its root ended as next to nothing was sent there, since then; 0 where none did.
    ended_jobs: that ended because of it.
    first:    onset, id and text of its first symptom.
    occurrences: how often an intermittent fault has come.
    explained_max: the most findings that it had at a time, as of which because, against and missing are.
    cadence_s: of its evidence and the devices nearby, see ``cadence.of_claim``; 0 before it has any.
    published_digest, published_gpu_seconds: of the version that was published last. Its content stands for the digest
    until a snapshot needs it: most versions are replaced or over by then.
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
    ended_jobs: set[str] = field(default_factory=set)
    cost_until_ns: dict[str, int] = field(default_factory=dict)
    counted: dict[str, tuple[int, int, float, float]] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)
    matters_since_ns: int = 0
    since_first_seen: bool = False
    usual: bool = False
    unseen_since_ns: int = 0
    first: tuple[int, str, str] = (0, "", "")
    order_known: bool = True
    evidence: tuple[Evidence, ...] = ()
    alternatives: tuple[Hypothesis, ...] = ()
    because: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    explained_max: int = 0
    occurrences: int = 1
    notes: list[TimelineEntry] = field(default_factory=list)
    gpu_seconds: float = 0.0
    accounted_ns: int = 0
    cadence_s: float = 0.0
    published_digest: str | tuple[Any, ...] = ""
    published_gpu_seconds: float = 0.0

    @property
    def key(self) -> Key:
        return self.cause.key

    @property
    def fires(self) -> bool:
        return self.life.state is IncidentState.FIRING

    @property
    def age(self) -> tuple[bool, int, IncidentKind, ObjectKind, str]:
        """Sorts firing before pending, and the older first."""
        root = self.cause.root
        return not self.fires, self.life.opened_ns, self.cause.kind, root.kind, root.name

    def forget_impact(self) -> None:
        """What a cause cost that turned out to be another one before anybody was notified of it."""
        self.severity, self.gpu_seconds, self.accounted_ns, self.matters_since_ns = Severity.INFO, 0.0, 0, 0
        self.job_impact, self.cost_until_ns, self.measured, self.ended_jobs = {}, {}, set(), set()
        self.counted, self.expected = {}, {}

    def take_over_impact(self, merged: "Track") -> None:
        """What waited for an incident that is now a part of this one. That a job has waited for other pressure shows
        nothing about pressure that nobody waits for; if it still waits, it shows so again."""
        if not self.job_impact and not incident_kinds()[self.cause.kind].pages_without_waiting:
            return
        if merged.gpu_seconds > self.gpu_seconds:
            self.gpu_seconds, self.expected = merged.gpu_seconds, merged.expected
        self.job_impact, self.measured = merged.job_impact | self.job_impact, merged.measured | self.measured
        self.ended_jobs |= merged.ended_jobs
        self.counted = merged.counted | self.counted
        for job_id, cost_until_ns in merged.cost_until_ns.items():
            self.cost_until_ns[job_id] = max(cost_until_ns, self.cost_until_ns.get(job_id, cost_until_ns))

    def continue_from(self, before: LastIncident, now_ns: int) -> None:
        """The same fault came back: this is that incident, once more."""
        self.id, self.occurrences = before.id, before.occurrences + 1
        self.gpu_seconds += before.gpu_seconds
        self.note(now_ns, self.cause.root, f"came back: occurrence {self.occurrences} of this incident")

    def was_published(self, content: tuple[Any, ...]) -> bool:
        """Whether the version that was published last had this content."""
        last = self.published_digest
        return content == last if isinstance(last, tuple) else bool(last) and digest(content) == last

    def condense(self) -> None:
        """Leaves of the content that was published its digest, for a snapshot."""
        if isinstance(self.published_digest, tuple):
            self.published_digest = digest(self.published_digest)

    def note(self, at_ns: int, ref: ObjectRef, text: str) -> None:
        """A line of the timeline."""
        self.notes.append(TimelineEntry(at_ns, ref, text))


def digest(content: tuple[Any, ...]) -> str:
    """SHA-256 of what people see of an incident, in hex digits."""
    return hashlib.sha256(orjson.dumps(content)).hexdigest()


def incident_id(kind: IncidentKind, root: ObjectRef, onset_ns: int, taken: Collection[str] = ()) -> str:
    """The same telemetry gives the same id: 16 hex digits of SHA-256 over cause, root and onset.

    taken: ids of open incidents. One of them may have begun as this cause and have got a better root since.
    """
    text = f"{kind}|{root}|{onset_ns}"
    while (found := hashlib.sha256(text.encode()).hexdigest()[:16]) in taken:
        text += "|again"
    return found


@dataclass(frozen=True, slots=True)
class Matching:
    """Which track each claim continues (None: a new one), and which tracks are merged into which claim."""

    continues: tuple[Track | None, ...]
    merged: tuple[tuple[Track, int], ...]


def match(view: CorrelationView, claims: Sequence[Claim], tracks: Sequence[Track]) -> Matching:
    """A claim continues the track of its own cause, else the oldest one of those whose evidence it now explains.

    So one fault stays one incident while its evidence grows from a link to a spine to a rack. Of two tracks with one
    root the older one goes on, which people may know already, whatever either was called.
    """
    by_key = {track.key: track for track in tracks}
    continues: list[Track | None] = [by_key.get(claim.cause.key) for claim in claims]
    known = {id(track) for track in continues}
    free = sorted((track for track in tracks if id(track) not in known), key=lambda track: track.age)
    successors = _Successors(view, claims if free else ())
    merged: list[tuple[Track, int]] = []
    for track in free:
        at = successors.of(track)
        if at is None:
            continue
        younger = continues[at]
        if younger is None:
            continues[at] = track
        elif track.cause.root == younger.cause.root and track.age < younger.age:
            continues[at] = track
            merged.append((younger, at))
        else:
            merged.append((track, at))
    return Matching(tuple(continues), tuple(merged))


def with_remains(claims: Sequence[Claim], tracks: Sequence[Track]) -> list[Claim]:
    """The claims, without those that consist of what is left of an incident's evidence, at its own root.

    The findings of one fault end one after the other, so its last ones may look like another cause for a moment. They
    stay with the incident for as long as that has a claim. tracks: by age.
    """
    known = {track.key for track in tracks}
    new = [place for place, claim in enumerate(claims) if claim.cause.key not in known]
    if not new:
        return list(claims)
    own = {track.cause.root: track for track in reversed(tracks) if track.fires}
    at = {claim.cause.key: place for place, claim in enumerate(claims)}
    found: list[Claim | None] = list(claims)
    for place in new:
        claim = claims[place]
        track = own.get(claim.cause.root)
        if track is None or not claim.findings <= track.primary | track.symptoms:
            continue
        if (goes_on := found[at.get(track.key, place)]) is not None and goes_on is not claim:
            primary, symptoms = goes_on.primary | claim.primary, goes_on.symptoms | claim.symptoms
            found[at[track.key]] = replace(goes_on, primary=primary, symptoms=symptoms)
            found[place] = None
    return [claim for claim in found if claim is not None]


class _Successors:
    """The claims by what a track may have in common with them: a storm has thousands of both."""

    def __init__(self, view: CorrelationView, claims: Sequence[Claim]) -> None:
        self._view = view
        self._explaining: defaultdict[str, list[int]] = defaultdict(list)  # by finding
        self._about: dict[ObjectRef, int] = {}  # the first claim with this root
        self._containing: dict[ObjectRef, int] = {}  # the first whose device has this link or port
        for at, claim in enumerate(claims):
            for found in claim.findings:
                self._explaining[found].append(at)
            if claim.cause.kind not in FORECASTS:  # what may break some day continues nothing that broke
                self._about.setdefault(claim.cause.root, at)
            if claim.cause.root.kind is ObjectKind.DEVICE and claim.cause.tier is not Tier.RESIDUAL:
                for ref in claim.reach.own:
                    self._containing.setdefault(ref, at)

    def of(self, track: Track) -> int | None:
        """The claim that now explains most of a track's evidence, or is about the same object."""
        active = {found for found in track.primary if found in self._view.by_id}
        shares = Counter(at for found in active for at in self._explaining.get(found, ()))
        most, at = max(((share, -at) for at, share in shares.items()), default=(0, 0))
        if 2 * most > len(active):
            return -at
        if track.cause.unused and not active:
            return None  # it waits for the next device of its wave; what fails meanwhile is an incident of its own
        return self._related(track, cooling=not active)

    def _related(self, track: Track, *, cooling: bool) -> int | None:
        """The same root; or, for a track whose evidence has cleared, a device that contains its link or port."""
        root = track.cause.root
        found = [self._about.get(root)]
        if cooling and root.kind in (ObjectKind.LINK, ObjectKind.PORT):
            found.append(self._containing.get(root))
        return min((at for at in found if at is not None), default=None)
