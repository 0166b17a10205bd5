"""Which of the chosen claims gets a symptom that no cause has taken: the nearest one that predicts it."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, partial
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any

from analytics.correlate.cause import JOB_WAITS, Key
from analytics.correlate.claim import Claim
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.cluster.reach import Reach
from analytics.correlate.pace import loses_more
from analytics.correlate.pressure import explains_wait, is_ordinary
from analytics.correlate.repaired import loses_nothing
from analytics.correlate.sessions import other_ends
from analytics.correlate.storage_clients import is_on_path, path_of, refs_of
from analytics.correlate.symptoms import Near, Shown, begins_in_time, contradicts, follows, waits_in_time
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import IncidentMeaning, incident_kinds
from telemetry.objects import ObjectRef

_NEAR_IN_REACH: Mapping[Near, Callable[[Reach], frozenset[Any]]] = {
    Near.OWN: attrgetter("own"),
    Near.CERTAIN_JOB: attrgetter("certain"),
    Near.POSSIBLE_JOB: attrgetter("possible"),
    Near.DEVICE: attrgetter("devices"),
}
COMPARED_MAX = 32  # claims by time for one symptom: where more are as near, which one gets it says nothing
Place = str | ObjectRef  # an object, job or device
Places = Sequence[tuple[Near, Sequence[Place]]]


def absorb(
    view: CorrelationView, claims: Sequence[Claim], uncovered: set[str], holders: Mapping[str, Key], held: Set[str]
) -> None:
    """Gives each symptom that is left to a claim that predicts it; all that shows that one job waits goes together.

    holders: which open incident has a symptom. held: those whose incident is chosen in a later tier.
    """
    free = uncovered - held
    left = [finding for finding in view.index.symptoms if finding.id in free]
    if not left:
        return
    nearby = _Nearby(view, claims, left)
    waiting = {view.by_id[found].object: key for found, key in holders.items() if _job_waits(view, found)}
    for finding in left:
        of_job = waiting.get(finding.object) if finding.kind in JOB_WAITS else None
        best = nearby.best(finding, holders.get(finding.id, of_job))
        if best is not None:
            claims[best].symptoms.add(finding.id)
            uncovered.discard(finding.id)
            if finding.kind in JOB_WAITS:
                waiting.setdefault(finding.object, claims[best].cause.key)


def _job_waits(view: CorrelationView, found: str) -> bool:
    return found in view.by_id and view.by_id[found].kind in JOB_WAITS


class _Nearby:
    """Claims by what they reach, as far as the symptoms ``left`` ask for it: claims reach far more than that.

    Many symptoms show the same in the same place: which claims predict that there is found out once, so what remains
    for each of them is the time.
    """

    def __init__(self, view: CorrelationView, claims: Sequence[Claim], left: Sequence[Finding]) -> None:
        self._view, self._claims = view, claims
        self._places = {finding.id: places(view, finding) for finding in left}
        self._reaching = cache(partial(_reaching, claims, list(self._places.values())))
        self._predicting: dict[tuple[Near, Place, Shown], list[int]] = {}
        cadences_s = {claim.cadence_s for claim in claims} | {finding.cadence_s for finding in left}
        slack_ns = {every_s: view.config.slack_ns(every_s) for every_s in cadences_s}
        # Of what it explains; of a symptom that comes more rarely by its own.
        self._earliest_ns = [claim.onset_ns - slack_ns[claim.cadence_s] for claim in claims]
        self._slack_ns = {finding.id: slack_ns[finding.cadence_s] for finding in left}
        self._slow = [at for at, claim in enumerate(claims) if claim.cause.kind is IncidentKind.STRAGGLER]
        self._with_key: defaultdict[Key | None, list[int]] = defaultdict(list)
        self._unseen = {at for at, claim in enumerate(claims) if claim.primary and claim.primary <= view.index.unloaded}
        self._repaired = {at for at, claim in enumerate(claims) if loses_nothing(view, claim)}
        for at, claim in enumerate(claims):
            self._with_key[claim.cause.key].append(at)

    def best(self, finding: Finding, holder: Key | None) -> int | None:
        """The nearest claim: of equally near ones the one that has it, else the one that began or changed just before
        it, else the strongest. Ordinary pressure takes it from no incident that has it, however near: that is always
        there. What a job depends on and was broken long before it waits, also what has it, leaves it to what may slow
        the job and began just then. What cannot cost a job so much comes last, and a link of which FEC repairs all
        after what began just then. What is not seen keeps what it has only where nothing else explains it."""
        slow = self._slow if finding.kind in JOB_WAITS else ()
        small = {at for at in slow if loses_more(self._view, self._claims[at], finding)}
        if unseen := self._unseen.intersection(self._with_key.get(holder, ())):
            seen = self._nearest(finding, None, small | unseen)
            if seen is not None:
                return seen
        if self._repaired and finding.kind in JOB_WAITS:
            losing = self._nearest(finding, holder, small | self._repaired)
            if losing is not None and self._timely(losing, finding):
                return losing
        best = self._nearest(finding, holder, small)
        return self._nearest(finding, holder, frozenset()) if best is None and small else best

    def _nearest(self, finding: Finding, holder: Key | None, small: Set[int]) -> int | None:
        """Of the claims that are not too ``small``."""
        nearest: int | None = None
        late = False
        holding = [at for at in self._with_key.get(holder, ()) if at not in small]
        shown = self._view.index.shown[finding.id]
        for near, around in self._places[finding.id]:
            reaching = self._reaching(near)
            names = [name for name in around if name in reaching]
            if not names and not late:
                continue
            for at in holding:
                within = any(_is_among(reaching[name], at) for name in names)
                if within and self._keeps(at, near, shown, finding):
                    if not self._is_late(at, finding):
                        return at
                    return self._began_with(near, self._predict(near, names, shown, small), finding, at)
            if nearest is None:
                nearest = self._strongest(near, self._predict(near, names, shown, small), finding)
                late = nearest is not None and near is Near.CERTAIN_JOB and self._is_late(nearest, finding)
            elif late:
                found = self._predict(near, names, shown, small)
                nearest, late = self._began_with(near, found, finding, nearest), False
            if nearest is not None and not late and (holder is None or self._row(nearest).pages_without_waiting):
                return nearest
        return nearest

    def _keeps(self, at: int, near: Near, shown: Shown, finding: Finding) -> bool:
        """Whether a claim whose incident has a symptom, and that is so near to it, still explains it."""
        claim = self._claims[at]
        contradicted = contradicts(claim.cause, near, shown, claim.kinds)
        return not contradicted and self._explains(at, near, finding, held=True)

    def _began_with(self, near: Near, found: Sequence[Sequence[int]], finding: Finding, nearer: int) -> int:
        """The claim this ``near`` that began when a job began to wait and is no ordinary pressure, else the ``nearer``
        one or the one that has it, which began long before."""
        at = self._strongest(near, found, finding)
        if at is None or self._is_late(at, finding):
            return nearer
        return nearer if is_ordinary(self._claims[at].cause) else at

    def _is_late(self, at: int, finding: Finding) -> bool:
        """Whether a job began to wait at another time than a claim's own evidence did."""
        return finding.kind in JOB_WAITS and not self._timely(at, finding)

    def _row(self, at: int) -> IncidentMeaning:
        return incident_kinds()[self._claims[at].cause.kind]

    def _strongest(self, near: Near, found: Sequence[Sequence[int]], finding: Finding) -> int | None:
        """Of equally near claims that explain a symptom the first that began or changed just before it, else the first,
        in the order in which they were chosen. found: those that predict it, in that order, by place."""
        equal = found[0] if len(found) == 1 else merge(*found)
        compared = islice((at for at in equal if self._explains(at, near, finding)), COMPARED_MAX)
        strongest: int | None = None
        for at in compared:
            if self._timely(at, finding):
                return self._hardest(at, compared, finding)
            strongest = at if strongest is None else strongest
        return strongest

    def _hardest(self, first: int, others: Iterable[int], finding: Finding) -> int:
        """Of several ports of one kind of pressure that began just then the one that is paused or congested most: how
        many findings show each of them says nothing about what a job waits for."""
        kind, row = self._claims[first].cause.kind, self._row(first)
        if finding.kind not in JOB_WAITS or row.pages_without_waiting or not row.disturbs_fabric:
            return first
        alike = (at for at in others if self._claims[at].cause.kind is kind and self._timely(at, finding))
        return max((first, *alike), key=self._severest)

    def _severest(self, at: int) -> float:
        """The strongest of what shows that the root of a claim is paused or congested, by either end."""
        claim, root = self._claims[at], self._claims[at].cause.root
        ends = (root, self._view.graph.peers.get(root))
        found = (self._view.by_id[found] for found in claim.primary)
        return max((each.score for each in found if each.object in ends), default=0.0)

    def _predict(self, near: Near, names: Sequence[Place], shown: Shown, small: Set[int]) -> Sequence[Sequence[int]]:
        """By place, those that are so near, predict what a symptom shows, whenever that is, and are not too small."""
        found = [self._predict_at(near, name, shown) for name in names]
        return [[at for at in claims if at not in small] for claims in found] if small else found

    def _predict_at(self, near: Near, name: Place, shown: Shown) -> list[int]:
        known = self._predicting.get((near, name, shown))
        if known is None:
            among = ((at, self._claims[at]) for at in self._reaching(near)[name])
            known = [at for at, claim in among if not contradicts(claim.cause, near, shown, claim.kinds)]
            self._predicting[near, name, shown] = known
        return known

    def _explains(self, at: int, near: Near, finding: Finding, *, held: bool = False) -> bool:
        """Whether a claim that predicts a symptom is near enough and in time. held: its incident has the symptom."""
        claim, config = self._claims[at], self._view.config
        earliest_ns = min(self._earliest_ns[at], claim.onset_ns - self._slack_ns[finding.id])
        if earliest_ns > finding.onset_ns or (at in self._unseen and not held):
            return False
        if near is Near.DEVICE and not is_near(self._view, claim.reach, finding):
            return False
        if finding.kind is FindingKind.STRAGGLER:
            return begins_in_time(config, claim.onset_ns, finding, claim.cadence_s)
        if finding.kind not in JOB_WAITS or held:
            return True
        if not explains_wait(self._view, claim.cause, finding):
            return False
        since_ns = self._view.waits_since(finding.object)
        if 0 < claim.over_ns < since_ns and not _comes_back(claim):
            return False
        cadences_s = claim.cadence_s, finding.cadence_s
        return waits_in_time(config, claim.cause, claim.onsets_ns or (claim.onset_ns,), since_ns, *cadences_s)

    def _timely(self, at: int, finding: Finding) -> bool:
        """Whether a symptom began when the claim's own evidence did; without any it is over."""
        view = self._view
        since_ns = view.waits_since(finding.object) if finding.kind in JOB_WAITS else finding.onset_ns
        claim = self._claims[at]
        return follows(view.config, claim.onsets_ns, since_ns, claim.cadence_s, finding.cadence_s)


