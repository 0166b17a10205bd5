"""Records into slices: collects them in memory, and writes a slice on ``close_slice``."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from recordings.format import SCHEMAS, RecordedBatch, write_table
from recordings.manifest import Manifest, Slice, write_manifest
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable


@dataclass
class _OpenSlice:
    """The slice in memory."""

    batches: list[RecordedBatch] = field(default_factory=list)
    records: list[tuple[str, bytes]] = field(default_factory=list)
    samples: int = 0


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
        self._open.batches.append(recorded)
        self._open.samples += len(recorded.batch)

    def add_record(self, kind: str, record: bytes) -> None:
        """kind: ``topology`` or ``change``; record: its JSON as it was on the bus."""
        self._open.records.append((kind, record))

    def close_slice(self, offsets: dict[str, int], gaps: tuple[str, ...]) -> None:
        """Makes the open slice and the bus offsets after it durable, in one step."""
        closed, self._open = self._open, _OpenSlice()
        slices = self.manifest.slices
        if closed.batches or closed.records:
            slices = (*slices, self._write(f"{len(slices):06d}", closed))
        self.manifest = self.manifest.model_copy(update={"slices": slices, "offsets": offsets, "gaps": gaps})
        write_manifest(self._path, self.manifest)

    def _write(self, name: str, closed: _OpenSlice) -> Slice:
        folder = self._path / name
        folder.mkdir(parents=True, exist_ok=True)  # a torn slice of a crash is overwritten: no manifest names it
        batches = [recorded.batch for recorded in closed.batches]
        frames = {
            "batches.parquet": _batch_rows(closed.batches),
            "samples.parquet": _sample_rows(batches),
            "tables.parquet": _table_rows({batch.table: None for batch in batches}),
            "facts.parquet": pl.DataFrame(closed.records, schema=SCHEMAS["facts.parquet"], orient="row"),
        }
        times = [batch.collection.collected_ns for batch in batches]
        return Slice(
            name=name,
            first_ns=min(times, default=0),
            last_ns=max(times, default=0),
            samples=closed.samples,
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


def _table_rows(tables: dict[SeriesTable, None]) -> pl.DataFrame:
    rows = [(table.digest, table.target, table.device, list(table.keys)) for table in tables]
    return pl.DataFrame(rows, schema=SCHEMAS["tables.parquet"], orient="row")
