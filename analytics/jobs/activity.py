"""How much each running job works: its own history, in bins of about ten seconds, whatever the collection interval."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from analytics.jobs.checkpoints import Checkpoints
from analytics.jobs.pace import OwnPace

BIN_NS = 10 * 10**9
_AGAIN_SHARE = 0.75  # of an interval: hosts are read at different moments, so every tick has some new values
_GAP_INTERVALS = 3.0
_BUSY_MIN = 0.2  # share of time with kernels, below which a bin tells nothing about their pace
# Waiting for peers happens inside kernels and is never normal for long; waiting without kernels is also a checkpoint.
_PACE, _WORK = (2, 6), (4, 12)  # low bins that it takes, healthy bins before that


@dataclass
class JobWork:
    """One job. work: what its GPUs do of what they could; pace: the same for the time in which kernels run.

    sums: of the open bin: work, time with kernels, samples.
    newest_ns: newest sample taken; busy: time with kernels in it. closed_ns: the last one of the newest whole bin.
    """

    metric: str
    work: OwnPace = field(default_factory=lambda: OwnPace(*_WORK))
    pace: OwnPace = field(default_factory=lambda: OwnPace(*_PACE))
    sums: tuple[float, float, int] = (0.0, 0.0, 0)
    newest_ns: int = 0
    busy: float = 0.0
    closed_ns: int = 0
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def take(self, at_ns: int, work: float, busy: float, interval_ns: int, follow: int) -> None:
        """The mean over the job's GPUs as of ``at_ns``; passed over unless it is a new round of collections."""
        if at_ns < self.newest_ns + _AGAIN_SHARE * interval_ns:
            return
        if at_ns > self.newest_ns + _GAP_INTERVALS * interval_ns:
            self.sums = (0.0, 0.0, 0)
        self.newest_ns, self.busy = at_ns, busy
        self.sums = (self.sums[0] + work, self.sums[1] + busy, self.sums[2] + 1)
        samples = self.sums[2]
        if samples * interval_ns < BIN_NS - interval_ns // 2:
            return
        busy = self.sums[1] / samples
        self.work.take(self.sums[0] / samples, follow)
        self.pace.take(self.sums[0] / self.sums[1] if busy >= _BUSY_MIN else float("nan"), follow)
        self.sums, self.closed_ns = (0.0, 0.0, 0), at_ns

    @property
    def slump(self) -> int:
        """Bins since the job works less than normal, 0 where it does not."""
        return max(self.work.slump, self.pace.slump)

    @property
    def dips(self) -> bool:
        """Whether the newest bin is low, which is no slump yet: kernels that wait for each other are no checkpoint."""
        return not self.slump and self.pace.low > 0 and self.work.mean(1) < self.work.normal

    def onset_ns(self, interval_ns: int) -> int:
        """The middle of the slump's first bin: where in it the level fell is not known."""
        return self.closed_ns - max(0, self.slump - 1) * max(BIN_NS, interval_ns) - max(0, BIN_NS - interval_ns) // 2


class WorkBook:
    """The work of all running jobs, by job id."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobWork] = {}

    def of(self, job_id: str, metric: str) -> JobWork:
        known = self.jobs.get(job_id)
        if known is None or known.metric != metric:
            known = self.jobs[job_id] = JobWork(metric)
        return known

    def keep(self, running: Iterable[str]) -> None:
        """Forgets jobs that have ended."""
        running = set(running)
        self.jobs = {job_id: work for job_id, work in self.jobs.items() if job_id in running}

    def state(self) -> dict[str, Any]:
        return {job_id: asdict(work) for job_id, work in self.jobs.items()}

    def restore(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        self.jobs = {job_id: _restored(known) for job_id, known in state.items()}


def _restored(known: Mapping[str, Any]) -> JobWork:
    statistics = {name: OwnPace(**_numbers(known[name])) for name in ("work", "pace")}
    checkpoints = Checkpoints(**known["checkpoints"])
    return JobWork(**{**known, **statistics, "sums": tuple(known["sums"]), "checkpoints": checkpoints})


def _numbers(known: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows no NaN and gives null for it."""
    return {**known, "recent": [float("nan") if value is None else value for value in known["recent"]]}
