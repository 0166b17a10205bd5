"""SampleBatch on the wire: Arrow IPC columns in zstd, self-contained and checksummed.

Layout, little endian: ``FSB1`` | crc32 of all that follows | five lengths (head, samples, samples unpacked, table,
table unpacked) | head (JSON) | samples (zstd of an Arrow IPC stream) | table (zstd of JSON, see ``_encode_table``).
The samples' columns are ``time_ns`` and ``value``, and ``series`` unless the rows are the table's rows in order.
The digest of the table travels in the record's headers: a consumer that knows the table skips decoding it.
"""

import io
import struct
import zlib
from functools import lru_cache
from typing import Any

import cramjam
import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from telemetry.errors import BadInput
from telemetry.samples import Collection, Down, SampleBatch
from telemetry.series import SeriesTable

DIGEST_HEADER = "table"
RAW_BYTES_MAX = 64 * 1024 * 1024
_MAGIC = b"FSB1"
_PREFIX = struct.Struct("<4sI5I")


def encode_batch(batch: SampleBatch) -> tuple[bytes, dict[str, bytes]]:
    """The record's value and headers."""
    collection = batch.collection
    head = orjson.dumps(
        [collection.epoch_ns, collection.seq, collection.collected_ns, collection.duration_s, collection.down]
    )
    columns: dict[str, NDArray[Any]] = {"time_ns": batch.times_ns, "value": batch.values}
    if not _is_whole_table(batch):
        columns["series"] = batch.series
    samples, samples_raw = _compress(pl.DataFrame(columns))
    table, table_raw = _encode_table(batch.table)
    body = b"".join((head, samples, table))
    lengths = struct.pack("<5I", len(head), len(samples), samples_raw, len(table), table_raw)
    checksum = zlib.crc32(body, zlib.crc32(lengths))
    return _MAGIC + struct.pack("<I", checksum) + lengths + body, {DIGEST_HEADER: batch.table.digest}


class BatchDecoder:
    """Decodes records of many targets and remembers their tables.

    tables_max: tables kept; the least recently used one goes first. It costs a decode when it comes back.
    """

    def __init__(self, tables_max: int = 100_000) -> None:
        self._tables: dict[bytes, SeriesTable] = {}
        self._tables_max = tables_max

    def decode(self, value: bytes, headers: dict[str, bytes]) -> SampleBatch:
        """The batch, or BadInput (reason ``checksum``, ``schema`` or ``too_large``)."""
        if len(value) < _PREFIX.size or value[:4] != _MAGIC:
            raise BadInput(f"record of {len(value)} bytes: expected a sample batch that begins with FSB1", "schema")
        _, checksum, n_head, n_samples, samples_raw, n_table, table_raw = _PREFIX.unpack_from(value)
        if zlib.crc32(memoryview(value)[8:]) != checksum:
            raise BadInput(f"record of {len(value)} bytes: checksum does not match", "checksum")
        if max(samples_raw, table_raw) > RAW_BYTES_MAX:
            raise BadInput(f"record declares {max(samples_raw, table_raw)} bytes: at most {RAW_BYTES_MAX}", "too_large")
        at_samples = _PREFIX.size + n_head
        at_table = at_samples + n_samples
        try:
            epoch_ns, seq, collected_ns, duration_s, down = orjson.loads(value[_PREFIX.size : at_samples])
            collection = Collection(epoch_ns, seq, collected_ns, duration_s, Down(down) if down else None)
            frame = pl.read_ipc_stream(io.BytesIO(_decompress(value[at_samples:at_table], samples_raw)))
            table = self._table(headers.get(DIGEST_HEADER), value[at_table : at_table + n_table], table_raw)
            times_ns, values = frame["time_ns"].to_numpy(), frame["value"].to_numpy()
            rows = frame["series"].to_numpy() if "series" in frame.columns else np.arange(len(frame), dtype=np.uint32)
        except (ValueError, KeyError, pl.exceptions.PolarsError, cramjam.DecompressionError) as error:
            raise BadInput(f"record of {len(value)} bytes: {error}", "schema") from error
        return SampleBatch(table, collection, times_ns, rows, values)

    def _table(self, digest: bytes | None, block: bytes, raw: int) -> SeriesTable:
        table = self._tables.pop(digest, None) if digest else None
        if table is None:
            table = _decode_table(_decompress(block, raw))
            if len(self._tables) >= self._tables_max:
                del self._tables[next(iter(self._tables))]
        self._tables[table.digest] = table
        return table


def _is_whole_table(batch: SampleBatch) -> bool:
    n = len(batch)
    return n == len(batch.table) and bool((batch.series == np.arange(n, dtype=np.uint32)).all())


@lru_cache(maxsize=100_000)
def _encode_table(table: SeriesTable) -> tuple[bytes, int]:
    """Metrics and label sets once each, and two codes a row: a third of the size of compressed key strings."""
    metrics: dict[str, int] = {}
    labels: dict[str, int] = {}
    metric_codes, label_codes = [], []
    for key in table.keys:
        metric, _, rest = key.partition("{")
        metric_codes.append(metrics.setdefault(metric, len(metrics)))
        label_codes.append(labels.setdefault(rest, len(labels)))
    raw = orjson.dumps([table.target, table.device, list(metrics), list(labels), metric_codes, label_codes])
    return bytes(cramjam.zstd.compress(raw, level=3)), len(raw)


def _decode_table(raw: bytearray) -> SeriesTable:
    target, device, metrics, labels, metric_codes, label_codes = orjson.loads(raw)
    keys = tuple(f"{metrics[m]}{{{labels[n]}" for m, n in zip(metric_codes, label_codes, strict=True))
    return SeriesTable(target, device, keys)


def _compress(frame: pl.DataFrame) -> tuple[bytes, int]:
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer, compression="uncompressed")
    return bytes(cramjam.zstd.compress(buffer.getbuffer(), level=1)), buffer.tell()


def _decompress(block: bytes, raw: int) -> bytearray:
    """Exactly ``raw`` bytes: the room is bounded before anything is unpacked."""
    room = bytearray(raw)
    if cramjam.zstd.decompress_into(block, room) != raw:
        raise BadInput(f"block of {len(block)} bytes: expected {raw} bytes inside", "schema")
    return room
