"""What a fault cost: the same cluster with and without it, from the moment at which it begins."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from common.units import NS_PER_S
from evaluation.families.counterfactual.log import ClusterRecord, JobLog, Span
from simulator.fabric.state import Floats, Ints

SETTLES_S = 60  # after the repair
LOST_SHARE_MIN = 0.02  # of its time: less is within what iterations differ by, 1 % each
STALLED = 0.85  # docs/correlation.md: a job that loses this share stands still
SAME_END_NS = NS_PER_S
SAME_WORK = 1e-6


@dataclass(frozen=True, slots=True)
class Harm:
    """The cost of one fault.

    begins_ns: of the fault. course: GPU-seconds lost after 0, 1, 2, … seconds. total: until its end.
    jobs: share of its time that each job lost while the fault lasted, 1 for those that it ended.
    gpus: whole GPUs that were lost while it lasted. standing: those that were gone, or whose job stood still or ended.
    """

    begins_ns: int = 0
    course: tuple[float, ...] = (0.0,)
    total: float = 0.0
    jobs: Mapping[str, float] = field(default_factory=dict)
    gpus: float = 0.0
    standing: int = 0

    def lost_by(self, at_ns: int) -> float:
        """GPU-seconds lost until then."""
        return float(np.interp((at_ns - self.begins_ns) / NS_PER_S, np.arange(len(self.course)), self.course))


def harm(actual: ClusterRecord, without: ClusterRecord, begins_ns: int, ends_ns: int) -> Harm:
    """actual, without: one cluster with and without the fault, the same up to its begin.

    A job lost the time by which its work is later than without the fault. One that ended early lost whole GPUs until
    these get another job; a GPU that is gone is lost whole. A GPU that is counted in several ways counts once.
    """
    seconds = (ends_ns - begins_ns) / NS_PER_S
    end = int(seconds)
    times_ns = begins_ns + np.arange(end + SETTLES_S + 1, dtype=np.int64) * NS_PER_S
    losses, jobs = _Losses(times_ns.size), dict[str, float]()
    for name, before in without.jobs.items():
        after = actual.jobs.get(name)
        if after is None or not _comparable(after, before, begins_ns, ends_ns):
            continue
        ended = _ended_early(after, before) and after.ended_ns <= times_ns[-1]
        late_s = _never_made_up(_late_s(after, before, times_ns))
        part = 1.0 if ended else min(1.0, float(late_s[end]) / max(1.0, seconds))
        if part < LOST_SHARE_MIN:
            continue
        jobs[name] = part
        for gpu in before.gpus:
            idle_s = _idle_s(actual, gpu, after, before, times_ns) if ended else 0.0
            losses.add(gpu, late_s + idle_s, part)
    for gpu, spans in actual.gone.items():
        gone_s = _within(spans, begins_ns, times_ns) - _within(without.gone.get(gpu, []), begins_ns, times_ns)
        if gone_s[-1] > 0.0:
            losses.add(gpu, gone_s, 1.0)
    course = losses.course()
    standing = sum(part >= STALLED for part in losses.parts.values())
    return Harm(begins_ns, tuple(course.tolist()), float(course[end]), jobs, sum(losses.parts.values()), standing)


class _Losses:
    """What each GPU lost, by position in ``Layout.gpus``. seconds: at each time. parts: of its time, 0..1."""

    def __init__(self, times: int) -> None:
        self._times = times
        self.seconds: dict[int, Floats] = {}
        self.parts: dict[int, float] = {}

    def add(self, gpu: int, seconds: Floats, part: float) -> None:
        """One more reason; the larger one counts."""
        self.seconds[gpu] = np.maximum(self.seconds.get(gpu, 0.0), seconds)
        self.parts[gpu] = max(self.parts.get(gpu, 0.0), part)

    def course(self) -> Floats:
        """GPU-seconds of all at each time."""
        found: Floats = np.sum(list(self.seconds.values()), axis=0) if self.seconds else np.zeros(self._times)
        return found


def _comparable(after: JobLog, before: JobLog, begins_ns: int, ends_ns: int) -> bool:
    """Whether both are the same job, and it ran while the fault lasted."""
    if (after.started_ns, after.nodes) != (before.started_ns, before.nodes):
        return False
    return before.started_ns < ends_ns and not 0 < before.ended_ns <= begins_ns


def _ended_early(after: JobLog, before: JobLog) -> bool:
    return bool(after.ended_ns) and (not before.ended_ns or after.ended_ns < before.ended_ns - SAME_END_NS)


def _late_s(after: JobLog, before: JobLog, times_ns: Ints) -> Floats:
    """Seconds by which the work is late at each time: what is done was done that much earlier without the fault, or
    what comes next was done without it that long ago."""
    ends = [each.ended_ns for each in (after, before) if each.ended_ns]
    at_ns = np.minimum(times_ns, min(ends)) if ends else times_ns
    done_ns, done = _steps(after)
    other_ns, other = _steps(before)
    newest = np.searchsorted(done_ns, at_ns, side="right") - 1
    newest = np.maximum(newest, 0)
    never = np.append(other_ns, np.iinfo(np.int64).max // 2)
    same_ns = never[np.searchsorted(other, done[newest] - SAME_WORK, side="left")]
    next_ns = never[np.searchsorted(other, done[newest] + SAME_WORK, side="right")]
    late_ns = np.maximum(done_ns[newest] - same_ns, at_ns - next_ns)
    late_s: Floats = np.maximum(late_ns, 0) / NS_PER_S
    return late_s


def _steps(job: JobLog) -> tuple[Ints, Floats]:
    return np.array([job.started_ns, *job.times_ns], dtype=np.int64), np.array([0.0, *job.work])


def _never_made_up(late_s: Floats) -> Floats:
    """Time that is lost stays lost. What is late for a while only has written a checkpoint that the other has still to
    write, or the other way round."""
    found: Floats = np.minimum.accumulate(late_s[::-1])[::-1]
    return found


def _idle_s(actual: ClusterRecord, gpu: int, after: JobLog, before: JobLog, times_ns: Ints) -> Floats:
    """Seconds without a job since the one that ended, up to its end without the fault."""
    until_ns = np.minimum(times_ns, before.ended_ns) if before.ended_ns else times_ns
    idle_ns = np.maximum(0, until_ns - after.ended_ns)
    spans = [Span(*span) for span in _next_jobs(actual, gpu, after.ended_ns, int(until_ns[-1]))]
    found: Floats = idle_ns / NS_PER_S - _within(spans, after.ended_ns, until_ns)
    return found


def _next_jobs(actual: ClusterRecord, gpu: int, since_ns: int, until_ns: int) -> Iterator[tuple[int, int]]:
    for job in actual.jobs.values():
        if gpu in job.gpus and job.started_ns >= since_ns:
            yield job.started_ns, job.ended_ns or until_ns


def _within(spans: list[Span], since_ns: int, times_ns: Ints) -> Floats:
    """Seconds of the spans from ``since_ns`` to each time."""
    found = np.zeros(times_ns.size)
    for span in spans:
        first_ns = max(span.first_ns, since_ns)
        found += np.clip(np.minimum(times_ns, span.last_ns) - first_ns, 0, None) / NS_PER_S
    return found
