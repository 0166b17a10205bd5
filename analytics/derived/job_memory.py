"""Which jobs have given the memory of their GPUs back: their programs have ended, whatever the scheduler still says.

Who waits for a peer, a collective or a file keeps what it has allocated; the end of a process gives all of it back
(CUDA C++ Programming Guide, Context: what a context holds is released when it is destroyed). Schedulers are asked
rarely, and a job completes for minutes after its programs: until then its GPUs look as if they stood still.
A program that frees the memory itself, as servers of models do that sleep, computes nothing either.
"""

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.topology_index import TopologyIndex
from analytics.view.tick_view import TickView

METRIC = "gpu_memory_used_bytes"
_KEPT_SHARE = 0.5  # of the most that the GPU has held for the job; allocators of training programs do not shrink
_ENDED_SHARE = 0.5  # of the job's GPUs; where fewer are free, one process died and the others wait for it …
_SETTLE_CADENCES = 3.0  # … unless the rest follows: hosts are collected at different moments


class JobMemory:
    """Memory of each series of used memory: its job, the most that it held for it, and since when it is free."""

    def __init__(self) -> None:
        self._memory = Memory((MemoryColumn("job"), MemoryColumn("most_bytes"), MemoryColumn("free_since_s")))
        self._full, self._names = TopologyIndex(), np.zeros(0)
        self._ended, self._at_work = frozenset[int](), self._full

    def at_work(self, view: TickView) -> TopologyIndex:
        """The topology of this tick, without the GPUs of jobs that have ended by what these hold.

        The same object as long as neither changes: much is computed once for each.
        """
        full, used = view.topology_index, view.column(METRIC)
        if full is not self._full:
            names = [crc32(job.job_id.encode()) for job in full.jobs]
            self._full, self._names = full, np.array(names, np.float64)
            self._ended, self._at_work = frozenset(), full
        job = full.job[used.objects]
        rows, known = self._memory.rows(used.sids), used.fresh & (job >= 0)
        free_since_s = self._free_since_s(rows[known], used.values[known], self._names[job[known]], view.end_ns)
        ended = _ended(job[known], free_since_s, view.cadence_s[used.sids[known]], view.end_ns * 1e-9)
        if ended != self._ended:
            self._ended, self._at_work = ended, full.without(ended) if ended else full
        return self._at_work

    def _free_since_s(
        self, rows: NDArray[np.int64], used: NDArray[np.float64], names: NDArray[np.float64], end_ns: int
    ) -> NDArray[np.float64]:
        """float64[k]: seconds since when each GPU is free, 0 where it is not."""
        memory = self._memory
        same = memory["job"][rows] == names
        most = np.where(same, np.fmax(memory["most_bytes"][rows], used), used)
        before_s = np.where(same, memory["free_since_s"][rows], 0.0)
        since_s = np.where(used < _KEPT_SHARE * most, np.where(before_s > 0.0, before_s, end_ns * 1e-9), 0.0)
        memory["job"][rows], memory["most_bytes"][rows], memory["free_since_s"][rows] = names, most, since_s
        return since_s

    def keep(self, sids: NDArray[np.int64]) -> None:
        self._memory.keep(sids)

    def state(self) -> State:
        return self._memory.state()

    def restore(self, state: State) -> None:
        self._memory.restore(state)


def _ended(
    job: NDArray[np.int64], free_since_s: NDArray[np.float64], cadence_s: NDArray[np.float64], end_s: float
) -> frozenset[int]:
    """Positions of jobs. free_since_s, cadence_s: float64[k], by GPU; job: int64[k], its position."""
    free = free_since_s > 0.0
    if not free.any():
        return frozenset()
    settles = free & (end_s - free_since_s < _SETTLE_CADENCES * cadence_s)
    known, at_rest, settling = (np.bincount(job, weights) for weights in (None, free, settles))
    return frozenset(np.flatnonzero((at_rest > _ENDED_SHARE * known) | (settling > 0)).tolist())
