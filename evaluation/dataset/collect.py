"""The RoCE counters of one cluster, gathered from the columns of its batches."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, parse_series_key

PREFIXES = ("fabric_", "nic_", "ib_")
PLACES = ("device", "port")  # labels with a column of their own


@dataclass(slots=True)
class RoceColumns:
    """Samples of switches' and NICs' series, in order of arrival. Series are numbered as they appear."""

    _numbers: dict[str, int] = field(default_factory=dict)
    _tables: dict[bytes, NDArray[np.int64]] = field(default_factory=dict)
    _parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = field(default_factory=list)

    def add(self, batches: list[SampleBatch]) -> None:
        for batch in batches:
            numbers = self._numbers_of(batch.table)[batch.series]
            kept = numbers >= 0
            if kept.any():
                self._parts.append((batch.times_ns[kept], numbers[kept], batch.values[kept]))

    def _numbers_of(self, table: SeriesTable) -> NDArray[np.int64]:
        """The number of each series of a table, -1 for those of GPUs, hosts and storage."""
        known = self._tables.get(table.digest)
        if known is None:
            roce = (key.startswith(PREFIXES) for key in table.keys)
            numbers = (
                self._numbers.setdefault(key, len(self._numbers)) if is_roce else -1
                for key, is_roce in zip(table.keys, roce, strict=True)
            )
            known = self._tables[table.digest] = np.fromiter(numbers, np.int64, len(table))
        return known

    def samples(self) -> pl.DataFrame:
        """time_ns: Int64, series: UInt32, value: Float64; by series and time."""
        times, numbers, values = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((times, numbers))
        columns = {"time_ns": times[order], "series": numbers[order].astype(np.uint32), "value": values[order]}
        return pl.DataFrame(columns)

    def series(self) -> pl.DataFrame:
        """series: UInt32, metric, device, port, and labels: all others as ``name=value``, sorted."""
        rows = []
        for key, number in self._numbers.items():
            metric, labels = parse_series_key(key)
            others = ",".join(f"{name}={labels[name]}" for name in sorted(labels) if name not in PLACES)
            rows.append((number, metric, *(labels.get(name, "") for name in PLACES), others))
        return pl.DataFrame(rows, schema=["series", "metric", *PLACES, "labels"], orient="row").with_columns(
            pl.col("series").cast(pl.UInt32)
        )
