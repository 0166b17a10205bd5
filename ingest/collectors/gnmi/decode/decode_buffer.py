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
    """The content of the messages read so far in one call, values as the source sent them."""

    chunks: list[Chunk] = field(default_factory=list)
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

    def add_chunk(self, chunk: Chunk) -> None:
        """Samples that are columns already; those added before stay before them."""
        self._end_rows()
        self.chunks.append(chunk)

    def decoded(self, rows: SeriesRows, now_ns: int) -> Decoded:
        """The valid samples in the metrics' units, and the drops with their reasons."""
        self._end_rows()
        chunks = self.chunks
        size = sum(chunk.values.size for chunk in chunks)
        samples = Samples(np.empty(size, np.int64), np.empty(size, np.uint32), np.empty(size))
        first_ns, last_ns = accepted(now_ns)
        bad, n = np.zeros(len(_BAD), np.int64), 0
        for chunk in chunks:
            n = append_valid((*chunk,), rows.limits, first_ns, last_ns, (*samples,), n, bad)
        self.drops.update({reason: count for reason, count in zip(_BAD, bad.tolist(), strict=True) if count})
        return Decoded(
            table=rows.table,
            times_ns=samples.times[:n],
            rows=samples.rows[:n],
            values=samples.values[:n],
            drops=self.drops,
            metadata=self.metadata,
            updates=self.updates,
            syncs=self.syncs,
            malformed=self.malformed,
        )

    def _end_rows(self) -> None:
        """Makes columns of the samples that were added one by one."""
        if self.values:
            times, values = np.array(self.times, np.int64), np.array(self.values, np.float64)
            self.chunks.append(Chunk(times, np.array(self.rows, np.int32), values))
            self.times, self.rows, self.values = [], [], []
