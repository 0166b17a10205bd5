"""What an incident costs: share of time that jobs lose, GPU-seconds, severity."""

import sys
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter

from analytics.correlate.cause import Cause
from analytics.correlate.config import NS_PER_S, CorrelateConfig
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from analytics.models.jobs.job_work import BIN_NS
from analytics.models.jobs.work_level import FINE_BINS, LOW_SHARE
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.kinds import HoldPolicy, finding_kinds, incident_kinds
from telemetry.objects import ObjectKind, ObjectRef

STALLED = 0.85  # a job that loses this share of its time is stalled: the rest is its last steps and its first
MEASURED = (FindingKind.JOB_STALLED, FindingKind.JOB_SLOWED)  # the job's own work; the stronger one first
# A GPU is called hung where hardly one of its job computes: that is the whole job, before its work is measured.
STANDS_STILL = FindingKind.GPU_HUNG
MEASURED_PAUSES = (FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PFC_PAUSE_SENT)
RESTART_NS = 600 * NS_PER_S  # assumption: what nobody has started again by then has no work waiting
CLEAR_INTERVALS = 3.0  # after which a finding about pauses clears: ``Detector.clear_intervals``
# Twice what makes a bin low. A large job dips by a fifth in health; under an incast of ``tensor-tree`` it was a half.
HARDLY_LOW = 2.0 * (1.0 - LOW_SHARE)
NORMAL_BINS = 12  # bins of a job's work until its normal is known: docs/detection.md, Jobs


def lost_share(finding: Finding) -> float:
    """The share of the GPUs' time that a waiting job or a straggler loses, 0..1.

    The distance of the evidence from its normal, relative to the larger of both: a GPU that is busy 1.3 times as long
    as its peers makes them wait for 0.3 / 1.3 of the time. The score where no normal is known. All of it where a GPU
    hangs.
    """
    if finding.kind is STANDS_STILL:
        return 1.0
    shares = [
        abs(evidence.value - evidence.normal) / max(abs(evidence.value), abs(evidence.normal))
        for evidence in finding.evidence
        if evidence.normal is not None and evidence.normal != evidence.value
    ]
    return min(1.0, max(shares, default=max(0.0, finding.score)))


@dataclass(frozen=True, slots=True)
class Wait:
    """share: of its time that a job loses now, 0..1. since_ns: onset of the earliest finding that shows it. until_ns:
    the last moment that counts. single: one bin that is hardly low shows it, and the next one is still to be judged.
    lost_ns: from when on it counts, where that is before the onset; 0 else. mean: whether the share is that of all the
    time since then, and not of this moment."""

    share: float
    since_ns: int
    until_ns: int = sys.maxsize
    single: bool = False
    lost_ns: int = 0
    mean: bool = False

    @property
    def began_ns(self) -> int:
        """From when on it counts."""
        return self.lost_ns or self.since_ns


def waits(view: CorrelationView, members: Iterable[Finding], measured: Container[str]) -> dict[str, Wait]:
    """The jobs that show that they wait. A hung GPU comes first, then a stall, what the job lost, what one GPU shows.

    measured: jobs with findings about their own work; what one of their GPUs shows is ignored.
    """
    found: dict[str, list[Finding]] = {}
    for finding in members:
        if finding_kinds()[finding.kind].waiting:
            for job_id in view.jobs.of(finding.object):
                if view.jobs.running[job_id].started_ns > finding.observed_ns:
                    view.asked_for_time = True
                    continue  # of what a GPU showed in a job before it, until it is seen again
                if finding.kind in (STANDS_STILL, *MEASURED) or job_id not in measured:
                    found.setdefault(job_id, []).append(finding)
    waiting: dict[str, Wait] = {}
    for job_id in sorted(found):
        strongest = _strongest(found[job_id])
        share = max(lost_share(finding) for finding in strongest)
        single = share < HARDLY_LOW and all(
            finding.kind is FindingKind.JOB_SLOWED and finding.score < 1.0 for finding in strongest
        )
        since_ns = min(finding.onset_ns for finding in found[job_id])
        mean = all(finding.kind is FindingKind.JOB_SLOWED for finding in strongest)
        lost_ns = min(_lost_ns(view.config, finding, mean=mean) for finding in (strongest if mean else found[job_id]))
        started_ns = view.jobs.running[job_id].started_ns
        since_ns, lost_ns = max(since_ns, started_ns), max(lost_ns, started_ns)
        waiting[job_id] = Wait(share, since_ns, single=single, lost_ns=lost_ns, mean=mean)
    return waiting


