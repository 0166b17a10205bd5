"""Which GPUs work in a job, and so are peers of each other."""

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView

_METRIC = "gpu_utilization_ratio"
_WORKING = 0.5  # utilisation below which a GPU is idle, starting or ending, and is no peer
_SAMPLES_MIN = 2  # in a row: at the start and end of a job clocks change a little before or after utilisation
_SETTLE_INTERVALS = 2.0  # after the start of a job


class WorkingGpus:
    """Memory of each utilisation series: when it was last seen, and for how many samples its GPU has worked."""

    def __init__(self) -> None:
        self._memory = Memory((MemoryColumn("seen_s"), MemoryColumn("samples")))

    def update(self, view: TickView) -> NDArray[np.int64]:
        """int64[objects]: job of each GPU that worked in its last collections, once the job has settled; else -1."""
        busy = view.column(_METRIC)
        rows = self._memory.rows(busy.sids)
        seen_s, samples = self._memory["seen_s"], self._memory["samples"]
        at_s = busy.times_ns * 1e-9
        new = busy.fresh & (at_s > seen_s[rows])
        worked = np.where(busy.values >= _WORKING, samples[rows] + 1.0, 0.0)
        seen_s[rows[new]], samples[rows[new]] = at_s[new], worked[new]
        job = view.topology_index.job
        works = np.zeros(job.size, bool)
        works[busy.objects] = samples[rows] >= _SAMPLES_MIN
        settled_ns = view.end_ns - round(_SETTLE_INTERVALS * view.config.interval_ns)
        new_jobs = [n for n, each in enumerate(view.topology_index.jobs) if each.started_ns > settled_ns]
        return np.where(works & ~np.isin(job, new_jobs), job, -1)

    def keep(self, sids: NDArray[np.int64]) -> None:
        self._memory.keep(sids)

    def state(self) -> State:
        return self._memory.state()

    def restore(self, state: State) -> None:
        self._memory.restore(state)
