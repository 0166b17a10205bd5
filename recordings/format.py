"""The Parquet files of a recording. Each is named in ``manifest.json`` with its SHA-256, size and rows.

A slice ``000000/`` holds, in the order in which the recorder consumed them:

- ``batches.parquet``: one row a collection: its partition on the bus and when it was appended there, digest of its
  table, the fields of its ``Collection``, and its number of rows
- ``samples.parquet``: time_ns, series, value of all batches, one after the other
- ``tables.parquet``: digest, target, device and keys of each table that the slice needs
- ``facts.parquet``: kind (``topology`` or ``change``) and the record's JSON
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from common.errors import BadInput
from recordings.manifest import FileEntry
from telemetry.samples import SampleBatch

FILE_BYTES_MAX = 1024 * 1024 * 1024
FILE_ROWS_MAX = 100_000_000

SCHEMAS: dict[str, dict[str, pl.DataType]] = {
    "batches.parquet": {
        "partition": pl.UInt32(),
        "appended_ns": pl.Int64(),
        "table": pl.Binary(),
        "epoch_ns": pl.Int64(),
        "seq": pl.Int64(),
        "collected_ns": pl.Int64(),
        "duration_s": pl.Float64(),
        "down": pl.String(),
        "rows": pl.UInt32(),
    },
    "samples.parquet": {"time_ns": pl.Int64(), "series": pl.UInt32(), "value": pl.Float64()},
    "tables.parquet": {
        "digest": pl.Binary(),
        "target": pl.String(),
        "device": pl.String(),
        "keys": pl.List(pl.String()),
    },
    "facts.parquet": {"kind": pl.String(), "record": pl.Binary()},
}


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """A batch with its partition on the bus and its append time there (ns, the bus's wall clock)."""

    partition: int
    appended_ns: int
    batch: SampleBatch


def write_table(folder: Path, name: str, frame: pl.DataFrame) -> FileEntry:
    """One Parquet file (zstd), on the disk before this returns."""
    path = folder / name
    frame.write_parquet(path, compression="zstd", compression_level=3)
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FileEntry(name=name, sha256=digest, bytes=path.stat().st_size, rows=len(frame))


def read_table(folder: Path, entry: FileEntry) -> pl.DataFrame:
    """The file's rows. BadInput when it is not byte for byte what was written: polars sees only verified files."""
    schema = SCHEMAS.get(entry.name)
    path = folder / entry.name
    if schema is None or path.is_symlink() or entry.bytes > FILE_BYTES_MAX or entry.rows > FILE_ROWS_MAX:
        raise BadInput(f"{path}: not a file that a recording may hold", "bad_manifest")
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}", "missing_file") from error
    if digest != entry.sha256:
        raise BadInput(f"{path}: its SHA-256 is {digest}, the manifest has {entry.sha256}", "checksum")
    try:
        frame = pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"{path}: not Parquet: {error}", "schema") from error
    if frame.schema != pl.Schema(schema) or len(frame) != entry.rows:
        raise BadInput(f"{path}: its columns or rows are not those of a recording", "schema")
    return frame