def _lost_ns(config: CorrelateConfig, finding: Finding, *, mean: bool) -> int:
    """From when on the values that show a wait say what was lost. Those of work are averages of the time before them,
    so the first one is about the time since the value before; a clock is read at one moment, half of that later on
    average.

    mean: whether the share that is lost is the mean over all of that time. Else the first low value counts from the
    middle of its time, since when all is lost on average.
    """
    every_ns = round(finding.cadence_s * NS_PER_S)
    if finding.kind is FindingKind.JOB_SLOWED:  # its onset is the centre of a bin of short samples, or a whole sample
        since_ns = every_ns if mean else every_ns // 2
        return finding.onset_ns - max(BIN_NS // 2 + config.interval_ns // 2, config.interval_ns, since_ns)
    if finding.kind in (FindingKind.JOB_STALLED, FindingKind.GPU_HUNG):
        return finding.onset_ns - every_ns
    return finding.onset_ns - every_ns // 2 if finding.kind is FindingKind.STRAGGLER else finding.onset_ns


def began_under_pressure(view: CorrelationView, cause: Cause, primary: Iterable[Finding]) -> dict[str, Wait]:
    """Jobs that have had pressure at a port of their own since they began, and so no normal by which they could show
    that they wait. Where the port was paused for much of the time, that is the share that they lose at most.

    For an interval, whatever the cadence: of a thousand ports that are read every second some have been paused for a
    fifth of one at any moment, and no job waits for that.
    """
    if incident_kinds()[cause.kind].pages_without_waiting:
        return {}
    found: dict[str, Wait] = {}
    unknown_ns = NORMAL_BINS * max(BIN_NS, view.config.interval_ns)
    for finding in primary:
        if finding.kind not in MEASURED_PAUSES:
            continue
        share = _paused_share(finding)
        for job_id in view.jobs.of(finding.object) if share >= view.config.paused_share_min else ():
            started_ns = view.jobs.running[job_id].started_ns
            is_young = started_ns and finding.onset_ns < started_ns + unknown_ns
            since_ns = max(started_ns, finding.onset_ns)
            if is_young and _lasted_an_interval(view, finding, since_ns):
                wait = Wait(share, since_ns)
                found[job_id] = max(wait, found.get(job_id, wait), key=attrgetter("share"))
    return found


def divided(shares: Iterable[float]) -> list[float]:
    """What each of several causes pays of the share of its time that one job loses, in their order.

    A job that waits for several loses what the worst of them costs, so their shares do not add up. They are divided by
    the Shapley value of this game (Littlechild and Owen 1973, the airport game): what the least one costs is paid by
    all alike, what the next one costs on top of it by all others, and so on. The sum is the largest share.
    """
    ranked = sorted(enumerate(shares), key=lambda each: each[1])
    paid, before, so_far = [0.0] * len(ranked), 0.0, 0.0
    for number, (position, share) in enumerate(ranked):
        so_far += (share - before) / (len(ranked) - number)
        paid[position], before = so_far, share
    return paid


def of_ended(ended: Mapping[str, int]) -> dict[str, Wait]:
    """Jobs that were ended lose all of their GPUs until these get other work. ended: when each one did, by id."""
    return {job_id: Wait(1.0, ended_ns, ended_ns + RESTART_NS) for job_id, ended_ns in ended.items()}


def _paused_share(finding: Finding) -> float:
    """The share of time that a pause is known to have taken, 0 where only frames are counted."""
    return max((each.value for each in finding.evidence if each.unit == "ratio"), default=0.0)


def _lasted_an_interval(view: CorrelationView, finding: Finding, since_ns: int) -> bool:
    """Whether it was so for an interval after ``since_ns`` for certain: an active one was seen three intervals ago at
    most. One value of evidence that comes once an interval, or less often, says it of all of it."""
    cadence_ns = round(finding.cadence_s * NS_PER_S)
    if not cadence_ns or cadence_ns >= view.config.interval_ns:
        return True
    seen_ns = view.now_ns - round(CLEAR_INTERVALS * view.config.interval_ns) + cadence_ns
    return seen_ns - since_ns >= view.config.interval_ns


def _strongest(about: list[Finding]) -> list[Finding]:
    """Of the findings about one job those that count: that a GPU hangs, else that the job is stalled, else that it is
    slowed, else all."""
    for kind in (STANDS_STILL, *MEASURED):
        if measured := [finding for finding in about if finding.kind is kind]:
            return measured
    return about


@dataclass(frozen=True, slots=True)
class Gone:
    """GPUs that are dead, whichever incident took them: that one counts them whole, so in no other one they wait.

    of: how many of them a running job has.
    """

    gpus: frozenset[ObjectRef] = frozenset()
    of: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def among(view: CorrelationView, dead: Iterable[Iterable[ObjectRef]]) -> "Gone":
        """dead: those of each incident."""
        gpus = frozenset(chain.from_iterable(dead))
        return Gone(gpus, Counter(chain.from_iterable(map(view.jobs.of, gpus))))


def gpu_seconds(
    view: CorrelationView,
    track: Track,
    waiting: Mapping[str, Wait],
    dead: Iterable[ObjectRef],
    now_ns: int,
    gone: Gone = Gone(),
) -> float:
    """GPU-seconds lost and not yet counted: of every waiting job since it began to wait, and of dead GPUs."""
    if not waiting and not dead:
        return 0.0
    seconds_of = {job_id: newly_waited(track, job_id, wait, now_ns) for job_id, wait in waiting.items()}
    if not dead and len(seconds_of) < 2:  # each GPU as long: the same sum without naming them, as jobs have thousands
        number_of = {job_id: len(view.jobs.kept_idle(job_id)) - gone.of.get(job_id, 0) for job_id in seconds_of}
        return sum((sum([seconds] * number_of[job_id]) for job_id, seconds in seconds_of.items()), 0.0)
    lost: dict[ObjectRef, float] = {}
    for job_id, seconds in seconds_of.items():
        for ref in view.jobs.kept_idle(job_id):
            if ref not in gone.gpus:
                lost[ref] = max(lost.get(ref, 0.0), seconds)
    if dead:
        seconds = max(0, now_ns - max(track.accounted_ns, track.onset_ns)) / NS_PER_S
        for ref in dead:
            lost[ref] = seconds
    return sum(lost[ref] for ref in sorted(lost, key=by_kind_and_name))


def newly_waited(track: Track, job_id: str, wait: Wait, now_ns: int) -> float:
    """Seconds that a GPU of the job lost since they were counted last.

    What a job lost is known better with each value: the first one is a part of what follows, and those after its end
    make the mean smaller, as they are part of it too. So a mean counts for all of its time.
    """
    until_ns = min(now_ns, wait.until_ns)
    known = track.counted.get(job_id)
    if wait.mean and known is not None and known[0] == wait.began_ns:
        return max(0.0, wait.share * (until_ns - wait.began_ns) / NS_PER_S - known[2])
    return wait.share * max(0, until_ns - _uncounted_ns(track, job_id, wait)) / NS_PER_S


def remember(track: Track, waits: Mapping[str, Wait], now_ns: int) -> None:
    """That the cost of these waits has been counted until now."""
    for job_id, wait in waits.items():
        if not wait.share:  # not known yet: what the job shows later counts from its begin
            continue
        seconds, known = newly_waited(track, job_id, wait, now_ns), track.counted.get(job_id)
        if wait.mean and (known is None or known[0] != wait.began_ns):
            # What was counted by something else than this mean is a part of it, for as much as the mean says.
            since_ns = _uncounted_ns(track, job_id, wait)
            known = wait.began_ns, since_ns, wait.share * (since_ns - wait.began_ns) / NS_PER_S, wait.share
        if known is not None:
            track.counted[job_id] = *known[:2], known[2] + seconds, wait.share
        track.cost_until_ns[job_id] = now_ns


def overrun(view: CorrelationView, track: Track, waiting: Collection[str]) -> float:
    """GPU-seconds that were counted of jobs that do not wait any more, though they worked as usual by then: that a
    slump is over shows by the bins after it."""
    found = 0.0
    for job_id in sorted(track.counted.keys() - set(waiting)):
        counted_s, share = _counted_s(track, job_id), track.counted.pop(job_id)[3]
        about = view.about(ObjectRef(ObjectKind.JOB, job_id))
        if job_id in view.jobs.running and all(finding.kind is not FindingKind.JOB_SLOWED for finding in about):
            bins_s = FINE_BINS * max(BIN_NS, view.config.interval_ns) / NS_PER_S
            found += view.jobs.gpu_count(job_id) * min(counted_s, share * bins_s)
    return found


def give_back(view: CorrelationView, track: Track, finding: Finding) -> None:
    """Takes back what an incident counted by a slump that another one explains by now: that counts all of it."""
    job_id = finding.object.name
    known = track.counted.get(job_id) if finding.kind is FindingKind.JOB_SLOWED else None
    if known is not None and known[0] == _lost_ns(view.config, finding, mean=True):
        counted_s = _counted_s(track, job_id)
        track.gpu_seconds = max(0.0, track.gpu_seconds - view.jobs.gpu_count(job_id) * counted_s)
        track.cost_until_ns[job_id] = known[1]
        del track.counted[job_id]


def _counted_s(track: Track, job_id: str) -> float:
    """Seconds of each GPU of a job that were counted by the mean of its slump, without what was before."""
    _, since_ns, seconds, share = track.counted[job_id]
    return min(seconds, share * max(0, track.cost_until_ns[job_id] - since_ns) / NS_PER_S)


def _uncounted_ns(track: Track, job_id: str, wait: Wait) -> int:
    """Since when a wait has not been counted."""
    return max(wait.began_ns, track.cost_until_ns.get(job_id, wait.began_ns))


def dead_gpus(view: CorrelationView, track: Track) -> list[ObjectRef]:
    """GPUs of dead hosts that somebody used, and GPUs that fell off the bus of a host that still works."""
    root = track.cause.root
    if track.cause.kind is IncidentKind.GPU_FAULT:
        primary = [view.by_id[found] for found in sorted(track.primary) if found in view.by_id]
        return [finding.object for finding in primary if finding.kind is FindingKind.GPU_LOST]
    if "gpus" not in incident_kinds()[track.cause.kind].takes_away or not track.primary:
        return []
    names = view.graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.name]
    used = [name for name in (*names, *sorted(track.cause.gone)) if name not in view.idle]
    return [ref for name in used for ref in view.graph.gpus_of(name)]


