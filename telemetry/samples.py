"""SampleBatch: the samples of one target and one collection, as columns."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from telemetry.series import SeriesTable


class DownReason(StrEnum):
    """Why a collection has no samples: the closed set behind ``up`` = 0."""

    REFUSED = "refused"
    DNS = "dns"
    TIMEOUT = "timeout"
    RESET = "reset"
    TLS = "tls"
    AUTH = "auth"
    HTTP_STATUS = "http_status"
    REDIRECT = "redirect"
    NOT_EXPOSITION = "not_exposition"
    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    TOO_MANY_SERIES = "too_many_series"
    BAD_ENCODING = "bad_encoding"
    BAD_FORMAT = "bad_format"
    NO_SAMPLES = "no_samples"  # it answered with no metric of the catalogue
    SILENT = "silent"
    CLOSED = "closed"
    INTERNAL = "internal"  # a fault of ours: the log has the traceback


@dataclass(frozen=True, slots=True)
class Collection:
    """Identity, time and outcome of one collection.

    epoch_ns:     when the collector of this target started; with ``seq`` it identifies the collection for ever.
    seq:          0, 1, 2, … within the epoch; a gap is a loss, a repetition a duplicate delivery.
    collected_ns: event time of the collection (its start), nanoseconds since the Unix epoch.
    duration_s:   how long it took.
    down:         None when the target answered, else the reason.
    unmapped:     series that it also has and that nothing maps to the catalogue.
    left_out:     further ones that the catalogue leaves out on purpose.
    """

    epoch_ns: int
    seq: int
    collected_ns: int
    duration_s: float
    down: DownReason | None = None
    unmapped: int = 0
    left_out: int = 0

    @property
    def up(self) -> bool:
        return self.down is None


@lru_cache(maxsize=1024)
def all_rows(size: int) -> NDArray[np.uint32]:
    """0, 1, …, size - 1: the rows of a batch in which no series is absent, as a read-only array.

    Most batches share it, so an identity test (``is``) replaces a comparison of its numbers.
    """
    rows = np.arange(size, dtype=np.uint32)
    rows.setflags(write=False)
    return rows


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """The samples of one target and one collection, as columns of equal length n (0 only when the target is down).

    times_ns: int64[n], event time in nanoseconds since the Unix epoch.
    series:   uint32[n], row in ``table``.
    values:   float64[n], finite or infinite, in the unit that ends the metric's name (``_bytes``, ``_celsius``);
              a missing value is an absent row, never 0 or NaN.
    Raises BadInput when one of these conditions does not hold, so that no later stage checks again.
    """

    table: SeriesTable
    collection: Collection
    times_ns: NDArray[np.int64]
    series: NDArray[np.uint32]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        n = self.values.size
        if self.times_ns.size != n or self.series.size != n:
            raise BadInput(f"{self.table.target}: columns of {self.times_ns.size}, {self.series.size} and {n} rows")
        if n == 0 and self.collection.up:
            raise BadInput(f"{self.table.target}: a target that is up reported no sample")
        if n == 0:
            return
        last = n - 1 if self.series is all_rows(n) else int(np.maximum.reduce(self.series))
        if last >= len(self.table):
            raise BadInput(f"{self.table.target}: series row {last} of a table of {len(self.table)}")
        if np.isnan(np.maximum.reduce(self.values)):  # the maximum of a NaN is NaN
            raise BadInput(f"{self.table.target}: NaN is not a sample")

    def __len__(self) -> int:
        return self.values.size
