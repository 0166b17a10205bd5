"""One tick's batches as columns, in canonical order."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analytics.state.registry import Registry
from analytics.window.watermark import DropReason, SampleCounts
from common.jit import compiled
from telemetry.samples import SampleBatch

_BEHIND_NS_MAX = 3600 * 10**9
_AHEAD_NS_MAX = 300 * 10**9


@dataclass(frozen=True)
class Tick:
    """All samples of a tick, batch after batch. starts: int64[batches + 1]; targets, collected_ns: int64[batches]."""

    targets: NDArray[np.int64]
    collected_ns: NDArray[np.int64]
    starts: NDArray[np.int64]
    sids: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return self.sids.size

    @property
    def batch_of(self) -> NDArray[np.int64]:
        """int64[samples]: which batch each sample came in."""
        return np.repeat(np.arange(self.targets.size), np.diff(self.starts))

    def only(self, rows: NDArray[np.bool_]) -> "Tick":
        """The same tick and batches with some of their samples."""
        kept = np.bincount(self.batch_of[rows], minlength=self.targets.size)
        starts = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self, starts=starts, sids=self.sids[rows], times_ns=self.times_ns[rows], values=self.values[rows]
        )

    def sorted(self) -> "Tick":
        """Within each batch the samples by series and time, as most batches are already."""
        unsorted = np.flatnonzero(_unsorted(self.starts, self.sids)).tolist()
        if not unsorted:
            return self
        order = np.arange(self.sids.size)
        for batch in unsorted:
            rows = slice(self.starts[batch], self.starts[batch + 1])
            order[rows] = rows.start + np.lexsort((self.times_ns[rows], self.sids[rows]))
        return replace(self, sids=self.sids[order], times_ns=self.times_ns[order], values=self.values[order])


@compiled
def _unsorted(starts: NDArray[np.int64], sids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[batches]: those in which a series is not followed by a later one."""
    found = np.zeros(starts.size - 1, np.bool_)
    for batch in range(found.size):
        for i in range(starts[batch] + 1, starts[batch + 1]):
            if sids[i] <= sids[i - 1]:
                found[batch] = True
                break
    return found


@compiled
def _all_usable(
    starts: NDArray[np.int64], collected_ns: NDArray[np.int64], sids: NDArray[np.int64], times_ns: NDArray[np.int64]
) -> bool:
    """Whether every sample has a series and an event time within the limits."""
    for batch in range(collected_ns.size):
        for i in range(starts[batch], starts[batch + 1]):
            age_ns = collected_ns[batch] - times_ns[i]
            if sids[i] < 0 or age_ns < -_AHEAD_NS_MAX or age_ns > _BEHIND_NS_MAX:
                return False
    return True


def pack(batches: list[SampleBatch], registry: Registry, counts: SampleCounts) -> Tick:
    """The batches of a tick as one; unusable samples are counted and dropped."""
    sids = [registry.rows(batch.table).take(batch.series) for batch in batches]
    tick = Tick(
        targets=np.array([registry.target(batch.table) for batch in batches], np.int64),
        collected_ns=np.array([batch.collection.collected_ns for batch in batches], np.int64),
        starts=np.cumsum([0, *(part.size for part in sids)]),
        sids=np.concatenate([_NO_SIDS, *sids]),
        times_ns=np.concatenate([_NO_SIDS, *(batch.times_ns for batch in batches)]),
        values=np.concatenate([np.zeros(0), *(batch.values for batch in batches)]),
    )
    return _usable(tick, counts).sorted()


def _usable(tick: Tick, counts: SampleCounts) -> Tick:
    if _all_usable(tick.starts, tick.collected_ns, tick.sids, tick.times_ns):
        return tick
    age_ns = np.repeat(tick.collected_ns, np.diff(tick.starts)) - tick.times_ns
    refused, ahead, behind = tick.sids < 0, age_ns < -_AHEAD_NS_MAX, age_ns > _BEHIND_NS_MAX
    bad = refused | ahead | behind
    counts.drop(DropReason.TOO_MANY_SERIES, int(refused.sum()))
    counts.drop(DropReason.CLOCK_AHEAD, int((ahead & ~refused).sum()))
    counts.drop(DropReason.CLOCK_BEHIND, int((behind & ~refused).sum()))
    return tick.only(~bad)


_NO_SIDS = np.zeros(0, np.int64)
