"""A recording as the batches, topology and changes that the analytics stage once consumed."""

import heapq
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from common.errors import BadInput
from recordings.format import RecordedBatch, read_table
from recordings.manifest import Slice, read_manifest
from telemetry.changes import Change
from telemetry.codec.records import decode_record
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import TopologyFact

Tables = dict[bytes, SeriesTable]
"""By the digest that the recording names each with."""


def read_topology_and_changes(recording: Path) -> Iterator[TopologyFact | Change]:
    """All of them, in the order of their consumption. BadInput names the file that is not what was written."""
    for part in read_manifest(recording).slices:
        for kind, record in _frames(recording, part, "facts.parquet")["facts.parquet"].iter_rows():
            yield decode_record(record, TopologyFact) if kind == "topology" else decode_record(record, Change)


def read_batches(recording: Path) -> Iterator[RecordedBatch]:
    """All batches in the order in which they reached the bus, whatever the order in which the recorder consumed them.

    A recorder that catches up consumes an hour of one partition before the first record of the next: a batch waits
    here until every partition has come as far.
    """
    slices = read_manifest(recording).slices
    waiting: dict[int, deque[RecordedBatch]] = {partition: deque() for partition in _partitions(recording, slices)}
    tables: Tables = {}
    for part in slices:
        for recorded in _read_slice(recording, part, tables):
            waiting[recorded.partition].append(recorded)
        while all(waiting.values()):
            yield min(waiting.values(), key=_head).popleft()
    yield from heapq.merge(*waiting.values(), key=_order)


def _order(recorded: RecordedBatch) -> tuple[int, int]:
    return recorded.appended_ns, recorded.partition


def _head(queue: deque[RecordedBatch]) -> tuple[int, int]:
    return _order(queue[0])


def _partitions(recording: Path, slices: tuple[Slice, ...]) -> list[int]:
    """The partitions of its batches."""
    frames = [_frames(recording, part, "batches.parquet")["batches.parquet"]["partition"] for part in slices]
    return sorted({partition for frame in frames for partition in frame.unique().to_list()})


def _read_slice(recording: Path, part: Slice, tables: Tables) -> Iterator[RecordedBatch]:
    try:
        yield from _batches(recording, part, tables)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{recording / part.name}: its tables do not fit together: {error!r}", "schema") from error


def _batches(recording: Path, part: Slice, tables: Tables) -> Iterator[RecordedBatch]:
    frames = _frames(recording, part, "batches.parquet", "samples.parquet", "tables.parquet")
    _update_tables(tables, frames["tables.parquet"])
    samples = frames["samples.parquet"]
    times, series, values = (samples[name].to_numpy() for name in ("time_ns", "series", "value"))
    at = 0
    for row in frames["batches.parquet"].iter_rows():
        partition, appended_ns, digest, epoch_ns, seq, collected_ns, duration_s, down, rows = row
        collection = Collection(epoch_ns, seq, collected_ns, duration_s, DownReason(down) if down else None)
        end = at + rows
        batch = SampleBatch(tables[digest], collection, times[at:end], series[at:end], values[at:end])
        yield RecordedBatch(partition, appended_ns, batch)
        at = end


def _update_tables(tables: Tables, frame: pl.DataFrame) -> None:
    """Those of the next slice in place of those of the one before it; most come again, and are not decoded again."""
    before = dict(tables)
    tables.clear()
    digests = frame["digest"].to_list()
    new = pl.Series([digest not in before for digest in digests], dtype=pl.Boolean)
    for digest, target, device, keys in frame.filter(new).iter_rows():
        tables[digest] = SeriesTable(target, device, tuple(keys))
    tables.update((digest, before[digest]) for digest in digests if digest in before)


def _frames(recording: Path, part: Slice, *names: str) -> dict[str, pl.DataFrame]:
    folder = recording / part.name
    if Path(part.name).name != part.name or folder.is_symlink():
        raise BadInput(f"{recording}: slice {part.name!r} is not a plain folder name", "bad_manifest")
    found = {entry.name: read_table(folder, entry) for entry in part.files if entry.name in names}
    if missing := set(names) - found.keys():
        raise BadInput(f"{folder}: the manifest names no {', '.join(sorted(missing))}", "bad_manifest")
    return found
