"""Records into slices: collects them in memory, and writes a slice on ``close_slice``."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from recordings.format import SCHEMAS, RecordedBatch, write_table
from recordings.manifest import Manifest, Slice, write_manifest
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable

_BATCHES_HELD = 1000


class _OpenSlice:
    """The slice in memory: columns, and a few batches that are not part of them yet.

    Thousands of small objects a minute leave a heap in pieces that never goes back to the system: it would keep the
    size of the largest slice there ever was, and that is the one after an outage of the bus.
    """

    def __init__(self) -> None:
        self.samples = 0
        self.records: list[tuple[str, bytes]] = []
        self._batches: list[RecordedBatch] = []
        self._tables: dict[bytes, SeriesTable] = {}
        self._batch_rows: list[pl.DataFrame] = []
        self._sample_rows: list[pl.DataFrame] = []

    def add(self, recorded: RecordedBatch) -> None:
        self._batches.append(recorded)
        self.samples += len(recorded.batch)
        if len(self._batches) == _BATCHES_HELD:
            self._to_columns()

    def frames(self) -> dict[str, pl.DataFrame]:
        """All of it, by file."""
        self._to_columns()
        return {
            "batches.parquet": pl.concat(self._batch_rows),
            "samples.parquet": pl.concat(self._sample_rows),
            "tables.parquet": _table_rows(self._tables.values()),
            "facts.parquet": pl.DataFrame(self.records, schema=SCHEMAS["facts.parquet"], orient="row"),
        }

    def _to_columns(self) -> None:
        batches = [recorded.batch for recorded in self._batches]
        self._tables.update((batch.table.digest, batch.table) for batch in batches)
        self._batch_rows.append(_batch_rows(self._batches))
        self._sample_rows.append(_sample_rows(batches))
        self._batches.clear()


class RecordingWriter:
    """Writes one recording folder; continues an existing one. Its caller holds the folder."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._path = path
        self.manifest = manifest
        self._open = _OpenSlice()

    @property
    def samples_held(self) -> int:
        """Samples that are not on the disk yet."""
        return self._open.samples

    def add_batch(self, recorded: RecordedBatch) -> None:
        """Kept in memory until ``close_slice``."""
        self._open.add(recorded)

    def add_record(self, kind: str, record: bytes) -> None:
        """kind: ``topology`` or ``change``; record: its JSON as it was on the bus."""
        self._open.records.append((kind, record))

    def close_slice(self, offsets: dict[str, int], gaps: tuple[str, ...]) -> None:
        """Makes the open slice and the bus offsets after it durable, in one step."""
        closed, self._open = self._open, _OpenSlice()
        slices, frames = self.manifest.slices, closed.frames()
        if any(map(len, frames.values())):
            slices = (*slices, self._write(f"{len(slices):06d}", frames))
        self.manifest = self.manifest.model_copy(update={"slices": slices, "offsets": offsets, "gaps": gaps})
        write_manifest(self._path, self.manifest)

    def _write(self, name: str, frames: dict[str, pl.DataFrame]) -> Slice:
        folder = self._path / name
        folder.mkdir(parents=True, exist_ok=True)  # a torn slice of a crash is overwritten: no manifest names it
        first_ns, last_ns = (
            frames["batches.parquet"]
            .select(first=pl.col("collected_ns").min().fill_null(0), last=pl.col("collected_ns").max().fill_null(0))
            .row(0)
        )
        return Slice(
            name=name,
            first_ns=first_ns,
            last_ns=last_ns,
            samples=len(frames["samples.parquet"]),
            files=tuple(write_table(folder, file, frame) for file, frame in frames.items()),
        )


def _batch_rows(recorded: list[RecordedBatch]) -> pl.DataFrame:
    rows = [
        (
            r.partition,
            r.appended_ns,
            r.batch.table.digest,
            c.epoch_ns,
            c.seq,
            c.collected_ns,
            c.duration_s,
            c.down,
            len(r.batch),
        )
        for r in recorded
        for c in (r.batch.collection,)
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["batches.parquet"], orient="row")


def _sample_rows(batches: list[SampleBatch]) -> pl.DataFrame:
    empty = [(np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64))]
    columns = zip(*([(batch.times_ns, batch.series, batch.values) for batch in batches] or empty), strict=True)
    schema = SCHEMAS["samples.parquet"]
    return pl.DataFrame(
        {name: np.concatenate(parts) for name, parts in zip(schema, columns, strict=True)}, schema=schema
    )


def _table_rows(tables: Iterable[SeriesTable]) -> pl.DataFrame:
    rows = [(table.digest, table.target, table.device, list(table.keys)) for table in tables]
    return pl.DataFrame(rows, schema=SCHEMAS["tables.parquet"], orient="row")
