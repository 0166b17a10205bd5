"""Reports of open incidents from step to step: what rests on nothing that changed is not made again.

Nothing here is state: without it the same incidents come out, later. In a storm thousands of incidents are open, and of
most of them a tick brings nothing, not even a cost.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from analytics.correlate import cost, expected_loss
from analytics.correlate.budget import Considered
from analytics.correlate.cause import Cause
from analytics.correlate.claim import Claim
from analytics.correlate.cluster.nodes import Nodes
from analytics.correlate.finding_index import FindingIndex, Moved
from analytics.correlate.object_records import ObjectRecords
from analytics.correlate.paths import paths, paths_left
from analytics.correlate.texts import phrases, report
from analytics.correlate.texts.standing import standing
from analytics.correlate.texts.verdict import Rivals
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.changes import Change
from telemetry.findings import FindingKind
from telemetry.incidents import Incident, IncidentKind
from telemetry.kinds import incident_kinds
from telemetry.objects import job


@dataclass(slots=True, eq=False)
class _Known:
    """What the report of a track was made of, and the version that needed no publishing; None before there is one.

    claim: with a new reach after every change of the topology or the jobs. contested: whether causes that were not
    chosen rest on the same findings. timed: whether it may become another one with time alone.
    settled: whether another step with the same claim would change nothing.
    """

    track: Track
    claim: Claim
    nodes: Nodes
    measured: int
    waiting: Mapping[str, cost.Wait]
    contested: bool
    timed: bool
    published: tuple[Any, ...] | None = None
    settled: bool = False

    def rests_on(self, claim: Claim) -> bool:
        """Whether a claim is the one that it was made of, but for its gain, which only rivals are compared with."""
        was = self.claim
        return was is claim or (
            was.reach is claim.reach
            and was.cause == claim.cause
            and was.primary == claim.primary
            and was.symptoms == claim.symptoms
        )


class Reports:
    """Of the step before and of this one, by the track's identity in memory, which a record of it keeps in use."""

    def __init__(self) -> None:
        self._before: dict[int, _Known] = {}
        self._known: dict[int, _Known] = {}
        self._updated: list[_Known] = []  # in this step
        self._moved = Moved(frozenset(), frozenset())
        self._surroundings: tuple[Any, ...] = ()
        self._circumstances: tuple[Any, ...] = ()
        self._gaps: tuple[str, ...] = ()
        self._cut: tuple[str, ...] = ()
        self._considered = Considered(())
        self._changes: list[Change] = []
        self._silent: AbstractSet[str] = frozenset()
        self._silence_moved: AbstractSet[str] = frozenset()
        self._rivals = Rivals((), FindingIndex())
        self._rivals_moved: AbstractSet[IncidentKind] = frozenset()

    def begin(self, view: CorrelationView, moved: Moved, rivals: Rivals, considered: Considered) -> None:
        """A new step. moved: findings since the last one. rivals: all causes that were chosen: a verdict rests on those
        that resemble its cause, and on what is not heard of near it."""
        self._before, self._known, self._updated = self._known, {}, []
        self._moved, self._considered = moved, considered
        self._gaps, self._cut = phrases.gaps(view), phrases.of_cluster(considered, view.config)
        self._rivals, self._rivals_moved = rivals, rivals.other_than(self._rivals)
        self._silent, self._silence_moved = view.silent, view.silent ^ self._silent
        surroundings = (view.graph, view.jobs)
        if surroundings != self._surroundings:
            self._surroundings = surroundings
            for known in self._before.values():
                known.published = None
        circumstances = (
            *(view.graph, view.jobs, view.cluster.nodes, view.changes, view.lasting, view.idle, paths(view)),
            *(self._gaps, self._cut, considered.devices, view.read_every_s),
        )
        if circumstances != self._circumstances or view.waves or view.of(FindingKind.STORAGE_SLOW):
            self._circumstances = circumstances
            for known in self._before.values():
                known.settled = False
        if view.changes != self._changes:
            self._changes, self._before = list(view.changes), {}

    def keep(self, view: CorrelationView, track: Track, claim: Claim, now_ns: int) -> bool:
        """Whether this step changes nothing about a track but what its verdict compares, which notifies nobody. It is
        then left as it is: until now it cost nothing."""
        known = self._before.get(id(track))
        if known is None or not known.settled or known.claim is not claim or _concerns(self._moved.others, claim):
            return False
        if self._other_verdict(claim):
            said = len(track.notes)
            report.compare(view, track, claim, self._rivals, now_ns)
            if len(track.notes) > said:
                return False
        self._known[id(track)] = known
        track.accounted_ns = now_ns
        return True

    def disturb(self, track: Track) -> None:
        """Something happened to a track that is no finding."""
        if known := self._known.get(id(track)):
            known.settled = False

    def update(self, view: CorrelationView, track: Track, claim: Claim, others: Sequence[Cause], now_ns: int) -> None:
        """As ``report.update``. Alternatives rest on findings of other causes too, so with any nothing is left out."""
        known = None if others else self._same(view, track, claim)
        if known is None:
            view.asked_for_time = False
            waiting = report.update(view, track, claim, others, self._rivals, now_ns)
            measured = len(track.measured)
            known = _Known(track, claim, view.cluster.nodes, measured, waiting, bool(others), view.asked_for_time)
        elif self._other_verdict(claim):
            report.compare(view, track, claim, self._rivals, now_ns)
        known.claim, known.settled = claim, False
        self._known[id(track)] = known
        self._updated.append(known)

    def accrue(self, view: CorrelationView, now_ns: int) -> None:
        """Adds the cost of this step to all tracks that were updated in it. What waits for several is divided."""
        expected = {
            id(known): expected_loss.expected(view, known.track, known.waiting, now_ns) for known in self._updated
        }
        paid = self._divide(expected, now_ns)
        dead = {id(known): cost.dead_gpus(view, known.track) for known in self._updated}
        gone = cost.Gone.among(view, dead.values())
        for known in self._updated:
            at = id(known)
            report.accrue(view, known.track, known.waiting, expected[at], paid.get(at, {}), dead[at], gone, now_ns)

    def _divide(
        self, expected: Mapping[int, Mapping[str, cost.Wait]], now_ns: int
    ) -> Mapping[int, Mapping[str, float]]:
        """By the identity of what is known of a track: the share that it pays of each job that waits for others too."""
        payers: dict[str, list[_Known]] = {}
        for known in self._updated:
            for job_id in {**known.waiting, **expected[id(known)]}:
                payers.setdefault(job_id, []).append(known)
        paid: dict[int, dict[str, float]] = {}
        for job_id, among in payers.items():
            if len(among) > 1:
                losing = ({**known.waiting, **expected[id(known)]} for known in among)
                shares = cost.divided(waits[job_id].share for waits in losing)
                for known, share in zip(among, shares, strict=True):
                    paid.setdefault(id(known), {})[job_id] = share
                _note_others(job_id, [known.track for known in among], now_ns)
        return paid

    def _same(self, view: CorrelationView, track: Track, claim: Claim) -> _Known | None:
        """What is known of the track where its claim rests on the same, but for what its verdict compares."""
        known = self._before.get(id(track))
        same = (
            known is not None
            and not (known.contested or known.timed)
            and known.rests_on(claim)
            and known.measured == len(track.measured)
            and not _concerns(self._moved.others, claim)
            and (known.nodes is view.cluster.nodes or not self._other_verdict(claim))
        )
        return known if same else None

    def _other_verdict(self, claim: Claim) -> bool:
        """Whether what resembles a cause, or what is silent near it, may be another one than before; and whenever its
        findings were seen again, as by then more may be known of what came back."""
        if _concerns(self._moved.seen, claim):
            return True
        if self._rivals_moved and not self._rivals_moved.isdisjoint(incident_kinds()[claim.cause.kind].resembles):
            return True
        moved, to = self._silence_moved, claim.reach
        return bool(moved) and not (moved.isdisjoint(to.devices) and moved.isdisjoint(ref.device for ref in to.own))

    def changed(self, view: CorrelationView, track: Track, records: ObjectRecords, now_ns: int) -> Incident | None:
        """The incident where it differs from the version published last; see ``report.needs_publishing``."""
        known = self._known.get(id(track))
        if known is not None and known.settled:
            return None
        of_device = phrases.of_device(self._considered, track.cause.root.device, view.config)
        gaps = (*self._gaps, *of_device, *self._cut)
        shown = (
            *(track.cause.kind, track.cause.root, track.cause.subject, track.cause.headline, track.cause.gone),
            *(track.life.state, track.since_first_seen),
            *(track.severity, dict(track.job_impact), len(track.members), track.order_known, track.alternatives),
            *(
                len(track.notes),
                track.onset_ns,
                track.matters_since_ns,
                gaps,
                paths_left(view, track),
                standing(view, track),
            ),
        )
        if known is not None and known.published == shown and not report.cost_has_grown(track):
            known.settled = _is_settled(view, known)
            return None
        blast = view.cluster.blast_radius(track.cause, frozenset(track.job_impact))
        incident = report.incident(view, track, blast, records.of(track.cause.root, now_ns), gaps, now_ns)
        if known is not None:
            known.published = shown
        return incident if report.needs_publishing(track, incident) else None


def _concerns(moved: AbstractSet[str], claim: Claim) -> bool:
    return bool(moved) and not (moved.isdisjoint(claim.primary) and moved.isdisjoint(claim.symptoms))


def _is_settled(view: CorrelationView, known: _Known) -> bool:
    """Whether time alone changes nothing about an incident that is as it was published: it neither costs anything nor
    ends, and its title says nothing of what is away."""
    track = known.track
    timed = known.timed or known.contested or track.cause.unused or bool(incident_kinds()[track.cause.kind].away)
    ongoing = track.fires and bool(track.primary) and not track.life.cleared_ns
    return ongoing and not timed and not known.waiting and not track.expected and not cost.dead_gpus(view, track)


def _note_others(job_id: str, tracks: Sequence[Track], now_ns: int) -> None:
    """Says once in the timeline of each that its cost of a job is a part of what the job loses."""
    for track in tracks:
        others = len(tracks) - 1
        text = f"job {job_id} waits for {others} other incident{'' if others == 1 else 's'} too: its loss is divided"
        if all(entry.text != text for entry in track.notes):
            track.note(now_ns, job(job_id), text)
