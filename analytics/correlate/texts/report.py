"""A track as the Incident that is published."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from analytics.correlate import cost, expected_loss
from analytics.correlate.cause import CONGESTED, Cause
from analytics.correlate.claim import Claim
from analytics.correlate.cover import gain
from analytics.correlate.ended_jobs import ended_by
from analytics.correlate.paths import is_spare
from analytics.correlate.repeats import repeating
from analytics.correlate.texts import phrases, verdict
from analytics.correlate.texts.clock import clock
from analytics.correlate.texts.verdict import Rivals
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Evidence, Finding
from telemetry.incidents import BlastRadius, Hypothesis, Incident, IncidentKind, ObjectRecord, Severity, TimelineEntry
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectRef, device, job

ALTERNATIVES_MAX = 3
EVIDENCE_MAX = 5
GPU_SECONDS_STEP = 1.05  # publish again when the cost has grown by 5 %
# What one reading of a state shows: it began after the reading before, whatever else was wrong by then.
STATES = frozenset(
    {IncidentKind.LINK_DOWN, IncidentKind.DEVICE_DOWN, IncidentKind.DEVICE_REBOOTED, IncidentKind.RACK_POWER}
    | {IncidentKind.BGP_DOWN}
)


def update(
    view: CorrelationView, track: Track, claim: Claim, others: Sequence[Cause], rivals: Rivals, now_ns: int
) -> Mapping[str, cost.Wait]:
    """Updates a track from this tick's findings: evidence, order of onsets, alternatives, verdict, ended jobs.

    others: causes that were not chosen and rest on some of the same findings. rivals: all that were chosen.
    Returns the jobs that wait.
    """
    primary = [view.by_id[found] for found in sorted(claim.primary)]
    members = [view.by_id[found] for found in sorted(claim.findings)] if claim.symptoms else primary
    for finding in sorted(members, key=_by_onset):
        _join(view, track, finding)
    measured = [finding for finding in members if finding.kind in cost.MEASURED]
    track.measured.update(job_id for finding in measured for job_id in view.jobs.of(finding.object))
    young = cost.began_under_pressure(view, track.cause, primary)
    ended = ended_by(view, track)
    waiting = (
        young
        | repeating(view, primary, track.measured)
        | cost.waits(view, members, track.measured)
        | cost.of_ended(ended)
    )
    _note_ends(track, ended)
    for job_id in sorted(young.keys() - track.job_impact.keys()):
        track.note(now_ns, track.cause.root, phrases.without_normal(job_id, young[job_id].share))
    if waiting and not track.job_impact:
        _begins_to_matter(view, track, members, min(wait.since_ns for wait in waiting.values()))
    if primary:
        track.since_first_seen = all(finding.since_first_seen and finding.kind not in CONGESTED for finding in primary)
        track.evidence = _evidence(track.cause.root, primary)
        track.order_known = _order_known(view, claim, members)
        track.alternatives = _alternatives(view, claim, others)
        track.confidence = _confidence(view, track, primary)
    if _explains_most(track, claim):
        track.explained_max = len(members)
        track.because = verdict.because(view, claim)
        _compare(view, track, claim, others, rivals)
    _note_software(view, track, now_ns)
    return waiting


def compare(view: CorrelationView, track: Track, claim: Claim, rivals: Rivals, now_ns: int) -> None:
    """Updates what a verdict compares, where all else is as before and no other cause rests on the same findings."""
    if _explains_most(track, claim):
        _compare(view, track, claim, (), rivals)
    _note_software(view, track, now_ns)


def _explains_most(track: Track, claim: Claim) -> bool:
    """Whether a verdict follows from these findings: what clears first takes no reason away."""
    return bool(claim.primary) and len(claim.primary) + len(claim.symptoms) >= track.explained_max


def _compare(view: CorrelationView, track: Track, claim: Claim, others: Sequence[Cause], rivals: Rivals) -> None:
    track.against, track.missing = verdict.compare(view, claim, others, rivals, order_known=track.order_known)


def _note_software(view: CorrelationView, track: Track, now_ns: int) -> None:
    """What devices came back with that the cause took away: of each in the timeline, of the root in the verdict."""
    if track.cause.kind not in STATES:
        return
    root = track.cause.root
    since_ns = track.onset_ns - view.config.onset_slack_ns
    for name in sorted({root.name} | track.cause.gone):
        absence = view.absences.get(name)
        if not absence or not absence.software or absence.since_ns < since_ns:
            continue
        text = f"{name} came back with {absence.software}"
        if all(entry.text != text for entry in track.notes):
            track.note(now_ns, device(name), text)
        if name == root.name:
            others = tuple(each for each in track.because if not each.startswith(f"{name} came back with "))
            track.because = (*others[: verdict.BECAUSE_MAX - 1], text)


def accrue(
    view: CorrelationView,
    track: Track,
    waiting: Mapping[str, cost.Wait],
    expected: Mapping[str, cost.Wait],
    paid: Mapping[str, float],
    dead: Sequence[ObjectRef],
    gone: cost.Gone,
    now_ns: int,
) -> None:
    """Adds what time alone adds, while the findings stay as they are: cost, and the severity that follows from it.

    expected: of jobs that are cut off, what they lose until they show it. paid: of the jobs that wait for other
    incidents too, the share of its time that this one pays for. dead: GPUs that it took away. gone: all that are dead.
    """
    own = {**waiting, **expected}
    own |= {job_id: replace(own[job_id], share=paid[job_id]) for job_id in paid}
    track.job_impact |= {job_id: wait.share for job_id, wait in waiting.items()}
    expected_loss.count(view, track, {job_id: own[job_id] for job_id in expected}, gone.gpus, now_ns)
    track.gpu_seconds += cost.gpu_seconds(view, track, own, dead, now_ns, gone)
    track.accounted_ns = now_ns
    cost.remember(track, own, now_ns)
    track.gpu_seconds = max(0.0, track.gpu_seconds - cost.overrun(view, track, own))
    expected_loss.settle(track, expected, now_ns)
    planned = view.lasts(track.cause.change) or view.planned_around(track.cause.root, track.onset_ns)
    unused = track.since_first_seen or view.wanted(track.cause.root, track.onset_ns)
    planned = planned or ((unused or _is_update(view, track.cause)) and not track.job_impact)
    planned = planned or (track.severity is Severity.INFO and not track.job_impact and is_spare(view, track))
    if planned or track.severity is not Severity.CRITICAL:
        gpus = max(cost.gpus_lost(view, track.job_impact, dead), cost.gpus_cut_off(view, track))
        gpus = max(gpus, expected_loss.gpus(view, expected))
        _grade(view, track, gpus, planned, now_ns, waited_for=cost.is_waited_for(view, track, waiting, now_ns))


def _is_update(view: CorrelationView, cause: Cause) -> bool:
    """Whether it is over and was planned work: its root, which nobody used, came back with other software."""
    known = view.members.get(cause.root.name) if cause.unused else None
    return bool(known and known[1].updated)


def _note_ends(track: Track, ended: Mapping[str, int]) -> None:
    for job_id in sorted(ended.keys() - track.ended_jobs):
        track.note(ended[job_id], job(job_id), f"job {job_id} ended by this")
    track.ended_jobs.update(ended)


_by_onset = attrgetter("onset_ns", "id")


def _begins_to_matter(view: CorrelationView, track: Track, members: Sequence[Finding], waits_since_ns: int) -> None:
    """The first job waits. Pressure was there before it as it always is: what people are paged for began with the wait,
    so its onset and first symptom are of that time."""
    if incident_kinds()[track.cause.kind].pages_without_waiting:
        return
    since_ns = waits_since_ns - view.config.interval_ns  # rates are averages over the interval in which it begins
    recent = [finding for finding in members if finding.onset_ns >= since_ns]
    earliest = min(recent or members, key=_by_onset)
    track.first = _first(earliest, phrases.symptom(earliest, view.graph))
    track.matters_since_ns = track.first[0]


def _first(finding: Finding, text: str) -> tuple[int, str, str]:
    return finding.onset_ns, finding.id, f"{clock(finding.onset_ns)} UTC: {text}"


def _grade(view: CorrelationView, track: Track, gpus: float, planned: bool, now_ns: int, *, waited_for: bool) -> None:
    """Sets the severity; why what is published already becomes a page is a line of the timeline."""
    before = track.severity
    track.severity = cost.severity(
        track.cause,
        before,
        gpus,
        track.gpu_seconds,
        planned,
        view.config,
        waited_for=waited_for,
    )
    row = incident_kinds()[track.cause.kind]
    gated = track.since_first_seen or not row.pages_without_waiting or row.severity_floor is not Severity.INFO
    if gated and track.id and before is Severity.INFO and track.severity is not before:
        why = phrases.waiting(track) if track.job_impact else track.cause.reason
        track.note(now_ns, track.cause.root, f"{track.severity}: {why}")


def _join(view: CorrelationView, track: Track, finding: Finding) -> None:
    if finding.id in track.members or len(track.members) >= view.config.findings_max:
        return
    track.members[finding.id] = finding.onset_ns
    text = phrases.symptom(finding, view.graph)
    if len(track.notes) < view.config.timeline_max:
        track.note(finding.onset_ns, finding.object, text)
    earlier = not track.first[2] or (finding.onset_ns, finding.id) < track.first[:2]
    if earlier and finding.onset_ns >= _since_ns(view, track):
        track.first = _first(finding, text)


def _since_ns(view: CorrelationView, track: Track) -> int:
    """No symptom of the incident is older than this."""
    if track.cause.kind not in STATES:
        return track.matters_since_ns
    return max(track.matters_since_ns, track.onset_ns - view.config.intervals_ns(1.0, track.cadence_s))


def _evidence(root: ObjectRef, primary: Sequence[Finding]) -> tuple[Evidence, ...]:
    """The root's own evidence first, then the strongest; two of one finding at most, so that both ends appear."""
    ranked = primary
    if len(primary) > 1:
        ranked = sorted(primary, key=lambda finding: (finding.object != root, -finding.score, finding.id))
    found = [evidence for finding in ranked for evidence in finding.evidence[:2]]
    return tuple(dict.fromkeys(found))[:EVIDENCE_MAX]


