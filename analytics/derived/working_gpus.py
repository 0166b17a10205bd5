"""Which GPUs work in a job, and so are peers of each other; and whether the job's GPUs wait for each other."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analytics.derived import work_classes
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.derived import WorkClasses
from analytics.view.tick_view import Column, TickView

_METRIC = "gpu_utilization_ratio"
_WORKING = 0.5  # utilisation below which a GPU is idle, starting or ending, and is no peer
_SAMPLES_MIN = 2  # in a row: at the start and end of a job clocks change a little before or after utilisation
_SETTLE_INTERVALS = 2.0  # after the start of a job
# Of the most utilisation that it has had in its job: in an interval with less there was a pause. Hosts are read at
# different moments of one, so it is in the means of some and not of others, and some have the clock of an idle GPU when
# they are read. Work without pauses varies by some per cent (a tenth, and that the most fades within ten minutes, as
# work classes do, are assumptions).
_WHOLE_SHARE = 0.9
_PEAK_FADES_S = 600.0
_COLUMNS = (MemoryColumn("seen_s"), MemoryColumn("samples"), MemoryColumn("peak"), *work_classes.COLUMNS)


class WorkingGpus:
    """Memory of each utilisation series: when it was last seen, for how many samples its GPU has worked, how much at
    most, and how coherent it is with the others of its job, 168 bytes in all. And what jobs of each name have shown.
    """

    def __init__(self) -> None:
        self._memory = Memory(_COLUMNS)
        self._names = work_classes.Names()

    def update(self, view: TickView) -> tuple[NDArray[np.int64], WorkClasses]:
        """int64[objects]: job of each GPU that worked in its last collections, once the job has settled; else -1.

        And what was shown about the jobs and about pauses.
        """
        busy = view.column(_METRIC)
        rows = self._memory.rows(busy.sids)
        seen_s, samples = self._memory["seen_s"], self._memory["samples"]
        at_s = busy.times_ns * 1e-9
        new = busy.fresh & (at_s > seen_s[rows])
        worked = np.where(busy.values >= _WORKING, samples[rows] + 1.0, 0.0)
        job = view.topology_index.job
        peak = self._peaks(view, busy, at_s - seen_s[rows])
        self._memory["peak"][rows[new]] = peak[new]
        seen_s[rows[new]], samples[rows[new]] = at_s[new], worked[new]
        works = np.zeros(job.size, bool)
        works[busy.objects] = samples[rows] >= _SAMPLES_MIN
        paused = np.zeros(job.size, bool)
        paused[busy.objects] = busy.values < _WHOLE_SHARE * peak
        settled_ns = view.end_ns - round(_SETTLE_INTERVALS * view.config.interval_ns)
        new_jobs = [n for n, each in enumerate(view.topology_index.jobs) if each.started_ns > settled_ns]
        settled = ~np.isin(job, new_jobs)
        work_classes.learn(view, self._memory, busy, np.where(settled, job, -1)[busy.objects])
        classes = work_classes.classified(view, self._memory, busy, self._names)
        return np.where(works & settled, job, -1), replace(classes, paused=paused)

    def _peaks(self, view: TickView, busy: Column, passed_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The most utilisation of each GPU in the job that it is in, after ``passed_s`` since its last value."""
        rows, tags = self._memory.rows(busy.sids), work_classes.job_tags(view, view.topology_index.job[busy.objects])
        before = np.where(self._memory["tag"][rows] == tags, self._memory["peak"][rows], 0.0)
        return np.asarray(np.maximum(busy.values, before * np.exp(-np.maximum(passed_s, 0.0) / _PEAK_FADES_S)))

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


def from_format_2(state: State) -> State:
    """Format 2 knew no peaks of utilisation: they begin with the next value."""
    return State(state.head, {**state.arrays, "peak": np.zeros(state.arrays["sid"].size)})


def from_format_3(state: State) -> State:
    """Format 3 held no round back: the next one is the first."""
    size = state.arrays["sid"].size
    return State(state.head, {**state.arrays, "held": np.zeros(size), "steady": np.zeros(size)})
