"""A recording gives back what was put in, and nothing else."""

import pytest

from common.errors import BadInput
from recordings.manifest import Manifest, read_manifest
from recordings.reader import read_batches
from recordings.writer import RecordingWriter
from tests.unit.recordings.small_recording import batch, everything, placed, same, write


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


def test_a_table_that_comes_again_in_the_next_slice_is_the_same_object(tmp_path):
    writer = RecordingWriter(tmp_path, Manifest())
    for seq, keys in enumerate((3, 3, 5, 3)):
        writer.add_batch(placed(batch(seq, keys=keys)))
        writer.close_slice({}, ())
    first, again, other, later = (one.batch.table for one in read_batches(tmp_path))
    assert first is again
    assert [len(table) for table in (first, other, later)] == [3, 5, 3]
    assert later == first
    assert later is not first  # only the tables of one slice are kept


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


def test_a_slice_of_thousands_of_batches_comes_back_whole(tmp_path):
    """More than the writer holds as objects; the table of all of them is written once."""
    put_in = [placed(batch(seq)) for seq in range(2500)]
    writer = RecordingWriter(tmp_path, Manifest())
    for one in put_in:
        writer.add_batch(one)
    assert writer.samples_held == sum(len(one.batch) for one in put_in)
    writer.close_slice({}, ())
    found = list(read_batches(tmp_path))
    assert len(found) == len(put_in)
    assert all(same(one.batch, other.batch) for one, other in zip(found, put_in, strict=True))
    rows = {file.name: file.rows for file in read_manifest(tmp_path).slices[0].files}
    assert rows["batches.parquet"] == 2500
    assert rows["tables.parquet"] == 1


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
    assert [one.batch.collection.seq for one in read_batches(tmp_path)] == list(range(7))