def _order_known(view: CorrelationView, claim: Claim, members: Sequence[Finding]) -> bool:
    """Whether the first symptom is the root's, and more than a sampling interval before any other object's.

    The interval is that of the evidence that comes most rarely: what it shows may have begun as much earlier.
    """
    within_ns = view.config.intervals_ns(1.0, view.config.slowest_s(finding.cadence_s for finding in members))
    own: list[int] = []
    others: list[int] = []
    for finding in members:
        (own if finding.object in claim.reach.own else others).append(finding.onset_ns)
    return not own or not others or abs(min(others) - min(own)) > within_ns


def _alternatives(view: CorrelationView, claim: Claim, others: Sequence[Cause]) -> tuple[Hypothesis, ...]:
    """Causes that were not chosen but explain some of the same findings, by their share of the whole gain."""
    if not others:
        return ()
    gains = [gain(view, other, claim.findings) for other in others]
    total = claim.gain + sum(gains)
    scores = {id(other): score for score, other in zip(gains, others, strict=True)}
    ranked = sorted(others, key=lambda other: (-scores[id(other)], other.key, other.reason))
    return tuple(
        Hypothesis(other.kind, other.root, round(scores[id(other)] / total, 2), other.reason)
        for other in verdict.distinct(claim, ranked)[:ALTERNATIVES_MAX]
        if scores[id(other)] > 0
    )


