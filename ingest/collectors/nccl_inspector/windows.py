"""Operations of the same kind summed up over windows of time, as Inspector sums them up for its textfile. Pure.

``inspector_prom.cc``: the bandwidth is the geometric mean of those above 0, the time the arithmetic mean.
A window is one of the time at which records were written: those of one dump are in one window, however a file is read.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.nccl_inspector.records import Records

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Windows(NamedTuple):
    """One row for each operation and window, sorted by both.

    operation, window: int64[n]. ended_ns: int64[n], when the last of them ended. records: int64[n], how many. exec_us:
    float64[n], sum. with_busbw: int64[n], records with a bandwidth. log_busbw: float64[n], sum of its logarithms.
    """

    operation: Ints
    window: Ints
    ended_ns: Ints
    records: Ints
    exec_us: Floats
    with_busbw: Ints
    log_busbw: Floats

    def only(self, rows: NDArray[np.bool_]) -> "Windows":
        return Windows(
            self.operation[rows],
            self.window[rows],
            self.ended_ns[rows],
            self.records[rows],
            self.exec_us[rows],
            self.with_busbw[rows],
            self.log_busbw[rows],
        )

    def means(self) -> tuple[Floats, Floats]:
        """Of each row in microseconds and GB/s, NaN for no bandwidth."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.exec_us / self.records, np.exp(self.log_busbw / self.with_busbw)


def windows_of(records: Records, width_ns: int) -> Windows:
    """Each record as a row of its own."""
    known = records.busbw > 0.0
    return Windows(
        records.operation,
        records.dumped_ns // width_ns,
        records.ended_ns,
        np.ones(records.operation.size, np.int64),
        records.exec_us,
        known.astype(np.int64),
        np.log(np.where(known, records.busbw, 1.0)),
    )


def add_up(parts: list[Windows]) -> Windows:
    """The rows of the same operation and window as one."""
    every = Windows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    order = np.lexsort((every.window, every.operation))
    operation, window = every.operation[order], every.window[order]
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (operation[1:] != operation[:-1]) | (window[1:] != window[:-1])
    first = np.flatnonzero(is_first)
    if not first.size:
        return every
    return Windows(
        operation[first],
        window[first],
        np.maximum.reduceat(every.ended_ns[order], first),
        np.add.reduceat(every.records[order], first),
        np.add.reduceat(every.exec_us[order], first),
        np.add.reduceat(every.with_busbw[order], first),
        np.add.reduceat(every.log_busbw[order], first),
    )
