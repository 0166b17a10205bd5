"""A recording gives back what was put in, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from common.errors import BadInput
from recordings.format import RecordedBatch
from recordings.manifest import Manifest, read_manifest
from recordings.reader import read_batches, read_topology_and_changes
from recordings.writer import RecordingWriter
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.objects import device
from telemetry.samples import Collection, Down, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Role, TopologyFact

LEAF = TopologyFact(Device("leaf1", Role.LEAF), 1, "inventory")
CHANGE = Change("c1", ChangeKind.REBOOT, (device("leaf1"),), 5)


def batch(seq: int, keys: int = 3, down: Down | None = None) -> SampleBatch:
    table = SeriesTable(
        "t", "leaf1", tuple(series_key("fabric_port_up", {"device": "leaf1", "port": str(k)}) for k in range(keys))
    )
    n = 0 if down else keys
    rows = np.arange(n, dtype=np.uint32)
    return SampleBatch(
        table,
        Collection(7, seq, 1000 + seq, 0.25, down),
        np.full(n, 1000 + seq),
        rows,
        (rows * 1.5 + seq).astype(np.float64),
    )


def placed(one: SampleBatch, partition: int = 0) -> RecordedBatch:
    return RecordedBatch(partition, one.collection.collected_ns, one)


def everything(path: Path) -> list[object]:
    return [*read_topology_and_changes(path), *read_batches(path)]


def write(path: Path) -> list[object]:
    writer = RecordingWriter(path, Manifest(cluster="pod1"))
    writer.add_record("topology", encode_record(LEAF))
    writer.add_batch(placed(batch(0)))
    writer.add_batch(placed(batch(1, down=Down.TIMEOUT)))
    writer.close_slice({"samples/0": 2}, ())
    writer.add_batch(placed(batch(2, keys=5)))
    writer.add_record("change", encode_record(CHANGE))
    writer.close_slice({"samples/0": 3}, ("a gap",))
    return [LEAF, CHANGE, batch(0), batch(1, down=Down.TIMEOUT), batch(2, keys=5)]


def same(one: object, other: object) -> bool:
    if isinstance(one, SampleBatch) and isinstance(other, SampleBatch):
        columns = zip((one.times_ns, one.series, one.values), (other.times_ns, other.series, other.values), strict=True)
        return (
            one.table == other.table
            and one.collection == other.collection
            and all(map(np.array_equal, *zip(*columns, strict=True)))
        )
    return one == other


def test_gives_back_everything_in_order(tmp_path):
    expected = write(tmp_path)
    found = everything(tmp_path)
    assert len(found) == len(expected)
    assert all(same(one, other) for one, other in zip(found, expected, strict=True))
    manifest = read_manifest(tmp_path)
    assert manifest.offsets == {"samples/0": 3}
    assert manifest.gaps == ("a gap",)
    assert [part.samples for part in manifest.slices] == [3, 5]
    assert manifest.slices[0].first_ns == 1000


def test_continues_a_recording(tmp_path):
    expected = write(tmp_path)
    writer = RecordingWriter(tmp_path, read_manifest(tmp_path))
    writer.add_batch(placed(batch(9)))
    writer.close_slice({}, ())
    assert len(everything(tmp_path)) == len(expected) + 1


@pytest.mark.parametrize("name", ["batches.parquet", "samples.parquet", "tables.parquet", "facts.parquet"])
def test_refuses_a_file_with_one_flipped_bit(tmp_path, name):
    write(tmp_path)
    path = tmp_path / "000000" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadInput, match="SHA-256") as caught:
        everything(tmp_path)
    assert name in str(caught.value)


def test_a_torn_slice_is_not_part_of_the_recording(tmp_path):
    expected = write(tmp_path)
    torn = tmp_path / "000002"
    torn.mkdir()
    (torn / "samples.parquet").write_bytes(b"half")
    assert len(everything(tmp_path)) == len(expected)


def test_an_empty_slice_writes_no_folder(tmp_path):
    writer = RecordingWriter(tmp_path, Manifest())
    writer.close_slice({"samples/0": 1}, ())
    assert everything(tmp_path) == []
    assert read_manifest(tmp_path).offsets == {"samples/0": 1}


def test_a_folder_without_manifest_is_no_recording(tmp_path):
    with pytest.raises(BadInput, match=r"manifest\.json: not a recording"):
        everything(tmp_path)


def test_a_recorder_that_caught_up_gives_the_order_of_the_bus(tmp_path):
    """It got all of partition 0 before the first of partition 1, and some of both in the next slice."""
    writer = RecordingWriter(tmp_path, Manifest())
    for seq, partition in [(0, 0), (2, 0), (4, 0), (1, 1)]:
        writer.add_batch(placed(batch(seq), partition))
    writer.close_slice({}, ())
    for seq, partition in [(3, 1), (5, 1), (6, 0)]:
        writer.add_batch(placed(batch(seq), partition))
    writer.close_slice({}, ())
    assert [one.collection.seq for one in read_batches(tmp_path)] == list(range(7))