def _reaching(claims: Sequence[Claim], around: Sequence[Places], near: Near) -> Mapping[Place, list[int]]:
    """Claims by each place of ``around`` that they are so ``near`` to: few symptoms ask for the widest."""
    if near is Near.FABRIC:
        return {"": [at for at, claim in enumerate(claims) if _reaches_fabric(claim)]}
    asked = {name for places_of in around for at, names in places_of if at is near for name in names}
    reaching: defaultdict[Place, list[int]] = defaultdict(list)
    for at, claim in enumerate(claims):
        for name in asked & _NEAR_IN_REACH[near](claim.reach):
            reaching[name].append(at)
    return reaching


def _reaches_fabric(claim: Claim) -> bool:
    to = claim.reach
    return incident_kinds()[claim.cause.kind].disturbs_fabric or bool(to.possible or to.certain)


def _comes_back(claim: Claim) -> bool:
    """Whether a cause that is over may still make jobs begin to wait: a device that is back starts its programs, and
    who used it finds it again."""
    return "device" in incident_kinds()[claim.cause.kind].takes_away


def places(view: CorrelationView, finding: Finding) -> Places:
    """What a cause would have to reach to be near a symptom, nearest first."""
    if finding.kind is FindingKind.STORAGE_WAIT:
        return (Near.OWN, refs_of(view, finding)), (Near.DEVICE, path_of(view, finding))
    return view.cluster.of(_of_target if finding.kind is FindingKind.STORAGE_SLOW else _of_object, finding.object)


