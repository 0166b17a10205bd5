"""Which causes are chosen: a weighted greedy set cover, tier by tier.

The cause that explains most of what is still unexplained comes first (prior x share of its usual evidence x weight of
the findings it newly explains); the others no longer count what it explains. After each tier the chosen causes claim
the symptoms within their reach. So a finding belongs to exactly one cause, and a cause left with none is dropped.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from analytics.correlate.absorb import absorb
from analytics.correlate.cause import JOB_WAITS, Cause, Key
from analytics.correlate.causes import leftover
from analytics.correlate.claim import Claim
from analytics.correlate.pressure import explains_wait, is_ordinary
from analytics.correlate.symptoms import Near, contradicts, follows, why_not
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding
from telemetry.kinds import Tier, incident_kinds
from telemetry.objects import ObjectRef, job

OPEN_BONUS = 1.1  # between equals the incident that is already open stays


class OpenCause(NamedTuple):
    """An open incident as a cause: with active findings it competes, without (``cooling``) it only absorbs symptoms.

    symptoms: ids of those that it has. They stay with it while it predicts them and no other cause is nearer.
    over_ns: since when it has no active findings, 0 where it has.
    """

    cause: Cause
    onset_ns: int
    cooling: bool
    symptoms: frozenset[str] = frozenset()
    over_ns: int = 0


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
    passive = [
        Claim(known.cause, known.onset_ns, view.cluster.reach(known.cause), over_ns=known.over_ns) for known in cooling
    ]
    uncovered = set(view.by_id)
    withheld: set[str] | None = None  # in the tier before
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
        held |= _begun_with(view, [cause for cause in causes if cause.tier > tier], claims, uncovered)
        if chosen or held != withheld:  # else the same causes are asked for the same symptoms again
            others = (claim for claim in passive if claim.cause.key not in keys)
            absorb(view, [*claims, *others], uncovered, holders, held)
        withheld = held
    return claims + [claim for claim in passive if claim.symptoms and claim.cause.key not in keys]


def _begun_with(
    view: CorrelationView, later: Iterable[Cause], claims: Sequence[Claim], uncovered: Set[str]
) -> set[str]:
    """What shows that jobs wait since a cause of a ``later`` tier began, on which they depend, and nothing that is
    chosen by now and may slow them: a hard fault of an hour ago is not why they wait."""
    waits: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(JOB_WAITS)):
        if finding.id in uncovered:
            waits[finding.object.name].append(finding)
    found: set[str] = set()
    for cause in later if waits else ():
        own = [view.by_id[each] for each in cause.primary & uncovered]
        if not own or is_ordinary(cause):
            continue
        onsets_ns = sorted(finding.onset_ns for finding in own)
        every_s = view.config.slowest_s(finding.cadence_s for finding in own)
        for job_id in waits.keys() & view.cluster.reach(cause).certain:
            since_ns = view.waits_since(job(job_id))
            shown_s = view.config.slowest_s(each.cadence_s for each in waits[job_id])
            slowing = (claim for claim in claims if _may_slow(claim, job_id))
            if not follows(view.config, onsets_ns, since_ns, every_s, shown_s):
                continue
            if not any(follows(view.config, each.onsets_ns, since_ns, each.cadence_s, shown_s) for each in slowing):
                found.update(each.id for each in waits[job_id] if _is_predicted(view, cause, each))
    return found


def _may_slow(claim: Claim, job_id: str) -> bool:
    return not is_ordinary(claim.cause) and (job_id in claim.reach.certain or job_id in claim.reach.possible)


def _is_predicted(view: CorrelationView, cause: Cause, finding: Finding) -> bool:
    return contradicts(cause, Near.CERTAIN_JOB, view.index.shown[finding.id], None) is None


def unique(causes: Iterable[Cause]) -> list[Cause]:
    """One cause a key, in a fixed order: the one with more evidence."""
    best: dict[Key, Cause] = {}
    for cause in causes:
        known = best.get(cause.key)
        if known is None or (cause.factor, len(cause.primary)) > (known.factor, len(known.primary)):
            best[cause.key] = cause
    return [best[key] for key in sorted(best)]


def gain(view: CorrelationView, cause: Cause, uncovered: set[str]) -> float:
    """How much a cause explains of what nothing has explained so far."""
    return _gain(view, cause, cause.primary & uncovered)


def _gain(view: CorrelationView, cause: Cause, newly: Set[str]) -> float:
    weights = map(view.index.weights.__getitem__, sorted(newly) if len(newly) > 1 else newly)
    return incident_kinds()[cause.kind].prior * cause.factor * sum(weights)


def _greedy(
    view: CorrelationView,
    causes: list[Cause],
    uncovered: set[str],
    open_since: dict[Key, int],
) -> list[Claim]:
    """Lazy greedy: a gain only falls as others cover, so the top of the heap is final once it is up to date.

    Source: Minoux (1978), Accelerated greedy algorithms for maximizing submodular set functions.
    """
    symptomatic = view.symptomatic
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
            uncovered -= newly[at]
            claim = _claim(view, cause, newly[at], -now, open_since.get(cause.key))
            if not claim.reach.own.isdisjoint(symptomatic):
                _add_own_symptoms(view, claim, claim.reach.own & symptomatic, uncovered)
            chosen.append(claim)
    return chosen


def _claim(view: CorrelationView, cause: Cause, primary: Set[str], gain: float, open_since_ns: int | None) -> Claim:
    own = [view.by_id[found] for found in primary]
    onsets = tuple(sorted([finding.onset_ns for finding in own]))
    onset = onsets[0] if open_since_ns is None else min(onsets[0], open_since_ns)
    kinds = {finding.kind for finding in own}
    cadence_s = view.config.slowest_s([finding.cadence_s for finding in own])
    reach = view.cluster.reach(cause)
    return Claim(cause, onset, reach, gain, set(primary), set(), onsets, kinds, cadence_s=cadence_s)


def _add_own_symptoms(view: CorrelationView, claim: Claim, ill: Iterable[ObjectRef], uncovered: set[str]) -> None:
    """Symptoms about the root itself: they must not open a weaker cause with the same root."""
    about = [finding for ref in ill for finding in view.about(ref) if finding.id in uncovered]
    explained = [finding for finding in about if _explains(view, claim, finding)]
    claim.symptoms.update([finding.id for finding in explained])
    uncovered -= claim.symptoms
    assert claim.kinds is not None
    claim.kinds.update([finding.kind for finding in explained])


def _explains(view: CorrelationView, claim: Claim, finding: Finding) -> bool:
    if finding.kind in JOB_WAITS and not explains_wait(view, claim.cause, finding):
        return False
    since_ns = view.waits_since(finding.object) if finding.kind in JOB_WAITS else None
    cause, onset_ns = claim.cause, claim.onset_ns
    about = claim.onsets_ns, since_ns, claim.kinds, claim.cadence_s
    return not why_not(view.config, cause, Near.OWN, onset_ns, finding, *about)
