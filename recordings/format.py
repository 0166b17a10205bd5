"""The folder of a recording: slices of Parquet files, and a manifest that says what they must be.

``manifest.json`` lists each slice with the SHA-256, size and rows of its files; it is replaced atomically after a slice
is complete, so that what it names is whole. A slice ``000000/`` holds, in the order in which the recorder got them:

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
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from common.errors import BadInput
from telemetry.samples import SampleBatch

VERSION = 1
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
    """A batch and its place on the bus: partition, and when it was appended there (ns, the bus's wall clock)."""

    partition: int
    appended_ns: int
    batch: SampleBatch


class FileEntry(BaseModel):
    """One file as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str
    bytes: int
    rows: int


class Slice(BaseModel):
    """One slice. first_ns, last_ns: event time of its collections, 0 when it has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    first_ns: int
    last_ns: int
    samples: int
    files: tuple[FileEntry, ...]


class Manifest(BaseModel):
    """The whole recording. offsets: the next record to take from the bus, by ``topic/partition``.

    analytics: the settings of the analytics engine that watched the same telemetry: a replay uses them.
    gaps: records that retention had taken before they could be recorded, in words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = VERSION
    cluster: str = ""
    program: str = ""
    analytics: dict[str, Any] = {}
    slices: tuple[Slice, ...] = ()
    offsets: dict[str, int] = {}
    gaps: tuple[str, ...] = ()


def read_manifest(recording: Path) -> Manifest:
    """The manifest; BadInput when there is none, or it is of another version."""
    path = recording / "manifest.json"
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path}: not a recording: {error.strerror}", "no_manifest") from error
    except ValidationError as error:
        raise BadInput(f"{path}: {error.errors()[0]['msg']}", "bad_manifest") from error
    if manifest.version != VERSION:
        raise BadInput(f"{path}: version {manifest.version}, this program reads {VERSION}", "version")
    return manifest


def write_manifest(recording: Path, manifest: Manifest) -> None:
    """Atomic and durable: a reader sees the old one or the new one."""
    durable_write(recording / "manifest.json", manifest.model_dump_json(indent=1).encode())


def durable_write(path: Path, content: bytes) -> None:
    """temp, fsync, rename, fsync of the folder."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


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
        raise BadInput(f"{path}: its SHA-256 is {digest}, the manifest says {entry.sha256}", "checksum")
    frame = pl.read_parquet(path)
    if frame.schema != pl.Schema(schema) or len(frame) != entry.rows:
        raise BadInput(f"{path}: its columns or rows are not those of a recording", "schema")
    return frame