def _of_object(cluster: Cluster, ref: ObjectRef) -> Places:
    return _around(cluster, ref, cluster.jobs.of(ref), ref.device)


def _of_target(cluster: Cluster, ref: ObjectRef) -> Places:
    return _around(cluster, ref, sorted(cluster.jobs.using(ref)), cluster.graph.server_of(ref))


def _around(cluster: Cluster, ref: ObjectRef, jobs: Sequence[str], device: str) -> Places:
    fabric = [""] if cluster.graph.is_switch(device) else []
    by_jobs = (Near.CERTAIN_JOB, jobs), (Near.POSSIBLE_JOB, jobs)
    return (Near.OWN, [ref]), *by_jobs, (Near.DEVICE, [device]), (Near.FABRIC, fabric)


def is_near(view: CorrelationView, reach: Reach, finding: Finding) -> bool:
    """Whether a symptom is in the neighbourhood of a cause: by its device, of a slow target by its server, of a client
    that waits by its way to storage. A session
    that was lost is so by both of its ends, where they are known: a leaf has sessions with many."""
    if finding.kind is FindingKind.STORAGE_WAIT:
        return is_on_path(view, reach.devices, finding)
    if finding.kind is FindingKind.STORAGE_SLOW:
        return view.graph.server_of(finding.object) in reach.devices
    ends = other_ends(view)[finding.id] if finding.kind is FindingKind.BGP_SESSION else frozenset[str]()
    return finding.object.device in reach.devices and (not ends or not reach.devices.isdisjoint(ends))


def _is_among(ascending: Sequence[int], wanted: int) -> bool:
    at = bisect_left(ascending, wanted)
    return at < len(ascending) and ascending[at] == wanted
