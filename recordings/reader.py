"""A recording back into what the analytics stage once saw, in the same order."""

from collections.abc import Iterator
from pathlib import Path

from recordings.format import Slice, read_manifest, read_table
from telemetry.changes import Change
from telemetry.errors import BadInput
from telemetry.facts import decode_fact
from telemetry.samples import Collection, Down, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import TopologyFact

Entry = SampleBatch | TopologyFact | Change


def read_recording(recording: Path) -> Iterator[Entry]:
    """Every record in the order of the recording. BadInput names the file that is not what was written."""
    for part in read_manifest(recording).slices:
        yield from read_slice(recording, part)


def read_slice(recording: Path, part: Slice) -> Iterator[Entry]:
    folder = recording / part.name
    if Path(part.name).name != part.name or folder.is_symlink():
        raise BadInput(f"{recording}: slice {part.name!r} is not a plain folder name", "bad_manifest")
    frames = {entry.name: read_table(folder, entry) for entry in part.files}
    tables = {
        digest: SeriesTable(target, device, tuple(keys))
        for digest, target, device, keys in frames["tables.parquet"].iter_rows()
    }
    samples = frames["samples.parquet"]
    times, series, values = (samples[name].to_numpy() for name in ("time_ns", "series", "value"))
    placed: dict[int, Entry] = {}
    at = 0
    for place, digest, epoch_ns, seq, collected_ns, duration_s, down, rows in frames["batches.parquet"].iter_rows():
        collection = Collection(epoch_ns, seq, collected_ns, duration_s, Down(down) if down else None)
        end = at + rows
        placed[place] = SampleBatch(tables[digest], collection, times[at:end], series[at:end], values[at:end])
        at = end
    for place, kind, record in frames["facts.parquet"].iter_rows():
        placed[place] = decode_fact(record, TopologyFact) if kind == "topology" else decode_fact(record, Change)
    for place in range(len(placed)):
        yield placed[place]