def gpus_lost(view: CorrelationView, job_impact: Mapping[str, float], dead: Iterable[ObjectRef]) -> float:
    """How many whole GPUs are lost at present: of the waiting jobs by the share of its time that each loses
    (job_impact), and dead ones."""
    lost = 0.0
    for job_id in sorted(job_impact):
        lost += view.jobs.gpu_count(job_id) * job_impact[job_id]
    for ref in dead:
        lost += job_impact.keys().isdisjoint(view.jobs.of(ref))
    return lost


def cut_off(view: CorrelationView, track: Track) -> frozenset[str]:
    """Jobs that stop soon, as they lose a path that they need; what it costs is counted once they wait.

    Also those that mount the file system of a target behind the lost path that answers slowly: another link of its
    server did not help what was under way.
    """
    if not track.cause.takes_paths:
        return frozenset()
    members = (view.by_id[found] for found in sorted(track.members) if found in view.by_id)
    slow = [finding.object for finding in members if finding.kind is FindingKind.STORAGE_SLOW]
    return view.cluster.cut_off(track.cause).union(*map(view.jobs.using, slow))


def gpus_cut_off(view: CorrelationView, track: Track) -> int:
    """Whole GPUs that stop soon: of the jobs that are cut off. Where no source says which jobs run, those of the hosts
    at the ends of the lost links: what uses a host uses every NIC of it, as far as it uses any."""
    if view.cluster.nodes.jobs_known:
        return view.jobs.gpu_count(*cut_off(view, track))
    if not track.cause.takes_paths:
        return 0
    return sum(len(view.graph.gpus_of(name)) for name in view.cluster.reach(track.cause).hosts - view.idle)