def _confidence(view: CorrelationView, track: Track, primary: Sequence[Finding]) -> float:
    """Weighted confidence of the evidence; less by the best alternative, and where the order is not known."""
    weights = [view.index.weights[finding.id] for finding in primary]
    evidence = sum(weight * finding.confidence for weight, finding in zip(weights, primary, strict=True)) / sum(weights)
    alternative = track.alternatives[0].confidence if track.alternatives else 0.0
    prior = min(1.0, 0.4 + 0.6 * incident_kinds()[track.cause.kind].prior)
    order = 1.0 if track.order_known else 0.9
    return round(max(0.05, min(0.99, evidence * prior * order * (1.0 - alternative / 2))), 2)


def incident(
    view: CorrelationView,
    track: Track,
    blast: BlastRadius,
    record: ObjectRecord | None,
    gaps: tuple[str, ...],
    now_ns: int,
) -> Incident:
    """The incident as it is published at ``now_ns``. gaps: missing telemetry, as text."""
    kind = incident_kinds()[track.cause.kind]
    return Incident(
        id=track.id,
        kind=track.cause.kind,
        root=track.cause.root,
        state=track.life.state,
        severity=track.severity,
        title=phrases.title(view, track, blast),
        onset_ns=max(track.onset_ns, track.matters_since_ns),
        opened_ns=track.life.opened_ns,
        updated_ns=now_ns,
        fired_ns=track.life.fired_ns,
        resolved_ns=track.life.resolved_ns,
        confidence=track.confidence,
        order_known=track.order_known,
        first_symptom=track.first[2],
        evidence=track.evidence,
        alternatives=track.alternatives,
        blast=blast,
        gpu_seconds=round(track.gpu_seconds, 3),
        findings=tuple(sorted(track.members)),
        timeline=_timeline(view, track),
        gaps=gaps,
        action=phrases.action(view, track),
        runbook=phrases.fill(kind.runbook, track.cause.root, view.graph),
        since_first_seen=track.since_first_seen,
        because=track.because,
        against=track.against,
        missing=track.missing,
        occurrences=track.occurrences,
        record=record,
        where=phrases.short(track.cause.root, view.graph),
    )


