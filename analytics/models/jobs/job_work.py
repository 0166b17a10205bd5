"""How much one running job works, against its own history, in bins of about ten seconds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from analytics.models.jobs.checkpoints import Checkpoints
from analytics.models.jobs.work_level import WorkLevel

BIN_NS = 10 * 10**9
_NEXT_ROUND_SHARE = 0.75  # of an interval: hosts are read at different moments, so every tick has some new values
_GAP_INTERVALS = 3.0
_BUSY_MIN = 0.2  # share of time with kernels, below which the pace of a bin is unknown
# Waiting for peers happens inside kernels and is never normal for long; a checkpoint is waiting without kernels too.
_PACE, _WORK = (2, 6), (4, 12)  # low bins that make a slump, healthy bins before that


@dataclass(frozen=True, slots=True)
class JobWork:
    """One job; ``updated`` returns the next state.

    metric: of its activity. work: share of what its GPUs could do; pace: the same for the time in which kernels run.
    sums: of the open bin: work, share of time with kernels, samples.
    newest_ns: newest sample; busy: share of time with kernels in it. closed_ns: last sample of the newest whole bin.
    fresh: whether this tick brought values of enough GPUs. cadence_ns: between two values of what shows its pauses and
    what it writes, of the one that comes more rarely; 0 where it is not known. others: while it stands still, the part
    of what its most awaited storage target moves that is of other clients, see ``JobWrites.others``; 0 where not known.
    """

    metric: str
    work: WorkLevel = field(default_factory=lambda: WorkLevel(*_WORK))
    pace: WorkLevel = field(default_factory=lambda: WorkLevel(*_PACE))
    sums: tuple[float, float, int] = (0.0, 0.0, 0)
    newest_ns: int = 0
    busy: float = 0.0
    closed_ns: int = 0
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    fresh: bool = False
    cadence_ns: int = 0
    others: float = 0.0

    def updated(self, at_ns: int, work: float, busy: float, interval_ns: int, follow: int) -> "JobWork":
        """With the means over the job's GPUs at ``at_ns``; unchanged unless that is a new round of collections."""
        if at_ns < self.newest_ns + _NEXT_ROUND_SHARE * interval_ns:
            return self
        gap = at_ns > self.newest_ns + _GAP_INTERVALS * interval_ns
        before = (0.0, 0.0, 0) if gap else self.sums
        sums = (before[0] + work, before[1] + busy, before[2] + 1)
        after = replace(self, newest_ns=at_ns, busy=busy, sums=sums)
        if sums[2] * interval_ns < BIN_NS - interval_ns // 2:
            return after
        return after._closed(at_ns, follow)

    def _closed(self, at_ns: int, follow: int) -> "JobWork":
        work, busy, samples = self.sums
        pace = work / busy if busy / samples >= _BUSY_MIN else float("nan")
        return replace(
            self,
            work=self.work.updated(work / samples, follow),
            pace=self.pace.updated(pace, follow),
            sums=(0.0, 0.0, 0),
            closed_ns=at_ns,
        )

    @property
    def slump(self) -> int:
        """Bins since the job began to work less than normal, 0 while it does not.

        Of one that waits in kernels since that began: a checkpoint right before it lowers the work and not the pace.
        """
        return self.pace.slump or self.work.slump

    @property
    def dips(self) -> bool:
        """Whether the newest bin is low, but no slump yet: kernels that wait for each other are no checkpoint."""
        return not self.slump and self.pace.low > 0 and self.work.mean(1) < self.work.normal

    def only_writes(self, interval_ns: int) -> bool:
        """Whether it works less because of an ordinary checkpoint alone, and worked as usual before that."""
        bin_ns = max(BIN_NS, interval_ns)
        since_ns = self.checkpoints.ordinary_since_ns(self.every_ns(interval_ns), 2 * bin_ns)
        return since_ns > 0 and (not self.slump or self.onset_ns(interval_ns) >= since_ns - bin_ns)

    def every_ns(self, interval_ns: int) -> int:
        """How far apart values are that show a pause: no time in one is known better."""
        return max(interval_ns, self.cadence_ns)

    def onset_ns(self, interval_ns: int) -> int:
        """The centre of the slump's first bin: when in it the level fell is unknown."""
        return self.closed_ns - max(0, self.slump - 1) * max(BIN_NS, interval_ns) - max(0, BIN_NS - interval_ns) // 2

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(known: Mapping[str, Any]) -> "JobWork":
        levels = {name: WorkLevel(**_with_tuples(known[name])) for name in ("work", "pace")}
        checkpoints = Checkpoints(**_with_tuples(known["checkpoints"]))
        return JobWork(**{**known, **levels, "sums": tuple(known["sums"]), "checkpoints": checkpoints})


def _with_tuples(known: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no tuples, and null for NaN."""
    return {name: _tuple(value) if isinstance(value, list) else value for name, value in known.items()}


def _tuple(values: list[float | None]) -> tuple[float, ...]:
    return tuple(float("nan") if value is None else value for value in values)
