"""Findings in, incidents out: one step of correlation, a pure function of its state and its arguments."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any

from analytics.correlate import absences, cadence, cost, swaps, unproved, versions
from analytics.correlate.budget import Budget, Considered
from analytics.correlate.cause import Cause
from analytics.correlate.causes import FAMILIES, cables, waves
from analytics.correlate.causes.devices import deaths
from analytics.correlate.claim import Claim
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.cluster.graph import Graph
from analytics.correlate.config import NS_PER_S, CorrelateConfig
from analytics.correlate.continuing import follow, hand_over, merge
from analytics.correlate.cover import Chooser, OpenCause, choose
from analytics.correlate.finding_index import FindingIndex, Moved
from analytics.correlate.kept import Kept
from analytics.correlate.lifecycle import Life, advance
from analytics.correlate.memory import CorrelatorMemory, dump, load
from analytics.correlate.object_records import LastIncident
from analytics.correlate.open_cause import open_cause
from analytics.correlate.swaps import Swap
from analytics.correlate.texts import phrases
from analytics.correlate.texts.reports import Reports
from analytics.correlate.texts.verdict import Rivals
from analytics.correlate.tracks import Track, incident_id, match, with_remains
from analytics.correlate.view import CorrelationView
from analytics.models.flap_comparison import FlapComparison
from analytics.snapshot.stateful import State
from common.units import to_ns
from telemetry.changes import Change
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity, TimelineEntry
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectRef
from telemetry.refusals import Refusal
from telemetry.topology import Topology


class Correlator:
    """Keeps the active findings and the open incidents.

    The same findings, topology and changes give the same incidents, byte for byte, whatever their order within a tick.
    Incidents are published once they fire: until then the root may still change.
    chooser: which of the proposed causes are named; an evaluation compares others with the one of the product.
    """

    def __init__(self, config: CorrelateConfig | None = None, chooser: Chooser = choose) -> None:
        self._config, self._chooser = config or CorrelateConfig(), chooser
        incident_kinds()  # read now: in the first step of a storm it takes as long as fifty incidents
        self._memory = CorrelatorMemory()
        self._cluster = Cluster()
        self._forget()

    def _forget(self) -> None:
        """What is made again from the memory."""
        self._considered, self._budget = Considered(()), Budget(self._config)
        self._disregarded: tuple[Any, ...] = ()
        self._followed: Graph | None = None
        self._serials: Mapping[ObjectRef, str] = {}
        self._index, self._reports, self._kept = FindingIndex(), Reports(), Kept()
        self._rests_on: tuple[Any, ...] = ()
        self._chosen: tuple[list[Claim], list[Cause]] = [], []

    @property
    def left_out(self) -> Mapping[str, int]:
        """Active findings that the newest step has not looked at, by reason."""
        return self._considered.left_out

    @property
    def refused(self) -> Mapping[str, Sequence[Refusal]]:
        """What the topology says that cannot be, by the fact's key, as of the newest step."""
        return self._cluster.refused

    def is_due(self, now_ns: int) -> bool:
        """Whether a step has something to do although nothing was found: findings wait in the queue, or an incident has
        waited for long enough, so that it fires."""
        return bool(self._memory.queue) or any(
            track.life.state is IncidentState.PENDING and now_ns - track.life.opened_ns >= self._hold_ns(track)
            for track in self._memory.tracks
        )

    def _hold_ns(self, track: Track) -> int:
        return self._config.hold_ns(track.cause.hold, track.cadence_s)

    def _keep_ns(self, track: Track) -> int:
        """How long an incident stays open without evidence. What jobs lost by it is known by their work, once an
        interval at most, and what was counted too much is taken back while it is open."""
        config, shown_s = self._config, [track.cadence_s]
        if track.cost_until_ns:
            shown_s.append(config.interval_s)
        keep_ns = config.intervals_ns(config.keep_firing_intervals, config.slowest_s(shown_s))
        return max(keep_ns, to_ns(track.cause.keep_s))

    def step(
        self,
        now_ns: int,
        changed: Sequence[Finding],
        topology: Topology,
        changes: Sequence[Change],
        flaps: Sequence[FlapComparison] = (),
        read_every_s: Mapping[str, float] | None = None,
    ) -> list[Incident]:
        """The incidents that changed, by id.

        changed: findings that are new, updated or cleared since the last step. changes: all that may still matter.
        flaps: how ports came back from a flap, as is known since the last step.
        read_every_s: see ``CorrelationView``.
        """
        self._cluster.update(topology)
        for track in unproved.mark(changed, self._memory.tracks, self._cluster, self._config):
            self._reports.disturb(track)
        taken = self._memory.update(changed, now_ns, self._config.portion(len(self._memory.findings)))
        if taken.others:
            self._budget.forget()
        self._record(taken.new, changes, now_ns)
        graph, records = self._cluster.graph, self._memory.records
        said = [entry for flap in flaps for entry in records.add_comparison(flap, graph, now_ns)]
        self._note(said)
        tracks = self._memory.tracks
        open_tracks = [track for track in tracks if track.fires]
        firing = {(track.cause.kind, track.cause.root): track.onset_ns for track in open_tracks}
        self._considered = self._budget.consider(self._active(), tracks, len(self._memory.queue))
        moved = self._index.replace(self._considered.findings)
        away, kept = _away(open_tracks), self._memory.absences
        new = self._memory.versions
        view = CorrelationView(
            *(self._index, self._cluster, changes, self._config, firing, now_ns, away, kept, new, self._kept),
            *(self._known_swaps(now_ns), _unpaged(open_tracks), read_every_s),
        )
        versions.update(new, view.of(FindingKind.SOFTWARE_CHANGED), view.graph.devices)
        absences.update(kept, view)
        claims, causes = self._choose_again(view, moved.others, now_ns)
        claims = with_remains(claims, tracks)
        self._reports.begin(view, moved, Rivals(claims, view.index), self._considered)
        closed = self._assign(view, claims, causes, now_ns)
        published = self._publish(view, closed, now_ns)
        self._memory.keep_resolved(published, now_ns)
        later = self._say_later(said, now_ns)
        self._memory.keep_resolved(later, now_ns)
        return sorted([*published, *later], key=attrgetter("id"))

    def _known_swaps(self, now_ns: int) -> Sequence[Swap]:
        """Those whose undoing counts as the same incident."""
        within_ns, memory = to_ns(self._config.recurrence_s), self._memory
        if memory.swaps and now_ns - memory.swaps[0].ended_ns > within_ns:
            memory.swaps = [swap for swap in memory.swaps if now_ns - swap.ended_ns <= within_ns]
        return tuple(memory.swaps)

    def _say_later(self, said: Iterable[TimelineEntry], now_ns: int) -> list[Incident]:
        """Incidents that are over, and of which something is known only now."""
        found: dict[str, Incident] = {}
        for entry in said:
            for known in self._memory.resolved.values():
                timeline = found.get(known.id, known).timeline
                if known.root == entry.object and entry not in timeline:
                    record = self._memory.records.of(known.root, now_ns)
                    found[known.id] = replace(known, updated_ns=now_ns, timeline=(*timeline, entry), record=record)
        return list(found.values())

    def _active(self) -> list[Finding]:
        ended, nodes = self._cluster.jobs.ended, self._cluster.nodes
        disregarded = (ended, nodes.removed, nodes.disused)
        if disregarded != self._disregarded:
            self._disregarded = disregarded
            self._budget.forget()
        return self._memory.active(ended, nodes)

    def close(self, now_ns: int, topology: Topology) -> list[Finding | Incident]:
        """Clears every finding and resolves every incident, as nothing will be heard of them again; forgets all."""
        self._cluster.update(topology)
        memory, self._memory = self._memory, CorrelatorMemory(began_again=True)
        self._forget()
        view = CorrelationView([], self._cluster, (), self._config, {})
        self._reports.begin(view, Moved(frozenset(), frozenset()), Rivals((), view.index), self._considered)
        for track in memory.tracks:
            track.life = replace(track.life, state=IncidentState.RESOLVED, resolved_ns=now_ns)
            track.note(now_ns, track.cause.root, "resolved: the clocks went back")
        findings = [
            replace(each, state=FindingState.CLEARED, observed_ns=now_ns)
            for _, each in sorted((memory.findings | memory.queue).items())
        ]
        incidents = sorted(self._publish(view, memory.tracks, now_ns), key=attrgetter("id"))
        self._cluster = Cluster()
        return [*findings, *incidents]

    def state(self) -> State:
        return State(dump(self._memory), {})

    def restore(self, state: State) -> None:
        """BadInput (reason ``snapshot``) where the state is of another version or damaged."""
        self._memory = load(state.head)
        self._cluster = Cluster()
        self._forget()

    def _record(self, new: Sequence[Finding], changes: Sequence[Change], now_ns: int) -> None:
        """Keeps what happened to objects. A graph is looked at once: moves show where it is built."""
        records, graph = self._memory.records, self._cluster.graph
        if graph is not self._followed:
            records.follow_moves(graph, now_ns)
            if graph.serials != self._serials:
                self._note(records.follow_modules(graph, now_ns))
                self._serials = graph.serials
            records.forget_old(now_ns)
            self._followed = graph
        records.add_findings(new, graph)
        if records.known:
            records.add_changes(changes, now_ns)

    def _note(self, said: Iterable[TimelineEntry]) -> None:
        """Adds what happened to an object to the timeline of its incident."""
        for entry in said:
            for track in self._memory.tracks:
                if track.cause.root == entry.object:
                    track.notes.append(entry)
                    self._reports.disturb(track)

    def _choose_again(
        self, view: CorrelationView, moved: AbstractSet[str], now_ns: int
    ) -> tuple[list[Claim], list[Cause]]:
        """The choice of the step before, as long as it rests on the same: most ticks of a storm bring nothing new.

        While a wave goes on it is made in every step: what is overdue follows from the time.
        """
        past_hold = self._memory.waited(view, now_ns)
        rests_on = (
            deaths(view),  # for which it matters when a finding was observed last
            *(view.graph, view.jobs, view.cluster.nodes, view.changes, view.lasting, view.firing, view.away, view.idle),
            *(view.swaps, view.unpaged),
            past_hold,
            [
                (track.cause, track.onset_ns, track.primary, track.symptoms, len(track.members), track.life.cleared_ns)
                for track in self._memory.tracks
            ],
        )
        if moved or view.waves or rests_on != self._rests_on:
            view.asked_for_time = False  # before: by what is not kept
            claims, causes = self._choose(view, past_hold)
            before = {claim.cause.key: claim for claim in self._chosen[0]}
            self._chosen = [_as_before(claim, before.get(claim.cause.key)) for claim in claims], causes
            self._rests_on = () if view.asked_for_time or view.waves else rests_on
        return self._chosen

    def _choose(self, view: CorrelationView, past_hold: frozenset[str]) -> tuple[list[Claim], list[Cause]]:
        self._kept.begin(view.graph)
        causes = [cause for family in FAMILIES for cause in family(view)]
        fresh = {cause.key for cause in causes}
        open_causes: list[OpenCause] = []
        for track in self._memory.tracks:
            # What a job waits for is known better with each reading; it is kept so that it pages once, where it has.
            unpaged = (track.cause.kind, track.cause.root) in view.unpaged
            symptoms = frozenset[str]() if unpaged else frozenset(track.symptoms)
            if track.key in fresh and not view.by_id.keys().isdisjoint(track.primary):
                open_causes.append(OpenCause(track.cause, track.onset_ns, False, symptoms))
                if (
                    track.cause.gone or track.cause.links
                ):  # the others of a group stay with its root as long as any is left
                    causes.append(open_cause(view, track))
                continue
            cause = open_cause(view, track)
            open_causes.append(OpenCause(cause, track.onset_ns, not cause.primary, symptoms, track.life.cleared_ns))
            if cause.primary and track.key not in fresh:
                causes.append(cause)
        return self._chooser(view, causes, open_causes, past_hold), causes

    def _assign(self, view: CorrelationView, claims: list[Claim], causes: list[Cause], now_ns: int) -> list[Track]:
        """Continues, opens, merges and advances the tracks; returns those that have ended."""
        before = self._memory.tracks
        matching = match(view, claims, before)
        merged = [track for track, _ in matching.merged]
        alternatives = _not_chosen(causes, claims)
        tracks: list[Track] = []
        lost: dict[str, Track] = {}  # findings that a track does not explain any more
        explained = (found for claim in claims for found in (claim.primary, claim.symptoms))
        self._memory.mark_explained(chain.from_iterable(explained), now_ns)
        for claim, known in zip(claims, matching.continues, strict=True):
            others = _rivalling(alternatives, claim)
            if known and not others and self._reports.keep(view, known, claim, now_ns):
                tracks.append(known)
                continue
            findings = claim.findings
            track = known or Track(claim.cause, Life(IncidentState.PENDING, now_ns), claim.onset_ns)
            if known:
                lost |= dict.fromkeys((track.primary | track.symptoms) - findings, track)
            follow(track, claim, now_ns)
            track.cadence_s = cadence.of_claim(view, claim) or track.cadence_s
            self._reports.update(view, track, claim, others, now_ns)
            tracks.append(track)
        hand_over(view, lost, claims)
        self._reports.accrue(view, now_ns)
        for track, at in matching.merged:
            merge(track, tracks[at], now_ns)
            self._reports.disturb(tracks[at])
        continued = {id(track) for track in (*tracks, *merged)}
        for track in before:
            if id(track) not in continued:
                track.primary, track.symptoms = set(), set()
                track.cause = cables.as_cabled(view, waves.refreshed(view, track.cause))
                track.accounted_ns = now_ns
                track.gpu_seconds = max(0.0, track.gpu_seconds - cost.overrun(view, track, ()))
                tracks.append(track)
        ids = {track.id for track in tracks}
        for track in tracks:
            if not track.fires or not track.primary or track.life.cleared_ns:
                self._advance(track, now_ns, ids)
                ids.add(track.id)
        resolved = [track for track in tracks if track.life.state is IncidentState.RESOLVED]
        still_open = [track for track in tracks if track.life.state is not IncidentState.RESOLVED]
        self._memory.tracks = sorted(still_open, key=lambda track: track.age)
        return [*resolved, *merged]

    def _advance(self, track: Track, now_ns: int, ids: Collection[str]) -> None:
        was, active = track.life.state, bool(track.primary)
        hold_ns, keep_ns = self._hold_ns(track), self._keep_ns(track)
        track.life = advance(track.life, active=active, now_ns=now_ns, hold_ns=hold_ns, keep_ns=keep_ns)
        if track.fires and was is IncidentState.PENDING:
            self._open(track, now_ns, ids)
        elif track.life.state is IncidentState.RESOLVED and track.id:
            why = self._cluster.nodes.why_ended(track.cause.root.device) or unproved.why_ended(track)
            track.note(now_ns, track.cause.root, f"resolved{why}")
            self._memory.records.close_incident(track.cause.root, _last(track, now_ns))
            self._memory.swaps = swaps.after(self._memory.swaps, self._cluster.graph, track.cause, now_ns)

    def _open(self, track: Track, now_ns: int, ids: Collection[str]) -> None:
        """A track that fires gets its id: that of the incident that it is again, else its own."""
        root, records = track.cause.root, self._memory.records
        within_ns = int(self._config.recurrence_s * NS_PER_S)
        graph = self._cluster.graph
        roots = (root, *sorted(track.cause.links), *swaps.roots_at(self._memory.swaps, graph, root))
        known = (records.recurs(ref, now_ns, within_ns) for ref in roots)
        before = next(filter(None, known), None)
        if before and before.id not in ids and incident_kinds()[track.cause.kind].intermittent:
            track.continue_from(before, now_ns)
        else:
            track.id = incident_id(track.cause.kind, root, track.onset_ns, ids)
        track.note(now_ns, root, phrases.fired(track) + phrases.modules(self._cluster.graph, root))
        records.open_incident(root, track.cause.kind, _last(track, 0), now_ns, self._cluster.graph)

    def _publish(self, view: CorrelationView, closed: Iterable[Track], now_ns: int) -> list[Incident]:
        tracks = (track for track in (*self._memory.tracks, *closed) if track.id)
        changed = (self._reports.changed(view, track, self._memory.records, now_ns) for track in tracks)
        return [incident for incident in changed if incident is not None]


