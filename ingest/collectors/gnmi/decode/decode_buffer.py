"""What the decoder collects from messages, and what it returns."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.event_time import accepted
from ingest.collectors.gnmi.decode.columns import Chunk, Samples, append_valid
from ingest.collectors.gnmi.paths.metadata import MetadataUpdate
from ingest.collectors.gnmi.paths.series_rows import SeriesRows
from ingest.ledger import DropReason
from telemetry.series import SeriesTable

_BAD = (DropReason.EVENT_TIME, DropReason.NO_VALUE, DropReason.OUT_OF_BOUNDS)  # in the order of ``append_valid``


def no_bad() -> NDArray[np.int64]:
    """Counts for a compiled pass to add to: int64[3]."""
    return np.zeros(len(_BAD), np.int64)


@dataclass(slots=True)
class Decoded:
    """The content of some messages. rows refer to ``table``; drops: samples of known series outside the columns.

    updates: of any path; syncs: sync_responses; malformed: messages that are not gNMI.
    """

    table: SeriesTable
    times_ns: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float64]
    drops: Counter[DropReason]
    metadata: list[MetadataUpdate]
    updates: int
    syncs: int
    malformed: int

    @property
    def received(self) -> int:
        """Samples of known series, dropped ones included."""
        return self.values.size + self.drops.total()


@dataclass(slots=True)
class DecodeBuffer:
    """The content of the messages read so far in one call. Of chunks, ``Samples`` are valid ones in the metrics' units;
    all other values are as the source sent them.
    """

    chunks: list[Chunk | Samples] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    drops: Counter[DropReason] = field(default_factory=Counter)
    metadata: list[MetadataUpdate] = field(default_factory=list)
    updates: int = 0
    syncs: int = 0
    malformed: int = 0

    def add(self, time_ns: int, row: int, value: float) -> None:
        self.times.append(time_ns)
        self.rows.append(row)
        self.values.append(value)

    def add_chunk(self, chunk: Chunk | Samples) -> None:
        """Samples that are columns already; those added before stay before them."""
        self._end_rows()
        self.chunks.append(chunk)

    def decoded(self, rows: SeriesRows, now_ns: int) -> Decoded:
        """The valid samples in the metrics' units, and the drops with their reasons."""
        self._end_rows()
        only = self.chunks[0] if len(self.chunks) == 1 else None
        samples = only if isinstance(only, Samples) else self._valid(rows, now_ns)
        return Decoded(
            table=rows.table,
            times_ns=samples.times,
            rows=samples.rows,
            values=samples.values,
            drops=self.drops,
            metadata=self.metadata,
            updates=self.updates,
            syncs=self.syncs,
            malformed=self.malformed,
        )

    def add_bad(self, bad: NDArray[np.int64]) -> None:
        """Counts what a compiled pass left out, in its order of the reasons."""
        self.drops.update({reason: count for reason, count in zip(_BAD, bad.tolist(), strict=True) if count})

    def _valid(self, rows: SeriesRows, now_ns: int) -> Samples:
        """Those of all chunks."""
        size = sum(chunk.values.size for chunk in self.chunks)
        samples = Samples.allocate(size)
        first_ns, last_ns = accepted(now_ns)
        bad, n = no_bad(), 0
        for chunk in self.chunks:
            if isinstance(chunk, Samples):
                end = n + chunk.values.size
                samples.times[n:end], samples.rows[n:end], samples.values[n:end] = chunk
                n = end
            else:
                n = append_valid((*chunk,), rows.limits, first_ns, last_ns, (*samples,), n, bad)
        self.add_bad(bad)
        return samples.first(n)

    def _end_rows(self) -> None:
        """Makes columns of the samples that were added one by one."""
        if self.values:
            times, values = np.array(self.times, np.int64), np.array(self.values, np.float64)
            self.chunks.append(Chunk(times, np.array(self.rows, np.int32), values))
            self.times, self.rows, self.values = [], [], []
