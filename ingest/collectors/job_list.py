"""The running jobs of one scheduler, and what two lists of them say together. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.units import NS_PER_S
from telemetry import objects
from telemetry.changes import Change, ChangeKind
from telemetry.topology import Job, TopologyFact


@dataclass(frozen=True, slots=True)
class JobList:
    """Jobs by id.

    running: the jobs that run. ended: jobs that the scheduler still lists after their end, with its time (nanoseconds,
    0 where unknown). malformed: entries that could not be read or used.
    """

    running: Mapping[str, Job]
    ended: Mapping[str, int]
    malformed: int


def facts(before: Mapping[str, Job] | None, after: JobList, now_ns: int, source: str) -> list[TopologyFact]:
    """Facts that turn ``before`` into ``after``. None is a start: jobs that ended before it get their fact, too."""
    known = before or {}
    found = [TopologyFact(job, now_ns, source) for key, job in after.running.items() if known.get(key) != job]
    gone = set(known) if before is not None else set(after.ended)
    for key in sorted(gone - set(after.running)):
        found.append(TopologyFact(known.get(key, Job(key, ())), now_ns, source, gone=True))
    return found


def changes(before: Mapping[str, Job] | None, after: JobList, now_ns: int) -> list[Change]:
    """Jobs that started or ended since ``before``. None is a start: running jobs are reported if the scheduler
    knows when they started.

    A collector that starts again reports the same start under the same id.
    """
    known = before or {}
    started = [job for key, job in after.running.items() if key not in known and (job.started_ns or before is not None)]
    ended = [job for key, job in known.items() if key not in after.running]
    return [
        *(_change(ChangeKind.JOB_START, job, job.started_ns or now_ns, "starts") for job in started),
        *(
            _change(ChangeKind.JOB_END, job, min(after.ended.get(job.job_id) or now_ns, now_ns), "ends")
            for job in ended
        ),
    ]


def _change(kind: ChangeKind, job: Job, at_ns: int, verb: str) -> Change:
    what = (objects.job(job.job_id), *(objects.device(node) for node in job.nodes))
    summary = f"{job.name or job.job_id} of {job.user or 'somebody'} {verb}"
    return Change(f"{kind}/{job.job_id}/{at_ns // NS_PER_S}", kind, what, at_ns, 0, job.user, summary)
