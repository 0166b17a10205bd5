"""The likeliest set of causes in place of the greedy cover and its tiers: all causes compete at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analytics.correlate.cause import JOB_WAITS, Cause
from analytics.correlate.causes import leftover
from analytics.correlate.cover import OPEN_BONUS, Claim, OpenCause, gain
from analytics.correlate.view import CorrelationView
from evaluation.noisy_or.model import Candidate, Key, Likelihoods, candidate, leak
from evaluation.noisy_or.search import Search


def choose(
    view: CorrelationView, causes: Sequence[Cause], open_causes: Sequence[OpenCause], past_hold: frozenset[str]
) -> list[Claim]:
    """As ``analytics.correlate.cover.choose``: a finding belongs to one cause, every input order gives the same."""
    known = _Choice(view, causes, open_causes).claims()
    explained = set[str]().union(*(claim.findings for claim in known))
    left = [finding for finding in view.findings if finding.id not in explained]
    unknown = list(leftover.propose(view, left, past_hold))
    return _Choice(view, [*causes, *unknown], open_causes).claims() if unknown else known


class _Choice:
    def __init__(self, view: CorrelationView, causes: Iterable[Cause], open_causes: Sequence[OpenCause]) -> None:
        self._view = view
        self._holders = {found: each.cause.key for each in reversed(open_causes) for found in sorted(each.symptoms)}
        since = {each.cause.key: each.onset_ns for each in open_causes}
        proposed = [candidate(view, each, since.get(each.key), OPEN_BONUS) for each in _unique(view, causes)]
        keys = {each.key for each in proposed}
        cooling = {each.cause.key: each for each in open_causes if each.cooling and each.cause.key not in keys}
        # an incident whose own evidence has cleared is there as it was: nothing has to be paid for it again
        passive = [_passive(view, cooling[key]) for key in sorted(cooling, key=_by_name)]
        self._candidates = [*proposed, *passive]
        self._given = range(len(proposed), len(self._candidates))
        self._likelihoods = Likelihoods(view, self._candidates, self._holders)

    def claims(self) -> list[Claim]:
        """The chosen causes with their findings, likeliest first; a cause left with none is dropped."""
        shown, view = self._likelihoods.shown, self._view
        owned = set[str]().union(*(each.cause.primary for each in self._candidates))
        leaks = {found: leak(view, found) for found in view.by_id if found in owned}
        shown = [{found: p for found, p in row.items() if found in leaks} for row in shown]
        search = Search([each.cost for each in self._candidates], shown, leaks, self._given)
        chosen = set(search.run())
        ranked = sorted(chosen, key=lambda at: (at in self._given, -search.loss(at), at))
        while True:
            claims = self._divided(ranked)
            kept = [at for at in ranked if claims[at].primary or (at in self._given and claims[at].symptoms)]
            if all(claims[at].primary or at in self._given for at in ranked):
                return [claims[at] for at in kept]
            ranked = [at for at in ranked if claims[at].primary or at in self._given]

    def _divided(self, ranked: Sequence[int]) -> Mapping[int, Claim]:
        """Each finding at the cause that shows it likeliest; all that shows that one job waits together."""
        view, apart = self._view, self._likelihoods.apart
        claims = {at: self._claim(self._candidates[at]) for at in ranked}
        waiting: dict[object, Key] = {
            view.by_id[found].object: key
            for found, key in self._holders.items()
            if found in view.by_id and view.by_id[found].kind in JOB_WAITS
        }
        by_finding: dict[str, list[int]] = {}
        for at in ranked:
            for found in apart[at]:
                by_finding.setdefault(found, []).append(at)
        for finding in view.findings:
            of_job = waiting.get(finding.object) if finding.kind in JOB_WAITS else None
            holder = self._holders.get(finding.id, of_job)
            among = by_finding.get(finding.id, ())
            if not among:
                continue
            best = min(among, key=lambda at: (apart[at][finding.id], self._candidates[at].key != holder))
            claim = claims[best]
            (claim.primary if finding.id in claim.cause.primary else claim.symptoms).add(finding.id)
            if finding.kind in JOB_WAITS:
                waiting.setdefault(finding.object, claim.cause.key)
        for claim in claims.values():
            claim.gain = gain(view, claim.cause, claim.primary)
            claim.onsets_ns = tuple(sorted(view.by_id[found].onset_ns for found in claim.primary))
            claim.kinds = {view.by_id[found].kind for found in claim.findings} if claim.primary else None
        return claims

    @staticmethod
    def _claim(of: Candidate) -> Claim:
        return Claim(of.cause, of.onset_ns, of.reach)


def _unique(view: CorrelationView, causes: Iterable[Cause]) -> list[Cause]:
    """One cause a key, in a fixed order, the one with more evidence; none without any."""
    best: dict[Key, Cause] = {}
    for cause in causes:
        if cause.factor <= 0.0 or view.by_id.keys().isdisjoint(cause.primary):
            continue
        known = best.get(cause.key)
        if known is None or (cause.factor, len(cause.primary)) > (known.factor, len(known.primary)):
            best[cause.key] = cause
    return [best[key] for key in sorted(best, key=_by_name)]


def _passive(view: CorrelationView, known: OpenCause) -> Candidate:
    return Candidate(known.cause, 0.0, view.cluster.reach(known.cause), known.onset_ns)


def _by_name(key: Key) -> tuple[str, str, str]:
    kind, root = key
    return kind, root.kind, root.name
