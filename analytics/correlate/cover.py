"""Which causes are chosen: a weighted greedy set cover, tier by tier.

The cause that explains most of what is still unexplained comes first (prior x share of its usual evidence x weight of
the findings it newly explains); the others no longer count what it explains. After each tier the chosen causes claim
the symptoms within their reach. So a finding belongs to exactly one cause, and a cause left with none is dropped.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, merge
from itertools import islice

from analytics.correlate.cause import JOB_WAITS, Cause
from analytics.correlate.causes import leftover
from analytics.correlate.cluster.reach import Reach
from analytics.correlate.pressure import explains_wait
from analytics.correlate.symptoms import Near, follows, why_not
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import Tier, incident_kinds
from telemetry.objects import ObjectRef

Key = tuple[IncidentKind, ObjectRef]
Index = dict[tuple[Near, str | ObjectRef], list[int]]  # claims by how near they are to an object, job or device
OPEN_BONUS = 1.1  # between equals the incident that is already open stays
COMPARED_MAX = 32  # claims by time for one symptom: where more are as near, which one gets it says nothing


@dataclass(slots=True)
class Claim:
    """A chosen cause with its own findings and the symptoms within its reach.

    gain: how much it newly explained. onsets_ns: of its own findings, ascending; none without any.
    kinds: of all its findings; None where it has none of its own any more.
    """

    cause: Cause
    onset_ns: int
    reach: Reach
    gain: float = 0.0
    primary: set[str] = field(default_factory=set)
    symptoms: set[str] = field(default_factory=set)
    onsets_ns: tuple[int, ...] = ()
    kinds: set[FindingKind] | None = None

    @property
    def findings(self) -> set[str]:
        """Ids of all that it explains."""
        return self.primary | self.symptoms


@dataclass(frozen=True, slots=True)
class OpenCause:
    """An open incident as a cause: with active findings it competes, without (``cooling``) it only absorbs symptoms.

    symptoms: ids of those that it has. They stay with it while it predicts them and no other cause is nearer.
    """

    cause: Cause
    onset_ns: int
    cooling: bool
    symptoms: frozenset[str] = frozenset()


# What chooses: the view, the causes proposed, the open ones, and the ids of findings that have waited for long enough.
Chooser = Callable[[CorrelationView, Sequence[Cause], Sequence[OpenCause], frozenset[str]], list[Claim]]


def choose(
    view: CorrelationView, causes: Sequence[Cause], open_causes: Sequence[OpenCause], past_hold: frozenset[str]
) -> list[Claim]:
    """The chosen causes with their findings, in the order of choice; every input order gives the same."""
    open_since = {known.cause.key: known.onset_ns for known in open_causes}
    holders = {found: known.cause.key for known in reversed(open_causes) for found in sorted(known.symptoms)}
    proposed_at = {cause.key: cause.tier for cause in causes}
    claims: list[Claim] = []
    keys: set[Key] = set()
    cooling = [known for known in open_causes if known.cooling]
    passive = [Claim(known.cause, known.onset_ns, view.cluster.reach(known.cause)) for known in cooling]
    uncovered = set(view.by_id)
    for tier in Tier:
        proposed = [cause for cause in causes if cause.tier is tier]
        if tier is Tier.RESIDUAL:
            left = [finding for finding in view.findings if finding.id in uncovered]
            proposed += leftover.propose(view, left, past_hold)
        chosen = _greedy(view, unique(proposed), uncovered, open_since)
        claims += chosen
        keys |= {claim.cause.key for claim in chosen}
        later = {key for key, at in proposed_at.items() if at > tier}
        held = {found for found, key in holders.items() if key in later}
        _absorb(view, [*claims, *(claim for claim in passive if claim.cause.key not in keys)], uncovered, holders, held)
    return claims + [claim for claim in passive if claim.symptoms and claim.cause.key not in keys]


def unique(causes: Iterable[Cause]) -> list[Cause]:
    """One cause a key, in a fixed order: the one with more evidence."""
    best: dict[Key, Cause] = {}
    for cause in causes:
        known = best.get(cause.key)
        if known is None or (cause.factor, len(cause.primary)) > (known.factor, len(known.primary)):
            best[cause.key] = cause
    return [best[key] for key in sorted(best, key=by_name)]


def by_name(key: Key) -> tuple[str, str, str]:
    """The order of keys, without a call of Python for each comparison."""
    kind, root = key
    return kind, root.kind, root.name


def gain(view: CorrelationView, cause: Cause, uncovered: set[str]) -> float:
    """How much a cause explains of what nothing has explained so far."""
    return _gain(view, cause, cause.primary & uncovered)


def _gain(view: CorrelationView, cause: Cause, newly: Set[str]) -> float:
    weights = view.index.weights
    return incident_kinds()[cause.kind].prior * cause.factor * sum(map(weights.__getitem__, sorted(newly)))


def _greedy(
    view: CorrelationView,
    causes: list[Cause],
    uncovered: set[str],
    open_since: dict[Key, int],
) -> list[Claim]:
    """Lazy greedy: a gain only falls as others cover, so the top of the heap is final once it is up to date.

    Source: Minoux (1978), Accelerated greedy algorithms for maximizing submodular set functions.
    """
    bonus = [OPEN_BONUS if cause.key in open_since else 1.0 for cause in causes]
    newly = [cause.primary & uncovered for cause in causes]
    heap = [(-_gain(view, cause, newly[at]) * bonus[at], at) for at, cause in enumerate(causes)]
    heapify(heap)
    chosen: list[Claim] = []
    while heap and heap[0][0] < 0:
        now, at = heappop(heap)
        cause, before = causes[at], newly[at]
        newly[at] = before & uncovered
        if len(newly[at]) < len(before):
            now = -_gain(view, cause, newly[at]) * bonus[at]
        if heap and (now, at) > heap[0]:
            heappush(heap, (now, at))
        elif now < 0:
            primary = set(newly[at])
            uncovered -= primary
            onsets = tuple(sorted(view.by_id[found].onset_ns for found in primary))
            onset = min(onsets[0], open_since.get(cause.key, onsets[0]))
            kinds = {view.by_id[found].kind for found in primary}
            claim = Claim(cause, onset, view.cluster.reach(cause), -now, primary, onsets_ns=onsets, kinds=kinds)
            claim.symptoms |= _own_symptoms(view, claim, uncovered)
            kinds |= {view.by_id[found].kind for found in claim.symptoms}
            uncovered -= claim.symptoms
            chosen.append(claim)
    return chosen


def _own_symptoms(view: CorrelationView, claim: Claim, uncovered: set[str]) -> set[str]:
    """Symptoms about the root itself: they must not open a weaker cause with the same root."""
    about = (finding for ref in claim.reach.own for finding in view.about(ref) if finding.id in uncovered)
    return {finding.id for finding in about if _explains(view, claim, Near.OWN, finding)}


def _absorb(
    view: CorrelationView, claims: Sequence[Claim], uncovered: set[str], holders: Mapping[str, Key], held: Set[str]
) -> None:
    """Gives each symptom that is left to a claim that predicts it; all that shows that one job waits goes together.

    holders: which open incident has a symptom. held: those whose incident is chosen in a later tier.
    """
    free = uncovered - held
    left = [finding for finding in view.index.symptoms if finding.id in free]
    index = _index(view, claims, left) if left else {}
    positions = {claim.cause.key: at for at, claim in enumerate(claims)}
    waiting = {view.by_id[found].object: key for found, key in holders.items() if _job_waits(view, found)}
    for finding in left:
        of_job = waiting.get(finding.object) if finding.kind in JOB_WAITS else None
        holder = holders.get(finding.id, of_job)
        best = _best(view, claims, index, finding, holder, positions.get(holder) if holder else None)
        if best is not None:
            claims[best].symptoms.add(finding.id)
            uncovered.discard(finding.id)
            if finding.kind in JOB_WAITS:
                waiting.setdefault(finding.object, claims[best].cause.key)


def _job_waits(view: CorrelationView, found: str) -> bool:
    return found in view.by_id and view.by_id[found].kind in JOB_WAITS


def _best(
    view: CorrelationView,
    claims: Sequence[Claim],
    index: Index,
    finding: Finding,
    holder: Key | None,
    holding: int | None,
) -> int | None:
    """The nearest claim: of equally near ones the one that has it, else the one that began or changed just before it,
    else the strongest. Ordinary pressure takes it from no incident that has it, however near: that is always there.

    holder: the open incident that has it. holding: position of that one among the claims, where it is among them."""
    nearest: int | None = None
    for near, names in places(view, finding):
        found = [at for name in names if (at := index.get((near, name)))]
        if (
            holding is not None
            and any(_among(each, holding) for each in found)
            and _explains(view, claims[holding], near, finding, holder)
        ):
            return holding
        if nearest is None:
            nearest = _strongest(view, claims, near, found, finding)
            if nearest is not None and (
                holder is None or incident_kinds()[claims[nearest].cause.kind].pages_without_waiting
            ):
                return nearest
    return nearest


def _among(ascending: Sequence[int], wanted: int) -> bool:
    at = bisect_left(ascending, wanted)
    return at < len(ascending) and ascending[at] == wanted


def _strongest(
    view: CorrelationView, claims: Sequence[Claim], near: Near, found: Sequence[Sequence[int]], finding: Finding
) -> int | None:
    """Of equally near claims that explain a symptom the first that began or changed just before it, else the first, in
    the order in which they were chosen."""
    equal = found[0] if len(found) == 1 else merge(*found)
    strongest: int | None = None
    for at in islice((at for at in equal if _explains(view, claims[at], near, finding)), COMPARED_MAX):
        if _timely(view, claims[at], finding):
            return at
        strongest = at if strongest is None else strongest
    return strongest


def _index(view: CorrelationView, claims: Sequence[Claim], left: Sequence[Finding]) -> Index:
    """Only of what the symptoms that are left ask for: claims reach far more than that."""
    asked: defaultdict[Near, set[str | ObjectRef]] = defaultdict(set)
    for finding in left:
        for near, names in places(view, finding):
            asked[near].update(names)
    index: defaultdict[tuple[Near, str | ObjectRef], list[int]] = defaultdict(list)
    for at, claim in enumerate(claims):
        to = claim.reach
        for near, reached in (
            (Near.OWN, to.own),
            (Near.CERTAIN_JOB, to.certain),
            (Near.POSSIBLE_JOB, to.possible),
            (Near.DEVICE, to.devices),
        ):
            for name in reached & asked[near]:
                index[near, name].append(at)
        if asked[Near.FABRIC] and (incident_kinds()[claim.cause.kind].disturbs_fabric or to.possible or to.certain):
            index[Near.FABRIC, ""].append(at)
    return index


def places(view: CorrelationView, finding: Finding) -> Iterable[tuple[Near, Sequence[str | ObjectRef]]]:
    """What a cause would have to reach to be near a symptom, nearest first."""
    slow = finding.kind is FindingKind.STORAGE_SLOW
    jobs = sorted(view.jobs.using(finding.object)) if slow else view.jobs.of(finding.object)
    device = view.graph.server_of(finding.object) if slow else finding.object.device
    yield Near.OWN, [finding.object]
    yield Near.CERTAIN_JOB, jobs
    yield Near.POSSIBLE_JOB, jobs
    yield Near.DEVICE, [device]
    yield Near.FABRIC, [""] if view.graph.is_switch(device) else []


def _timely(view: CorrelationView, claim: Claim, finding: Finding) -> bool:
    """Whether a symptom began when the claim's own evidence did; without any it is over."""
    since_ns = view.waits_since(finding.object) if finding.kind in JOB_WAITS else finding.onset_ns
    return follows(view.config, claim.onsets_ns, since_ns)


def _explains(view: CorrelationView, claim: Claim, near: Near, finding: Finding, holder: Key | None = None) -> bool:
    """holder: the open incident that has this symptom."""
    since_ns = view.waits_since(finding.object) if finding.kind in JOB_WAITS else None
    held = claim.cause.key == holder
    if finding.kind in JOB_WAITS and not held and not explains_wait(view, claim.cause, finding):
        return False
    cause, onset_ns = claim.cause, claim.onset_ns
    objection = why_not(view.config, cause, near, onset_ns, finding, claim.onsets_ns, since_ns, claim.kinds, held=held)
    return objection is None
