"""A recording of two slices, and how it reads back."""

from pathlib import Path

import numpy as np

from recordings.format import RecordedBatch
from recordings.manifest import Manifest
from recordings.reader import read_batches, read_topology_and_changes
from recordings.writer import RecordingWriter
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.objects import device
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Role, TopologyFact

LEAF = TopologyFact(Device("leaf1", Role.LEAF), 1, "inventory")
CHANGE = Change("c1", ChangeKind.REBOOT, (device("leaf1"),), 5)


def batch(seq: int, keys: int = 3, down: DownReason | None = None) -> SampleBatch:
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
    return [*read_topology_and_changes(path), *(one.batch for one in read_batches(path))]


def write(path: Path) -> list[object]:
    writer = RecordingWriter(path, Manifest(cluster="pod1"))
    writer.add_record("topology", encode_record(LEAF))
    writer.add_batch(placed(batch(0)))
    writer.add_batch(placed(batch(1, down=DownReason.TIMEOUT)))
    writer.close_slice({"samples/0": 2}, ())
    writer.add_batch(placed(batch(2, keys=5)))
    writer.add_record("change", encode_record(CHANGE))
    writer.close_slice({"samples/0": 3}, ("a gap",))
    return [LEAF, CHANGE, batch(0), batch(1, down=DownReason.TIMEOUT), batch(2, keys=5)]


def same(one: object, other: object) -> bool:
    if isinstance(one, SampleBatch) and isinstance(other, SampleBatch):
        columns = zip((one.times_ns, one.series, one.values), (other.times_ns, other.series, other.values), strict=True)
        return (
            one.table == other.table
            and one.collection == other.collection
            and all(map(np.array_equal, *zip(*columns, strict=True)))
        )
    return one == other
