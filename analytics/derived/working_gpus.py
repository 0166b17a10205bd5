"""Which GPUs work in a job, and so are peers of each other; and whether the job's GPUs wait for each other."""

import numpy as np
from numpy.typing import NDArray

from analytics.derived import work_classes
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.derived import WorkClasses
from analytics.view.tick_view import TickView

_METRIC = "gpu_utilization_ratio"
_WORKING = 0.5  # utilisation below which a GPU is idle, starting or ending, and is no peer
_SAMPLES_MIN = 2  # in a row: at the start and end of a job clocks change a little before or after utilisation
_SETTLE_INTERVALS = 2.0  # after the start of a job


class WorkingGpus:
    """Memory of each utilisation series: when it was last seen, for how many samples its GPU has worked, and how
    coherent it is with the others of its job, 144 bytes in all. And what jobs of each name have shown.
    """

    def __init__(self) -> None:
        self._memory = Memory((MemoryColumn("seen_s"), MemoryColumn("samples"), *work_classes.COLUMNS))
        self._names = work_classes.Names()

    def update(self, view: TickView) -> tuple[NDArray[np.int64], WorkClasses]:
        """int64[objects]: job of each GPU that worked in its last collections, once the job has settled; else -1.

        And what was shown about the jobs.
        """
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
        settled = ~np.isin(job, new_jobs)
        work_classes.learn(view, self._memory, busy, np.where(settled, job, -1)[busy.objects])
        return np.where(works & settled, job, -1), work_classes.classified(view, self._memory, busy, self._names)

    def keep(self, sids: NDArray[np.int64]) -> None:
        self._memory.keep(sids)

    def state(self) -> State:
        return State(dict(self._names.shown), self._memory.state().arrays)

    def restore(self, state: State) -> None:
        self._memory.restore(state)
        self._names = work_classes.Names(state.head)


def from_format_1(state: State) -> State:
    """Format 1 knew nothing of work classes: they begin empty."""
    size = state.arrays["sid"].size
    shapes = {column.name: size if column.width == 1 else (size, column.width) for column in work_classes.COLUMNS}
    return State({}, {**state.arrays, **{name: np.zeros(shape) for name, shape in shapes.items()}})