def _last(track: Track, resolved_ns: int) -> LastIncident:
    return LastIncident(track.id, resolved_ns, track.occurrences, round(track.gpu_seconds, 3))


def _away(firing: Iterable[Track]) -> Mapping[str, ObjectRef]:
    """By device that a dead one took away with it, that one."""
    return {
        name: track.cause.root
        for track in firing
        if track.cause.kind in (IncidentKind.DEVICE_DOWN, IncidentKind.RACK_POWER)
        for name in track.cause.gone
    }


def _unpaged(firing: Iterable[Track]) -> frozenset[tuple[IncidentKind, ObjectRef]]:
    """Pressure on the fabric, of what fires, that nobody was paged for, by kind and root."""
    kinds = incident_kinds()
    return frozenset(
        (track.cause.kind, track.cause.root)
        for track in firing
        if track.severity is Severity.INFO
        if kinds[track.cause.kind].disturbs_fabric and not kinds[track.cause.kind].pages_without_waiting
    )


def _as_before(claim: Claim, before: Claim | None) -> Claim:
    """The claim of the step before where it is equal: what was made of that need not be compared again."""
    return before if before is not None and before.reach is claim.reach and before == claim else claim


def _not_chosen(causes: Iterable[Cause], claims: Iterable[Claim]) -> Mapping[str, list[Cause]]:
    """The causes that were not chosen, by each finding that they rest on."""
    chosen = {claim.cause.key for claim in claims}
    by_finding: defaultdict[str, list[Cause]] = defaultdict(list)
    for cause in causes:
        if cause.key not in chosen:
            for found in cause.primary:
                by_finding[found].append(cause)
    return by_finding


def _rivalling(alternatives: Mapping[str, list[Cause]], claim: Claim) -> Sequence[Cause]:
    """Those that rest on some of a claim's findings, by key."""
    if alternatives.keys().isdisjoint(claim.primary) and alternatives.keys().isdisjoint(claim.symptoms):
        return ()
    shared = alternatives.keys() & claim.findings
    others = {id(other): other for found in sorted(shared) for other in alternatives[found]}
    return sorted(others.values(), key=lambda other: other.key)
