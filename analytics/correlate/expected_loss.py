"""What a fault costs before the jobs that need it show so: they stop with a link that is lost, wait for one that is
busy with what they send for much of the time, and go on at the pace of a GPU that got slow. Their work is known later.

What is expected counts like what is measured, for as long as a job may take to show it, and is taken back where the job
went on working.
"""

from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import NamedTuple

from analytics.correlate.cost import Wait, newly_waited
from analytics.correlate.texts.clock import clock
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from analytics.models.expected_share import EXPECTED_SHARE
from analytics.models.usual_load import USUAL_LOAD
from common.units import to_ns
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, job

# A job that stopped has two low bins by then, and the ticks that they are in have closed.
SHOWS_INTERVALS = 3.0
# Of the speed that is left: who keeps a link busy for half of the time hardly hides all of that (assumption).
BUSY_SHARE = 0.5
_OF_GPUS = frozenset({IncidentKind.GPU_FAULT, IncidentKind.ENVIRONMENT})


class _Loss(NamedTuple):
    """shares: of its time that each job loses, by id. since_ns: when that began, as far as readings say. until_ns: by
    when its work shows it."""

    shares: Mapping[str, float]
    since_ns: int
    until_ns: int


_NONE = _Loss({}, 0, 0)


def expected(view: CorrelationView, track: Track, waiting: Mapping[str, Wait], now_ns: int) -> dict[str, Wait]:
    """Jobs on several hosts with one at the link, and those of a slow GPU, while it is too early for their work to show
    what they lose.

    None where it was so when it was first seen, and where work on it is planned. Jobs that mount a file system ask for
    it now and then, so those behind a lost server stop later. waiting: jobs that show it; of one that is slowed the
    first low bins are partly from before.
    """
    loss = _of_gpus(view, track) or _of_path(view, track)
    if track.cause.change or track.since_first_seen or now_ns >= loss.until_ns:
        return {}
    return {
        job_id: Wait(loss.shares[job_id], max(loss.since_ns, view.jobs.running[job_id].started_ns), loss.until_ns)
        for job_id in sorted(loss.shares)
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
            track.note(now_ns, job(job_id), _text(track, job_id, number, wait))
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


def _text(track: Track, job_id: str, number: int, wait: Wait) -> str:
    lost = f"count as lost since {clock(wait.since_ns)}, until its work shows what it loses"
    if wait.share == 1.0:
        return f"job {job_id} cut off: its {number} GPUs {lost}"
    slow = track.cause.kind is IncidentKind.LINK_DEGRADED
    why = "usually sends too much for that speed" if slow else "goes on at the pace of its slowest GPU"
    return f"job {job_id} {why}: {100 * wait.share:.0f} % of its {number} GPUs {lost}"


def _of_gpus(view: CorrelationView, track: Track) -> _Loss | None:
    """What jobs lose by the slowest of their GPUs, as detectors say. Its readings show the work of the job too."""
    if track.cause.kind not in _OF_GPUS:
        return None
    primary = (view.by_id[found] for found in track.primary if found in view.by_id)
    slow = [(finding, share) for finding in primary if (share := _share(finding))]
    if not slow:
        return None
    shares: dict[str, float] = {}
    for finding, share in slow:
        for job_id in view.jobs.of(finding.object):
            shares[job_id] = max(share, shares.get(job_id, 0.0))
    first = min((finding for finding, _ in slow), key=attrgetter("onset_ns", "id"))
    since_ns = first.onset_ns - to_ns(first.cadence_s) // 2
    return _Loss(shares, since_ns, since_ns + view.config.across_ns(SHOWS_INTERVALS, [first.cadence_s]))


def _share(finding: Finding) -> float:
    return max((each.value for each in finding.evidence if each.series.startswith(EXPECTED_SHARE)), default=0.0)


def _of_path(view: CorrelationView, track: Track) -> _Loss:
    """What who needs a link loses that was lost or got slow.

    It was before the first reading that shows it and after the one before that. The earliest of k devices, which are
    read at moments of their own, comes a k + 1st of the time between two readings after it, on average. Those are the
    ends of a link, and the neighbours of a device.
    """
    if track.cause.takes_paths:
        kind = FindingKind.LINK_DOWN
    elif track.cause.kind is IncidentKind.LINK_DEGRADED:
        kind = FindingKind.LINK_SLOW
    else:
        return _NONE
    primary = (view.by_id.get(finding) for finding in track.primary)
    shown = [found for found in primary if found is not None and found.kind is kind]
    share = 1.0 if track.cause.takes_paths else max(map(_too_slow, shown), default=0.0)
    if not shown or not share:
        return _NONE
    first = min(shown, key=attrgetter("onset_ns", "id"))
    every_ns = to_ns(first.cadence_s) or view.config.interval_ns
    reach = view.cluster.reach(track.cause)
    here = {job_id for host in reach.hosts for job_id in view.jobs.on_device(host)}
    since_ns = first.onset_ns - every_ns // (1 + len(reach.devices - {track.cause.root.name}))
    until_ns = since_ns + view.config.intervals_ns(SHOWS_INTERVALS)  # whatever the cadence of its ports
    return _Loss(dict.fromkeys(here & reach.cut_off, share), since_ns, until_ns)


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
