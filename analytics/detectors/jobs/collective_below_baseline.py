"""Collectives of a job that reach far less bus bandwidth than nccl-tests did on as many GPUs of this cluster.

A job's values are those of NCCL Inspector: for each GPU the mean of one kind of collective since its file was written
last. A GPU that comes early to a collective waits in it for the last one, so its bandwidth falls without any fault of
the network. Hence the fastest GPU of a communicator counts: where even that one is slow, all are.

It opens no incident, as a job computes while it communicates, and shares links with other jobs: below the baseline is
usual, and far below may be how the job was written. It shows what a known fault costs a job.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.jobs.collective_series import METRIC, ComparedSeries, compared_series
from analytics.detectors.spec import NO_VERDICTS, Detector, EvidenceColumns, Scope, Verdicts
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_READINGS = 3  # of Inspector, which writes its files every 30 s at most
_CONFIDENCE = 0.2  # it only supports: see above
_SCORE_MAX = 4.0
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Groups(NamedTuple):
    """Groups of which something is known now, n rows: the job of each, the row of its fastest GPU in the compared
    series, its score, and of its GPUs the fewest readings below in a row, when the last of them began, and the newest.
    """

    jobs: Ints
    best: Ints
    score: Floats
    run: Floats
    since_ns: Ints
    read_ns: Ints

    def only(self, rows: Ints) -> "_Groups":
        return _Groups(
            self.jobs[rows],
            self.best[rows],
            self.score[rows],
            self.run[rows],
            self.since_ns[rows],
            self.read_ns[rows],
        )


@dataclass(frozen=True, kw_only=True)
class CollectiveBelowBaseline(Detector):
    """Judges each job by the slowest of its communicators. share: of its baseline that each must reach."""

    name: str = "collective_below_baseline"
    kind: FindingKind = FindingKind.COLLECTIVE_BELOW_BASELINE
    metrics: tuple[str, ...] = (METRIC,)
    scope: Scope = Scope.CLUSTER
    memory: tuple[MemoryColumn, ...] = (
        MemoryColumn("value"),  # the newest reading
        MemoryColumn("read_ns", dtype="i8"),  # its event time
        MemoryColumn("gap_s"),  # since the reading before
        MemoryColumn("run"),  # readings in a row that were below
        MemoryColumn("since_ns", dtype="i8"),  # event time of the first of them
    )
    share: float

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        compared = view.per_topology(compared_series)
        if not compared.sids.size:
            return [NO_VERDICTS]
        column, expected = Column(view, compared.sids), _baselines(view, compared)
        known = column.fresh & ~np.isnan(expected)
        score = _score(column.values, self.share * expected)
        rows = _note_readings(memory, column, known, score >= 1.0)
        groups = _worst_of_jobs(_groups(memory, rows, compared, score, known))
        breached = groups.score >= 1.0
        best = groups.best
        evidence = EvidenceColumns(column.sids[best], column.values[best], expected[best])
        onsets_ns, cadence_s = np.where(breached, groups.since_ns, groups.read_ns), memory["gap_s"][rows[best]]
        return [
            Verdicts(
                groups.jobs, groups.read_ns, breached, groups.score, (evidence,), _CONFIDENCE, onsets_ns, cadence_s
            )
        ]


def _baselines(view: TickView, compared: ComparedSeries) -> Floats:
    """float64[k]: the slowest result that each is compared with, so that differences between nodes are no fault of the
    job; NaN where none is stated now. Results of 0 say nothing."""
    tests, slowest = Column(view, compared.tests), np.full(compared.classes, np.inf)
    used = tests.fresh & (tests.values > 0.0)
    np.minimum.at(slowest, compared.test_class[used], tests.values[used])
    return np.where(np.isinf(slowest), np.nan, slowest)[compared.reference][compared.group]


def _score(values: Floats, limits: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(limits / values, _SCORE_MAX)


def _note_readings(memory: Memory, column: Column, known: NDArray[np.bool_], below: NDArray[np.bool_]) -> Ints:
    """Counts the readings that were below, in a row; the rows of the memory. A value that is as before is no new
    reading: files are collected more often than they are written, and stay when their job has ended."""
    rows = memory.rows(column.sids)
    value, read_ns, run = memory["value"], memory["read_ns"], memory["run"]
    run[rows[~column.fresh]] = 0.0
    new = known & (column.values != value[rows])
    first = new & below & (run[rows] == 0.0)
    memory["since_ns"][rows[first]] = column.times_ns[first]
    of_new, times_ns = rows[new], column.times_ns[new]
    run[of_new] = np.where(below[new], run[of_new] + 1.0, 0.0)
    memory["gap_s"][of_new] = np.where(read_ns[of_new] > 0, (times_ns - read_ns[of_new]) * 1e-9, 0.0)
    value[of_new], read_ns[of_new] = column.values[new], times_ns
    return rows


def _groups(memory: Memory, rows: Ints, compared: ComparedSeries, score: Floats, known: NDArray[np.bool_]) -> _Groups:
    """score: float64[k], of each GPU. That of a group is that of its fastest GPU, the lowest."""
    at = np.flatnonzero(known)
    best = at[worst_of_each(compared.group[at], -score[at])]
    size = compared.job.size
    run, since_ns, read_ns = np.full(size, np.inf), np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.minimum.at(run, compared.group[at], memory["run"][rows[at]])
    np.maximum.at(since_ns, compared.group[at], memory["since_ns"][rows[at]])
    np.maximum.at(read_ns, compared.group[at], memory["read_ns"][rows[at]])
    of = compared.group[best]
    return _Groups(compared.job[of], best, score[best], run[of], since_ns[of], read_ns[of])


def _worst_of_jobs(groups: _Groups) -> _Groups:
    """One for each job: of those below for long enough the worst, else the nearest to the limit. A job has none while
    the next reading of one that is below may open a finding: what was found is not over then."""
    below = groups.score >= 1.0
    proved = below & (groups.run >= _READINGS)
    waits = np.isin(groups.jobs, groups.jobs[below & ~proved]) & ~np.isin(groups.jobs, groups.jobs[proved])
    kept = groups.only(np.flatnonzero((proved | ~below) & ~waits))
    return kept.only(worst_of_each(kept.jobs, kept.score))
