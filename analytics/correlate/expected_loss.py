"""What a lost path costs before the jobs that need it show so: they stop with it, and their work is known later.

What is expected counts like what is measured, for as long as a job may take to show it, and is taken back where the job
went on working.
"""

from collections.abc import Collection, Mapping

from analytics.correlate.cost import Wait, newly_waited
from analytics.correlate.texts.clock import clock
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from common.units import to_ns
from telemetry.findings import FindingKind
from telemetry.objects import ObjectRef, job

# A job that stopped has two low bins by then, and the ticks that they are in have closed.
SHOWS_INTERVALS = 3.0


def expected(view: CorrelationView, track: Track, waiting: Mapping[str, Wait], now_ns: int) -> dict[str, Wait]:
    """Jobs on hosts at the lost links that are cut off, while it is too early for their work to show it.

    None where a port was down when it was first seen or work on it is planned. Jobs that mount a file system ask for it
    now and then, so those behind a lost server stop later. waiting: jobs that show it; of one that is slowed the first
    low bins are partly from before.
    """
    if not track.cause.takes_paths or track.cause.change or track.since_first_seen:
        return {}
    since_ns = _lost_ns(view, track)
    until_ns = since_ns + view.config.intervals_ns(SHOWS_INTERVALS, track.cadence_s)
    if now_ns >= until_ns:
        return {}
    stopped = view.cluster.cut_off(track.cause)
    here = {job_id for host in view.cluster.reach(track.cause).hosts for job_id in view.jobs.on_device(host)}
    return {
        job_id: Wait(1.0, max(since_ns, view.jobs.running[job_id].started_ns), until_ns)
        for job_id in sorted(here & stopped)
        if job_id not in waiting or waiting[job_id].mean
    }


def count(
    view: CorrelationView, track: Track, waits: Mapping[str, Wait], dead: Collection[ObjectRef], now_ns: int
) -> None:
    """Remembers what is added for jobs that do not show yet that they wait. waits: as divided among incidents. dead:
    GPUs that are lost whatever their job does."""
    for job_id in sorted(waits.keys() - track.job_impact.keys()):
        gpus = sum(ref not in dead for ref in view.jobs.kept_idle(job_id)) if dead else view.jobs.gpu_count(job_id)
        if job_id not in track.expected:
            text = f"job {job_id} cut off: its {gpus} GPUs count as lost since {clock(waits[job_id].since_ns)}"
            track.note(now_ns, job(job_id), f"{text}, until its work shows what it loses")
        seconds = gpus * newly_waited(track, job_id, waits[job_id], now_ns)
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


def _lost_ns(view: CorrelationView, track: Track) -> int:
    """When the first link was lost, as far as readings say; 0 where none shows it.

    It was before the first reading that shows it and after the one before that. The earliest of k devices, which are
    read at moments of their own, comes a k + 1st of the time between two readings after it, on average. Those are the
    ends of a link, and the neighbours of a device.
    """
    down = [
        found
        for finding in track.primary
        if (found := view.by_id.get(finding)) is not None and found.kind is FindingKind.LINK_DOWN
    ]
    if not down:
        return 0
    every_ns = to_ns(max(found.cadence_s for found in down)) or view.config.interval_ns
    readers = len(view.cluster.reach(track.cause).devices - {track.cause.root.name})
    return min(found.onset_ns for found in down) - every_ns // (1 + readers)
