"""The likeliest set of causes in place of the greedy cover and its tiers: all causes compete at once."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from analytics.correlate.cause import JOB_WAITS, Cause, Key
from analytics.correlate.causes import leftover
from analytics.correlate.claim import Claim
from analytics.correlate.cover import OpenCause, gain, unique
from analytics.correlate.view import CorrelationView
from evaluation.noisy_or.model import Candidate, Likelihoods, candidate, cooling, leak
from evaluation.noisy_or.search import Search
from telemetry.findings import Finding
from telemetry.objects import ObjectRef


def choose(
    view: CorrelationView, causes: Sequence[Cause], open_causes: Sequence[OpenCause], past_hold: frozenset[str]
) -> list[Claim]:
    """As ``analytics.correlate.cover.choose``: a finding belongs to one cause, every input order gives the same.

    Leftover causes name what the likeliest set leaves to the leak; then all compete once more.
    """
    known = _Choice(view, causes, open_causes).claims()
    explained = set[str]().union(*(claim.findings for claim in known))
    left = [finding for finding in view.findings if finding.id not in explained]
    unknown = list(leftover.propose(view, left, past_hold))
    return _Choice(view, [*causes, *unknown], open_causes).claims() if unknown else known


class _Choice:
    """One search, and the findings divided among the causes that it found."""

    def __init__(self, view: CorrelationView, causes: Iterable[Cause], open_causes: Sequence[OpenCause]) -> None:
        self._view = view
        self._holders = {found: each.cause.key for each in reversed(open_causes) for found in sorted(each.symptoms)}
        since = {each.cause.key: each.onset_ns for each in open_causes}
        proposed = [candidate(view, each, since.get(each.key)) for each in _supported(view, causes)]
        again = {each.key for each in proposed}
        over = {each.cause.key: each for each in open_causes if each.cooling and each.cause.key not in again}
        self._candidates = [*proposed, *(cooling(view, over[key]) for key in sorted(over))]
        self._given = range(len(proposed), len(self._candidates))
        self._likelihoods = Likelihoods(view, self._candidates, self._holders)

    def claims(self) -> list[Claim]:
        """The chosen causes with their findings, those that explain most first; one without evidence is dropped."""
        search = self._search()
        kept = sorted(search.run(), key=lambda at: (at in self._given, -search.worth(at), at))
        while True:
            claims = self._divide(kept)
            left = [at for at in kept if claims[at].primary or at in self._given]
            if left == kept:
                return [claims[at] for at in kept if claims[at].findings]
            kept = left

    def _search(self) -> Search:
        """Only what some cause rests on counts as evidence. Mere symptoms would buy second causes for one fault: they
        are far from independent of each other."""
        rests_on = set[str]().union(*(each.cause.primary for each in self._candidates))
        leaks = {found: leak(self._view, found) for found in self._view.by_id if found in rests_on}
        shown = [{found: p for found, p in row.items() if found in leaks} for row in self._likelihoods.shown]
        return Search([each.cost for each in self._candidates], shown, leaks, self._given)

    def _divide(self, kept: Sequence[int]) -> Mapping[int, Claim]:
        """Each finding at the cause nearest to it, of equally near ones the one that has it, then the one that explains
        most; all that shows that one job waits together."""
        view, apart = self._view, self._likelihoods.apart
        claims = {at: _claim(self._candidates[at]) for at in kept}
        waiting = self._waiting()
        explaining: defaultdict[str, list[int]] = defaultdict(list)
        for at in kept:
            for found in apart[at]:
                explaining[found].append(at)
        for finding in view.findings:
            if not (among := explaining.get(finding.id)):
                continue
            of_job = waiting.get(finding.object) if finding.kind in JOB_WAITS else None
            claim = claims[self._nearest(among, finding, self._holders.get(finding.id, of_job))]
            (claim.primary if finding.id in claim.cause.primary else claim.symptoms).add(finding.id)
            if finding.kind in JOB_WAITS:
                waiting.setdefault(finding.object, claim.cause.key)
        for claim in claims.values():
            _sum_up(view, claim)
        return claims

    def _waiting(self) -> dict[ObjectRef, Key]:
        """By job, the open incident that has a finding that it waits."""
        by_id = self._view.by_id
        held = ((by_id[found], key) for found, key in self._holders.items() if found in by_id)
        return {finding.object: key for finding, key in held if finding.kind in JOB_WAITS}

    def _nearest(self, among: Collection[int], finding: Finding, holder: Key | None) -> int:
        apart = self._likelihoods.apart
        return min(among, key=lambda at: (apart[at][finding.id], self._candidates[at].key != holder))


def _claim(of: Candidate) -> Claim:
    return Claim(of.cause, of.onset_ns, of.reach)


def _sum_up(view: CorrelationView, claim: Claim) -> None:
    """What texts and verdicts ask of a claim, in the terms of the greedy cover."""
    claim.gain = gain(view, claim.cause, claim.primary)
    claim.onsets_ns = tuple(sorted(view.by_id[found].onset_ns for found in claim.primary))
    claim.kinds = {view.by_id[found].kind for found in claim.findings} if claim.primary else None


def _supported(view: CorrelationView, causes: Iterable[Cause]) -> list[Cause]:
    """One cause a key, in a fixed order; those without any evidence are left out."""
    known = view.by_id.keys()
    return unique(each for each in causes if each.factor > 0.0 and not known.isdisjoint(each.primary))
