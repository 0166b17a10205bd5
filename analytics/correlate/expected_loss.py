"""What a fault of a path costs before the jobs that need it show so: they stop with a link that is lost, and wait for
one that is busy with what they send for much of the time. Their work is known later.

What is expected counts like what is measured, for as long as a job may take to show it, and is taken back where the job
went on working.
"""

from collections.abc import Collection, Mapping
from operator import attrgetter

from analytics.correlate.cost import Wait, newly_waited
from analytics.correlate.texts.clock import clock
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from analytics.models.usual_load import USUAL_LOAD
from common.units import to_ns
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, job

# A job that stopped has two low bins by then, and the ticks that they are in have closed.
SHOWS_INTERVALS = 3.0
# Of the speed that is left: who keeps a link busy for half of the time hardly hides all of that (assumption).
BUSY_SHARE = 0.5


def expected(view: CorrelationView, track: Track, waiting: Mapping[str, Wait], now_ns: int) -> dict[str, Wait]:
    """Jobs on several hosts with one at the link, while it is too early for their work to show what they lose.

    None where it was so when it was first seen, and where work on it is planned. Jobs that mount a file system ask for
    it now and then, so those behind a lost server stop later. waiting: jobs that show it; of one that is slowed the
    first low bins are partly from before.
    """
    share, since_ns = _loss(view, track)
    until_ns = since_ns + view.config.intervals_ns(SHOWS_INTERVALS)  # whatever the cadence of its ports
    if not share or track.cause.change or track.since_first_seen or now_ns >= until_ns:
        return {}
    reach = view.cluster.reach(track.cause)
    here = {job_id for host in reach.hosts for job_id in view.jobs.on_device(host)}
    return {
        job_id: Wait(share, max(since_ns, view.jobs.running[job_id].started_ns), until_ns)
        for job_id in sorted(here & reach.cut_off)
        if job_id not in waiting or waiting[job_id].mean
    }


def gpus(view: CorrelationView, waits: Mapping[str, Wait]) -> float:
    """How many whole GPUs that is."""
    return sum(wait.share * view.jobs.gpu_count(job_id) for job_id, wait in waits.items())


def count(
    view: CorrelationView, track: Track, waits: Mapping[str, Wait], dead: Collection[ObjectRef], now_ns: int
) -> None:
    """Remembers what is added for jobs that do not show yet that they wait. waits: as divided among incidents. dead:
    GPUs that are lost whatever their job does."""
    for job_id in sorted(waits.keys() - track.job_impact.keys()):
        wait = waits[job_id]
        number = sum(ref not in dead for ref in view.jobs.kept_idle(job_id)) if dead else view.jobs.gpu_count(job_id)
        if job_id not in track.expected:
            track.note(now_ns, job(job_id), _text(job_id, number, wait))
        seconds = number * newly_waited(track, job_id, wait, now_ns)
        track.expected[job_id] = track.expected.get(job_id, 0.0) + seconds


def settle(track: Track, waits: Mapping[str, Wait], now_ns: int) -> None:
    """What a job has shown by now, or ended with, is measured; what it has not shown in time was none."""
    for job_id in sorted(track.expected):
        if job_id in track.job_impact:
            del track.expected[job_id]
        elif job_id not in waits:
            track.gpu_seconds = max(0.0, track.gpu_seconds - track.expected.pop(job_id))
            track.cost_until_ns.pop(job_id, None)
            track.note(now_ns, job(job_id), f"job {job_id} shows no loss: what it was expected to lose does not count")


def _text(job_id: str, number: int, wait: Wait) -> str:
    lost = f"count as lost since {clock(wait.since_ns)}, until its work shows what it loses"
    if wait.share == 1.0:
        return f"job {job_id} cut off: its {number} GPUs {lost}"
    share = f"{100 * wait.share:.0f} %"
    return f"job {job_id} usually sends too much for that speed: {share} of its {number} GPUs {lost}"


def _loss(view: CorrelationView, track: Track) -> tuple[float, int]:
    """The share of its time that who needs the link loses, and when it was lost or got slow, as far as readings say.

    It was before the first reading that shows it and after the one before that. The earliest of k devices, which are
    read at moments of their own, comes a k + 1st of the time between two readings after it, on average. Those are the
    ends of a link, and the neighbours of a device.
    """
    if track.cause.takes_paths:
        kind = FindingKind.LINK_DOWN
    elif track.cause.kind is IncidentKind.LINK_DEGRADED:
        kind = FindingKind.LINK_SLOW
    else:
        return 0.0, 0
    primary = (view.by_id.get(finding) for finding in track.primary)
    shown = [found for found in primary if found is not None and found.kind is kind]
    if not shown:
        return 0.0, 0
    share = 1.0 if track.cause.takes_paths else max(map(_too_slow, shown))
    first = min(shown, key=attrgetter("onset_ns", "id"))
    every_ns = to_ns(first.cadence_s) or view.config.interval_ns
    readers = len(view.cluster.reach(track.cause).devices - {track.cause.root.name})
    return share, first.onset_ns - every_ns // (1 + readers)


def _too_slow(finding: Finding) -> float:
    """The share of its time that a job loses whose usual traffic keeps a slow link busy for much of it; 0 where it does
    not, or neither is known.

    Training sends in bursts as fast as the link is, and waits for their end: at a quarter of the speed a part of a step
    that took a tenth of it takes three tenths more. Computing that goes on meanwhile hides a part of that.
    """
    speed, *others = finding.evidence or (None,)
    usual = max((each.value for each in others if each.series.startswith(USUAL_LOAD)), default=0.0)
    if speed is None or not speed.normal or usual < BUSY_SHARE * speed.value:
        return 0.0
    longer = usual / speed.value - usual / speed.normal
    return longer / (1.0 + longer)
