"""What the decoder gathers from messages, and what it hands on."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.gnmi.paths.metadata import Observation
from ingest.ledger import DropReason
from telemetry.series import SeriesTable

Chunk = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""Times, rows and values of equal length."""


@dataclass(slots=True)
class Decoded:
    """What some messages held. rows refer to ``table``; drops: samples of known series that are not in the columns.

    updates: of any path; syncs: sync_responses; malformed: messages that are not gNMI.
    """

    table: SeriesTable
    times_ns: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float64]
    drops: Counter[DropReason]
    observations: list[Observation]
    updates: int
    syncs: int
    malformed: int

    @property
    def received(self) -> int:
        """Samples of known series, dropped ones included."""
        return self.values.size + self.drops.total()


@dataclass(slots=True)
class Gathered:
    """What one call has gathered so far, values as the source sent them."""

    chunks: list[Chunk] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    drops: Counter[DropReason] = field(default_factory=Counter)
    observations: list[Observation] = field(default_factory=list)
    updates: int = 0
    syncs: int = 0
    malformed: int = 0

    def add(self, time_ns: int, row: int, value: float) -> None:
        self.times.append(time_ns)
        self.rows.append(row)
        self.values.append(value)

    @property
    def size(self) -> int:
        """Samples so far."""
        return len(self.values) + sum(values.size for _, _, values in self.chunks)

    def columns(self) -> list[Chunk]:
        """All samples: those that came as columns, then those that came one by one."""
        if not self.values:
            return self.chunks
        listed = np.array(self.times, np.int64), np.array(self.rows, np.int32), np.array(self.values, np.float64)
        return [*self.chunks, listed]