def _timeline(view: CorrelationView, track: Track) -> tuple[TimelineEntry, ...]:
    """Symptoms, decisions, and recent changes of the object and of what contains it."""
    changes = [
        TimelineEntry(change.starts_ns, change.objects[0], _change(change))
        for change in view.changes_around(track.cause.root)
        if view.covers(change, track.onset_ns)
    ]
    entries = {(each.at_ns, each.object.kind, each.object.name, each.text): each for each in track.notes + changes}
    return tuple(entries[key] for key in sorted(entries))


def _change(change: Change) -> str:
    """What it is and says; of a job's start and end it says both itself."""
    of_a_job = change.kind in (ChangeKind.JOB_START, ChangeKind.JOB_END) and change.summary
    return f"change: {'' if of_a_job else f'{change.kind} '}{change.summary or change.id}"


def needs_publishing(track: Track, incident: Incident) -> bool:
    """Whether an incident differs from the version published last, beyond its clock, cost, scores and verdict, which
    follows from its findings.

    If so, the track remembers this version as published.
    """
    content = (
        *(incident.kind, incident.root, incident.state, incident.severity, incident.title, incident.blast),
        *(incident.findings, incident.gaps, incident.order_known),
        [(other.kind, other.root) for other in incident.alternatives],
        len(incident.timeline),
    )
    if not cost_has_grown(track) and track.was_published(content):
        return False
    track.published_digest, track.published_gpu_seconds = content, incident.gpu_seconds
    return True


def cost_has_grown(track: Track) -> bool:
    """Whether it costs so much more than the version published last that people should know."""
    return round(track.gpu_seconds, 3) >= track.published_gpu_seconds * GPU_SECONDS_STEP + 1
