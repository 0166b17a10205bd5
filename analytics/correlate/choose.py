"""Which causes to believe: a weighted greedy set cover, tier by tier.

The cause that explains most of what is still unexplained comes first (prior x share of its usual evidence x weight of
the findings it newly explains); what it explains is gone for the others. After each tier the symptoms within reach of
the chosen causes are theirs. A finding so belongs to exactly one cause, and what a cause covers wholly opens no other.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from analytics.correlate.cause import PRIOR, SYMPTOMS, Cause, Tier, weight
from analytics.correlate.hypotheses import leftover
from analytics.correlate.reach import FABRIC, VAGUE, Reach, nearness, reach
from analytics.correlate.view import View
from telemetry.findings import Finding
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef

OPEN_BONUS = 1.1  # between equals the incident that is already open stays


@dataclass(slots=True)
class Claim:
    """A chosen cause and what it got: its own findings, and symptoms within its reach."""

    cause: Cause
    onset_ns: int
    reach: Reach
    gain: float = 0.0
    primary: set[str] = field(default_factory=set)
    symptoms: set[str] = field(default_factory=set)

    @property
    def findings(self) -> set[str]:
        return self.primary | self.symptoms


@dataclass(frozen=True, slots=True)
class Standing:
    """An open incident as a cause: with findings still active it competes, without (``cooling``) it only absorbs."""

    cause: Cause
    onset_ns: int
    cooling: bool


def choose(view: View, causes: Sequence[Cause], standing: Sequence[Standing], ripe: frozenset[str]) -> list[Claim]:
    """The believed causes with their findings, in the order of choice; every input order gives the same."""
    open_since = {known.cause.key: known.onset_ns for known in standing}
    claims: list[Claim] = []
    passive = [Claim(known.cause, known.onset_ns, reach(view, known.cause)) for known in standing if known.cooling]
    uncovered = set(view.by_id)
    for tier in Tier:
        proposed = [cause for cause in causes if cause.tier is tier]
        if tier is Tier.LEFT:
            left = [finding for finding in view.findings if finding.id in uncovered]
            proposed += leftover.propose(view, left, ripe)
        chosen = _greedy(view, _unique(proposed), uncovered, open_since)
        claims += chosen
        taken = {claim.cause.key for claim in claims}
        _absorb(view, [*claims, *(claim for claim in passive if claim.cause.key not in taken)], uncovered)
    return claims + [claim for claim in passive if claim.symptoms and claim.cause.key not in taken]


def _unique(causes: Iterable[Cause]) -> list[Cause]:
    """One cause a key, in a fixed order: the one with more evidence."""
    best: dict[tuple[IncidentKind, ObjectRef], Cause] = {}
    for cause in causes:
        known = best.get(cause.key)
        if known is None or (cause.factor, len(cause.primary)) > (known.factor, len(known.primary)):
            best[cause.key] = cause
    return [best[key] for key in sorted(best)]


def gain(view: View, cause: Cause, uncovered: set[str]) -> float:
    """How much a cause explains that nothing has explained so far."""
    newly = sorted(cause.primary & uncovered)
    return PRIOR[cause.kind] * cause.factor * sum(weight(view.by_id[found]) for found in newly)


def _greedy(
    view: View, causes: list[Cause], uncovered: set[str], open_since: dict[tuple[IncidentKind, ObjectRef], int]
) -> list[Claim]:
    """Lazy greedy: a gain only falls as others cover, so the top of the heap is final once it is up to date."""
    bonus = [OPEN_BONUS if cause.key in open_since else 1.0 for cause in causes]
    heap = [(-gain(view, cause, uncovered) * bonus[at], at) for at, cause in enumerate(causes)]
    heapify(heap)
    chosen: list[Claim] = []
    while heap and heap[0][0] < 0:
        _, at = heappop(heap)
        cause = causes[at]
        now = -gain(view, cause, uncovered) * bonus[at]
        if heap and (now, at) > heap[0]:
            heappush(heap, (now, at))
        elif now < 0:
            primary = cause.primary & uncovered
            uncovered -= primary
            onset = min(view.onset(primary), open_since.get(cause.key, view.onset(primary)))
            claim = Claim(cause, onset, reach(view, cause), -now, set(primary))
            claim.symptoms |= _own_symptoms(view, claim, uncovered)
            uncovered -= claim.symptoms
            chosen.append(claim)
    return chosen


def _own_symptoms(view: View, claim: Claim, uncovered: set[str]) -> set[str]:
    """Symptoms about the root itself: they must not open a weaker cause with the same root."""
    about = (finding for ref in claim.reach.own for finding in view.about(ref) if finding.id in uncovered)
    return {finding.id for finding in about if _distance(view, claim, finding) == 0}


def _absorb(view: View, claims: Sequence[Claim], uncovered: set[str]) -> None:
    """Give each symptom that is left to the nearest claim, and to the stronger of two that are equally near."""
    by_place: defaultdict[str, list[int]] = defaultdict(list)
    anywhere: list[int] = []
    for at, claim in enumerate(claims):
        if claim.cause.kind not in VAGUE and (
            claim.cause.kind in FABRIC or claim.reach.possible or claim.reach.certain
        ):
            anywhere.append(at)
        for place in _places(claim):
            by_place[place].append(at)
    for finding in view.findings:
        if finding.id not in uncovered or finding.kind not in SYMPTOMS:
            continue
        near = {at for place in _finding_places(view, finding) for at in by_place.get(place, ())}
        best = _nearest(view, claims, sorted(near), finding)
        if best is None and view.graph.is_switch(finding.object.device):
            best = next((at for at in anywhere if _distance(view, claims[at], finding) is not None), None)
        if best is not None:
            claims[best].symptoms.add(finding.id)
            uncovered.discard(finding.id)


def _places(claim: Claim) -> set[str]:
    jobs = {f"job:{job_id}" for job_id in claim.reach.certain | claim.reach.possible}
    return jobs | {str(ref) for ref in claim.reach.own} | claim.reach.devices


def _finding_places(view: View, finding: Finding) -> list[str]:
    jobs = [f"job:{job_id}" for job_id in view.jobs.of(finding.object)]
    return [str(finding.object), finding.object.device, *jobs]


def _distance(view: View, claim: Claim, finding: Finding) -> int | None:
    return nearness(view, claim.cause, claim.reach, claim.onset_ns, finding)


def _nearest(view: View, claims: Sequence[Claim], near: list[int], finding: Finding) -> int | None:
    found = [(distance, at) for at in near if (distance := _distance(view, claims[at], finding)) is not None]
    return min(found)[1] if found else None
