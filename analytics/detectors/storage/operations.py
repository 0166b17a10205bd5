"""Operations of a target or a client: which series belong together, and when their mean time shows something."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from telemetry.selectors import Selector

BYTES = ("storage_read_bytes_total", "storage_written_bytes_total")
OPERATIONS_PER_SECOND_MIN = 1.0
PEAK_FADES_S = 3 * 86_400.0  # the most operations a second that one has done; an assumption
NEW_INTERVALS = 1.5  # older values are unchanged ones, which show nothing about the present
# Half as much again as others do, or as usual, is more than chance makes of equal shares: an assumption.
BUSY_TIMES, SCORE_BUSY = 1.5, 0.99
# Operations in progress, by Little's law from the time that they take: at one, a client waits at any moment.
WAITING_MIN = 1.0


def members(groups: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[n]: how many members of each row's group have the flag. groups: int64[n], each below n."""
    return np.asarray(np.bincount(groups[flags], minlength=groups.size)[groups])


def sums_of(groups: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n]: the sum of each row's group, NaN values left out. groups: int64[n], each below n."""
    return np.bincount(groups, np.nan_to_num(values), groups.size).astype(np.float64)[groups]


def owners(index: SeriesIndex, sids: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n], each below n: one number for the reads and writes of a target, a disk, or a client of a file system."""
    operations = [(target, labels.replace('op="write"', 'op="read"')) for target, labels in _operations_of(index, sids)]
    numbers = {operation: number for number, operation in enumerate(dict.fromkeys(operations))}
    return np.array([numbers[operation] for operation in operations], np.int64)


def counterparts(index: SeriesIndex, sums: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: row in ``others`` of the operation that each of the sums is of, -1 where there is none.

    Found by all labels, because the disks of a host are one object.
    """
    rows = {operation: row for row, operation in enumerate(_operations_of(index, others))}
    return np.array([rows.get(operation, -1) for operation in _operations_of(index, sums)], np.int64)


def bytes_per_second(view: TickView, traffic: Selector, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[n]: what operations moved; NaN where no fresh value is known. rows: of ``byte_rows``."""
    column = view.joined([view.column(metric, traffic) for metric in BYTES])
    return np.append(np.where(column.fresh, column.values, np.nan), np.nan)[rows]


def byte_rows(index: SeriesIndex, sums: NDArray[np.int64], traffic: Selector) -> NDArray[np.int64]:
    """int64[n]: row among the series of bytes, first those read, of what each of the sums is the time of; -1 without.

    traffic: selects the bytes of the same side.
    """
    series = zip(("read", "write"), (index.select(metric, traffic) for metric in BYTES), strict=True)
    moved = [(op, *each) for op, sids in series for each in _operations_of(index, sids)]
    rows = {(op, target, _without_op(labels)): row for row, (op, target, labels) in enumerate(moved)}
    return np.array([rows.get(_moves(*each), -1) for each in _operations_of(index, sums)], np.int64)


def _moves(target: int, labels: str) -> tuple[str, int, str]:
    return "read" if 'op="read"' in labels else "write", target, _without_op(labels)


def _without_op(labels: str) -> str:
    """Metrics of bytes have a name for each operation in place of this label."""
    return labels.replace('op="read",', "").replace('op="write",', "")


def _operations_of(index: SeriesIndex, sids: NDArray[np.int64]) -> list[tuple[int, str]]:
    """Target and labels of each series."""
    targets = index.columns["target"][sids].tolist()
    return [(target, index.keys[sid].partition("{")[2]) for target, sid in zip(targets, sids.tolist(), strict=True)]
