"""A noisy-or over causes and findings: how likely each cause is before anything is seen, and what it would show.

Every number is an assumption; figures that differ by a factor of ten give nearly the same
(docs/decisions/2026-11-23-noisy-or.md). Tiers are not used: all causes compete at once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log

from analytics.correlate.absorb import places
from analytics.correlate.cause import JOB_WAITS, Cause, Key
from analytics.correlate.cluster.reach import Reach
from analytics.correlate.cover import OPEN_BONUS, OpenCause
from analytics.correlate.symptoms import Near, follows, why_not
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectRef

Place = tuple[Near, str | ObjectRef]
BASE = 1e-2  # that something which the evidence allows is the cause, before the evidence counts
LEAK = 1e-6  # that a finding of weight 1 is there without any cause that is known
SHOWN = 0.95  # that a cause shows its own evidence
SHOWN_STEP = 0.5  # each step further away, and what does not begin with the cause, is shown half as often
COMPARED_MAX = 32  # causes equally near to one symptom


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cause that may be chosen. cost: its negative log prior odds, in nats.

    onset_ns: its own, or that of its open incident. onsets_ns: of its own findings, ascending. kinds: of
    these, None where it has none.
    """

    cause: Cause
    cost: float
    reach: Reach
    onset_ns: int
    onsets_ns: tuple[int, ...] = ()
    kinds: frozenset[FindingKind] | None = None

    @property
    def key(self) -> Key:
        return self.cause.key


def candidate(view: CorrelationView, cause: Cause, open_since_ns: int | None) -> Candidate:
    """A proposed cause with some active evidence of its own. open_since_ns: of its open incident.

    Its prior odds are those of its kind, times how much of the usual evidence is there, divided by the devices that
    share it: of a device that many depend on few would show it, if it were broken.
    """
    own = [view.by_id[found] for found in sorted(cause.primary) if found in view.by_id]
    onsets = tuple(sorted(finding.onset_ns for finding in own))
    reach = view.cluster.reach(cause)
    odds = BASE * incident_kinds()[cause.kind].prior * cause.factor / max(1, len(reach.devices))
    onset_ns = onsets[0]
    if open_since_ns is not None:
        odds, onset_ns = odds * OPEN_BONUS, min(onset_ns, open_since_ns)
    return Candidate(cause, -log(odds), reach, onset_ns, onsets, frozenset(finding.kind for finding in own))


def cooling(view: CorrelationView, known: OpenCause) -> Candidate:
    """An open incident whose own evidence has cleared: it is there, so nothing is paid for it again."""
    return Candidate(known.cause, 0.0, view.cluster.reach(known.cause), known.onset_ns)


def leak(view: CorrelationView, found: str) -> float:
    """That a finding is there without a known cause: the less, the surer it is and the further from normal."""
    return float(LEAK ** view.index.weights[found])


class Likelihoods:
    """What each candidate may show, by its position and the id of the finding.

    apart: steps from the cause to what it shows; 0 for its own evidence. shown: P(finding | this cause alone).
    holders: which open incident has a symptom.
    """

    def __init__(self, view: CorrelationView, candidates: Sequence[Candidate], holders: Mapping[str, Key]) -> None:
        self.apart: list[dict[str, int]] = [
            {found: 0 for found in sorted(each.cause.primary) if found in view.by_id} for each in candidates
        ]
        self._view, self._candidates, self._holders = view, candidates, holders
        index = self._index()
        for finding in view.index.symptoms:
            self._add(index, finding)
        self.shown = [self._likely(row) for row in self.apart]

    def _likely(self, apart: Mapping[str, int]) -> dict[str, float]:
        """What a cause shows alike and equally far away it shows for one reason, so the distance counts once."""
        kinds = {found: self._view.by_id[found].kind for found in apart}
        alike = Counter((kinds[found], steps) for found, steps in apart.items())
        return {found: SHOWN * SHOWN_STEP ** (steps / alike[kinds[found], steps]) for found, steps in apart.items()}

    def _add(self, index: Mapping[Place, list[int]], finding: Finding) -> None:
        seen: set[int] = set()
        for near, names in places(self._view, finding):
            at_place = sorted({at for name in names for at in index.get((near, name), ())} - seen)
            for at, apart in islice(self._explaining(at_place, near, finding), COMPARED_MAX):
                self.apart[at].setdefault(finding.id, apart)
                seen.add(at)

    def _explaining(self, among: Iterable[int], near: Near, finding: Finding) -> Iterator[tuple[int, int]]:
        view = self._view
        waits_since = view.waits_since(finding.object) if finding.kind in JOB_WAITS else None
        since_ns = finding.onset_ns if waits_since is None else waits_since
        for at in among:
            of = self._candidates[at]
            held = of.key == self._holders.get(finding.id)
            objection = why_not(
                view.config, of.cause, near, of.onset_ns, finding, of.onsets_ns, waits_since, of.kinds, held=held
            )
            if objection is None:
                yield at, near + (not held and not follows(view.config, of.onsets_ns, since_ns))

    def _index(self) -> Mapping[Place, list[int]]:
        """Candidates by what they reach, of what the symptoms ask for."""
        asked: defaultdict[Near, set[str | ObjectRef]] = defaultdict(set)
        for finding in self._view.index.symptoms:
            for near, names in places(self._view, finding):
                asked[near].update(names)
        index: defaultdict[Place, list[int]] = defaultdict(list)
        for at, each in enumerate(self._candidates):
            for near, reached in _reached(each):
                for name in reached & asked[near]:
                    index[near, name].append(at)
        return index


def _reached(candidate: Candidate) -> Iterable[tuple[Near, frozenset[str | ObjectRef]]]:
    to = candidate.reach
    yield Near.OWN, frozenset(to.own)
    yield Near.CERTAIN_JOB, frozenset(to.certain)
    yield Near.POSSIBLE_JOB, frozenset(to.possible)
    yield Near.DEVICE, frozenset(to.devices)
    if incident_kinds()[candidate.cause.kind].disturbs_fabric or to.possible or to.certain:
        yield Near.FABRIC, frozenset({""})
