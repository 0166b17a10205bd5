"""How much one running job works: its own history, in bins of about ten seconds, whatever the collection interval."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from analytics.models.jobs.checkpoints import Checkpoints
from analytics.models.jobs.pace import Pace

BIN_NS = 10 * 10**9
_NEXT_ROUND_SHARE = 0.75  # of an interval: hosts are read at different moments, so every tick has some new values
_GAP_INTERVALS = 3.0
_BUSY_MIN = 0.2  # share of time with kernels, below which the pace of a bin's kernels is not known
# Waiting for peers happens inside kernels and is never normal for long; waiting without kernels is also a checkpoint.
_PACE, _WORK = (2, 6), (4, 12)  # low bins that make a slump, healthy bins before that


@dataclass(frozen=True, slots=True)
class JobWork:
    """One job; ``updated`` gives the next state.

    metric: what its activity is measured by. work: what its GPUs do of what they could; pace: the same for the time in
    which kernels run. sums: of the open bin: work, time with kernels, samples.
    newest_ns: newest sample; busy: time with kernels in it. closed_ns: the last one of the newest whole bin.
    fresh: whether this tick brought values of enough GPUs.
    """

    metric: str
    work: Pace = field(default_factory=lambda: Pace(*_WORK))
    pace: Pace = field(default_factory=lambda: Pace(*_PACE))
    sums: tuple[float, float, int] = (0.0, 0.0, 0)
    newest_ns: int = 0
    busy: float = 0.0
    closed_ns: int = 0
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    fresh: bool = False

    def updated(self, at_ns: int, work: float, busy: float, interval_ns: int, follow: int) -> "JobWork":
        """With the mean over the job's GPUs as of ``at_ns``; the same unless it is a new round of collections."""
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
        """Bins since the job works less than normal, 0 where it does not."""
        return max(self.work.slump, self.pace.slump)

    @property
    def dips(self) -> bool:
        """Whether the newest bin is low, which is no slump yet: kernels that wait for each other are no checkpoint."""
        return not self.slump and self.pace.low > 0 and self.work.mean(1) < self.work.normal

    def onset_ns(self, interval_ns: int) -> int:
        """The middle of the slump's first bin: where in it the level fell is not known."""
        return self.closed_ns - max(0, self.slump - 1) * max(BIN_NS, interval_ns) - max(0, BIN_NS - interval_ns) // 2

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(known: Mapping[str, Any]) -> "JobWork":
        paces = {name: Pace(**_with_tuples(known[name])) for name in ("work", "pace")}
        checkpoints = Checkpoints(**_with_tuples(known["checkpoints"]))
        return JobWork(**{**known, **paces, "sums": tuple(known["sums"]), "checkpoints": checkpoints})


def _with_tuples(known: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows no tuples, and gives null for NaN."""
    return {name: _tuple(value) if isinstance(value, list) else value for name, value in known.items()}


def _tuple(values: list[float | None]) -> tuple[float, ...]:
    return tuple(float("nan") if value is None else value for value in values)