by_rank = attrgetter("rank")
by_kind_and_name = attrgetter("kind", "name")  # the order of objects, without a call of Python for each comparison


def is_waited_for(view: CorrelationView, track: Track, waiting: Mapping[str, Wait], now_ns: int) -> bool:
    """Whether a job has waited for as long as a cause of this kind needs. Whether a bin that is hardly low was all is
    known once the next one was judged, so a cause that waits for collections counts that a bin longer."""
    if not waiting:
        return False
    policy = track.cause.wait_hold
    hold_ns = view.config.hold_ns(policy, track.cadence_s)
    bin_ns = 0 if policy in (HoldPolicy.NONE, HoldPolicy.TICK) else max(BIN_NS, view.config.interval_ns)
    return any(now_ns - wait.since_ns >= hold_ns + wait.single * bin_ns for wait in waiting.values())


def severity(
    cause: Cause,
    known: Severity,
    gpus: float,
    lost_gpu_seconds: float,
    planned: bool,
    config: CorrelateConfig,
    *,
    waited_for: bool,
) -> Severity:
    """At least the floor of the kind, raised by the whole GPUs that are lost now or soon and by the GPU-seconds so far,
    and at most its ceiling, and that of the cause.

    gpus: lost now, or about to be. known: severity so far, below which it never falls while the incident is open,
    whatever the ceiling of its cause is by now; planned work is always INFO.
    waited_for: whether a job has shown for long enough that it waits; pressure on the fabric, and what is harmless, is
    INFO until then.
    """
    row = incident_kinds()[cause.kind]
    if planned:
        return Severity.INFO
    pages = waited_for or cause.pages_without_waiting
    grade = row.severity_floor if pages else Severity.INFO
    if pages and (gpus >= config.critical_gpus or lost_gpu_seconds >= config.critical_gpu_seconds):
        grade = Severity.CRITICAL
    elif pages and gpus:
        grade = max(grade, Severity.WARNING, key=by_rank)
    grade = min(grade, cause.ceiling, key=by_rank)
    return min(max(grade, known, key=by_rank), row.severity_ceiling, key=by_rank)
