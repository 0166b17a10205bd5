"""Records of samples with a checksum that fits: what can be read is the same after another round."""

import struct
import zlib

import numpy as np
import zstandard

from common.errors import BadInput
from telemetry.codec import dictionaries
from telemetry.codec.arrow_ipc import write_columns
from telemetry.codec.batch import BatchDecoder, encode_batch
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

_NONE = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0)
_TABLE = SeriesTable("t/1", "leaf1", ('a{x="1"}', 'a{x="2"}', 'b{x="1"}'))
_FULL = SampleBatch(_TABLE, Collection(1, 2, 3, 0.5), np.array([3, 4, 5]), np.arange(3, dtype=np.uint32), np.ones(3))
_DOWN = SampleBatch(_TABLE, Collection(1, 2, 3, 0.5, DownReason.TIMEOUT), *_NONE)
_HEAD = b"[1,2,3,0.5,null,true,null]"
_NAMES = b'[["a","b"],["x=\\"1\\"}","x=\\"2\\"}"],[[0,1],[0]],[0,1,1],"t/1","leaf1"]'
_COLUMNS = write_columns({"value": np.ones(3), "time_ns": np.array([3, 4, 5]), "series": np.arange(3, dtype=np.uint32)})
SEEDS = (
    b"r" + encode_batch(_FULL)[0],
    b"r" + encode_batch(_DOWN)[0],
    b"h" + _HEAD,
    b"h[1,2,3,0.5,null,false,[]]",
    b"h[1,2,3,0.5,null,false,[1]]",
    b"t" + _NAMES,
    b"c" + _COLUMNS,
)


def target(data: bytes) -> None:
    """The first byte says what of a record the others are: all of it, its head, its table or its columns."""
    kind, part = data[:1], data[1:]
    if kind == b"r":
        value = part[:4] + struct.pack("<I", zlib.crc32(part[8:])) + part[8:]
    else:
        head, names, columns = _HEAD, _NAMES, _COLUMNS
        match kind:
            case b"h":
                head = part
            case b"t":
                names = part
            case _:
                columns = part
        value = _record(head, columns, names)
    try:
        batch = BatchDecoder().decode(value, {})
    except BadInput:
        return
    assert _fields(BatchDecoder().decode(*encode_batch(batch))) == _fields(batch)


def _record(head: bytes, columns: bytes, names: bytes) -> bytes:
    samples = zstandard.ZstdCompressor(level=1, dict_data=dictionaries.of_samples()).compress(columns)
    table = zstandard.ZstdCompressor(level=1, dict_data=dictionaries.of_tables()).compress(names)
    lengths = struct.pack("<6I", 3, len(head), len(samples), len(columns), len(table), len(names))
    body = lengths + head + samples + table
    return dictionaries.FORMAT + struct.pack("<I", zlib.crc32(body)) + body


def _fields(batch: SampleBatch) -> tuple[object, ...]:
    columns = (batch.times_ns, batch.series, batch.values)
    return batch.collection, batch.table.digest, *(column.tobytes() for column in columns)
