"""SampleBatch on the wire: Arrow IPC columns in zstd, self-contained and checksummed.

Layout, little endian: ``FSB2`` | crc32 of all that follows | lengths (rows, head, samples, samples unpacked, table,
table unpacked) | head (JSON) | samples (zstd of an Arrow IPC stream) | table (zstd of JSON, see ``_encode_table``).
The samples' columns are ``value``, ``time_ns`` unless all times are the collection's, and ``series`` unless the rows
are those of the table in order, except a few that the head lists as absent.
Both blocks are compressed with the dictionary of the format (``dictionaries``). ``FSB1``, whose dictionary is its
end, is read.
The digest of the table travels in the record's headers: a consumer that knows the table skips decoding it. So does the
collection's counts of unmapped series and of those left out, unless they are 0.
"""

import math
import struct
import threading
import zlib
from dataclasses import replace
from itertools import accumulate
from weakref import WeakKeyDictionary

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from common.errors import BadInput
from telemetry.codec import dictionaries
from telemetry.codec.arrow_ipc import Shape, read_columns, write_columns
from telemetry.samples import Collection, DownReason, SampleBatch, all_rows
from telemetry.series import SeriesTable, is_series_key

DIGEST_HEADER = "table"
UNMAPPED_HEADER, LEFT_OUT_HEADER = "unmapped", "left_out"
RAW_BYTES_MAX = 64 * 1024 * 1024
SERIES_MAX = 1_000_000  # of one table: twenty times what a collector takes from one target by default
_INT64_MAX = 2**63 - 1
_PREFIX = struct.Struct("<4sI6I")
_TIME, _SERIES, _VALUE = ("time_ns", "<i8"), ("series", "<u4"), ("value", "<f8")
_TABLES_OF_TARGET = 4  # the current one, and those of batches that come late
_COUNT_BYTES = 10
_KEY_BYTES, _TABLE_BYTES = 57, 500  # of a str and its place in a tuple; of a table without keys
# A table is compressed once and sent thousands of times; above this size the level of small ones needs seconds.
_SMALL_BYTES_MAX, _LARGE_LEVEL = 64 * 1024, 5


def encode_batch(batch: SampleBatch) -> tuple[bytes, dict[str, bytes]]:
    """The record's value and headers."""
    collection, rows = batch.collection, len(batch)
    columns: dict[str, NDArray[np.generic]] = {"value": batch.values}
    absent = _absent_rows(batch)
    if rows and not bool((batch.times_ns == collection.collected_ns).all()):
        columns["time_ns"] = batch.times_ns
    if absent is None:
        columns["series"] = batch.series
    head = orjson.dumps(
        [
            collection.epoch_ns,
            collection.seq,
            collection.collected_ns,
            collection.duration_s,
            collection.down,
            "time_ns" in columns,
            absent,
        ]
    )
    raw = write_columns(columns) if rows else b""
    samples = _compressor().compress(raw) if rows else b""
    table, table_raw = _table_block(batch.table)
    lengths = struct.pack("<6I", rows, len(head), len(samples), len(raw), len(table), table_raw)
    body = b"".join((lengths, head, samples, table))
    headers = {DIGEST_HEADER: batch.table.digest}
    if collection.unmapped:
        headers[UNMAPPED_HEADER] = b"%d" % collection.unmapped
    if collection.left_out:
        headers[LEFT_OUT_HEADER] = b"%d" % collection.left_out
    return b"".join((dictionaries.FORMAT, struct.pack("<I", zlib.crc32(body)), body)), headers


class BatchDecoder:
    """Decodes records of many targets and remembers their tables.

    tables_bytes_max: what the names of the tables that it keeps may take, by default those of two million series of
    100 characters. The least recently used table is dropped first, and decoded again when it comes back. Of one target
    a few are kept: one that renames its series at each collection would otherwise fill all that room with tables that
    never come back.
    """

    def __init__(self, tables_bytes_max: int = 320 * 1024 * 1024) -> None:
        self._tables: dict[bytes, SeriesTable] = {}
        self._of_target: dict[str, dict[bytes, None]] = {}
        self._tables_bytes_max, self._tables_bytes = tables_bytes_max, 0
        self._samples = zstandard.ZstdDecompressor(dict_data=dictionaries.of_samples())
        self._names = zstandard.ZstdDecompressor(dict_data=dictionaries.of_tables())

    def decode(self, value: bytes, headers: dict[str, bytes]) -> SampleBatch:
        """The batch, or BadInput (reason ``checksum``, ``schema`` or ``too_large``)."""
        if len(value) < _PREFIX.size or value[:4] not in dictionaries.FORMATS:
            raise BadInput(f"record of {len(value)} bytes: expected a sample batch, FSB1 or FSB2", "schema")
        _, checksum, rows, n_head, n_samples, samples_raw, n_table, table_raw = _PREFIX.unpack_from(value)
        if zlib.crc32(memoryview(value)[8:]) != checksum:
            raise BadInput(f"record of {len(value)} bytes: checksum does not match", "checksum")
        if max(samples_raw, table_raw, 8 * rows) > RAW_BYTES_MAX:
            raise BadInput(f"record declares {max(samples_raw, table_raw)} bytes: at most {RAW_BYTES_MAX}", "too_large")
        at_samples = _PREFIX.size + n_head
        at_table = at_samples + n_samples
        try:
            collection, timed, absent = _decode_head(value[_PREFIX.size : at_samples])
            if UNMAPPED_HEADER in headers or LEFT_OUT_HEADER in headers:
                unmapped, left_out = _count(headers, UNMAPPED_HEADER), _count(headers, LEFT_OUT_HEADER)
                collection = replace(collection, unmapped=unmapped, left_out=left_out)
            table = self._table(headers.get(DIGEST_HEADER), value[at_table : at_table + n_table], table_raw)
            raw = _decompress(self._samples, value[at_samples:at_table], samples_raw) if rows else b""
            return _batch(table, collection, raw, rows, timed, absent)
        except (
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            zstandard.ZstdError,
        ) as error:
            raise BadInput(f"record of {len(value)} bytes: {error}", "schema") from error

    def _table(self, digest: bytes | None, block: bytes, raw: int) -> SeriesTable:
        table = self._tables.pop(digest, None) if digest else None
        if table is None:
            table = _decode_table(_decompress(self._names, block, raw))
            if table.digest not in self._tables:
                self._make_room(table)
        self._tables[table.digest] = table
        return table

    def _make_room(self, table: SeriesTable) -> None:
        others = self._of_target.setdefault(table.target, {})
        if len(others) == _TABLES_OF_TARGET:
            self._forget(next(iter(others)))  # the oldest
        others[table.digest] = None
        self._tables_bytes += _bytes_of(table)
        while self._tables and self._tables_bytes > self._tables_bytes_max:
            self._forget(next(iter(self._tables)))

    def _forget(self, digest: bytes) -> None:
        table = self._tables.pop(digest)
        self._tables_bytes -= _bytes_of(table)
        others = self._of_target[table.target]
        del others[digest]
        if not others:
            del self._of_target[table.target]


def _count(headers: dict[str, bytes], name: str) -> int:
    text = headers.get(name, b"0")
    if not text.isdigit() or len(text) > _COUNT_BYTES:
        raise ValueError(f"{name}: expected a count")
    return int(text)


def _bytes_of(table: SeriesTable) -> int:
    """Roughly, in memory."""
    return sum(map(len, table.keys)) + _KEY_BYTES * len(table) + _TABLE_BYTES


def _decompress(unpack: zstandard.ZstdDecompressor, block: bytes, raw: int) -> bytes:
    """Exactly ``raw`` bytes; the size that the block declares is checked before memory is allocated for it."""
    if zstandard.frame_content_size(block) != raw:
        raise BadInput(f"block of {len(block)} bytes: expected {raw} bytes inside", "schema")
    return unpack.decompress(block)


def _batch(
    table: SeriesTable, collection: Collection, raw: bytes, rows: int, timed: bool, absent: list[int] | None
) -> SampleBatch:
    shape: Shape = (_VALUE, *((_TIME,) if timed else ()), *((_SERIES,) if absent is None else ()))
    columns = read_columns(raw, shape, rows) if rows else {name: np.empty(0, code) for name, code in (_VALUE, _SERIES)}
    times_ns = columns["time_ns"] if timed else np.full(rows, collection.collected_ns, dtype=np.int64)
    series = columns["series"] if absent is None else _present_rows(len(table), absent)
    return SampleBatch(table, collection, times_ns, series, columns["value"])


def _absent_rows(batch: SampleBatch) -> list[int] | None:
    """The absent rows of the table when they are few and the others are in order; else None."""
    n, size = len(batch), len(batch.table)
    if 4 * n < 3 * size or n > size or n == 0:
        return None
    if n == size:
        return [] if batch.series is all_rows(size) or bool((batch.series == all_rows(size)).all()) else None
    if not bool((batch.series[1:] > batch.series[:-1]).all()):
        return None
    missing = np.ones(size, dtype=np.bool_)
    missing[batch.series] = False
    return np.flatnonzero(missing).tolist()


def _present_rows(size: int, absent: list[int]) -> NDArray[np.uint32]:
    return np.delete(all_rows(size), absent) if absent else all_rows(size)


_contexts = threading.local()


def _compressor() -> zstandard.ZstdCompressor:
    """This thread's compressor: creating one costs more than using it, and threads may not share one."""
    if not hasattr(_contexts, "compressor"):
        _contexts.compressor = zstandard.ZstdCompressor(level=1, dict_data=dictionaries.of_samples())
    found: zstandard.ZstdCompressor = _contexts.compressor
    return found


_encoded: WeakKeyDictionary[SeriesTable, tuple[bytes, int]] = WeakKeyDictionary()


def _table_block(table: SeriesTable) -> tuple[bytes, int]:
    """The block of a table, made once for as long as somebody has the table; and its size unpacked."""
    block = _encoded.get(table)
    if block is None:
        block = _encoded[table] = _encode_table(table)
    return block


def _encode_table(table: SeriesTable) -> tuple[bytes, int]:
    """Each metric once, with its label sets as numbers, and each label set once: a third of compressed key strings.

    Where rows alternate between metrics, the row of each key is stored too. All numbers are stored as differences from
    one to the next, which are nearly all equal: that saves a sixth of a small record.
    """
    metrics: dict[str, list[int]] = {}
    labels: dict[str, int] = {}
    order: dict[str, list[int]] = {}
    for row, key in enumerate(table.keys):
        metric, _, rest = key.partition("{")
        metrics.setdefault(metric, []).append(labels.setdefault(rest, len(labels)))
        order.setdefault(metric, []).append(row)
    rows = [row for of_metric in order.values() for row in of_metric]
    raw = orjson.dumps(
        [
            list(metrics),
            list(labels),
            [_steps(numbers) for numbers in metrics.values()],
            [] if rows == sorted(rows) else _steps(rows),
            table.target,
            table.device,
        ]
    )
    if len(raw) <= _SMALL_BYTES_MAX:
        writer = zstandard.ZstdCompressor(level=dictionaries.TABLE_LEVEL, dict_data=dictionaries.of_small_tables())
    else:
        writer = zstandard.ZstdCompressor(level=_LARGE_LEVEL, dict_data=dictionaries.of_tables())
    return writer.compress(raw), len(raw)


def _steps(numbers: list[int]) -> list[int]:
    """The first number, then the differences; ``accumulate`` is the inverse."""
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]


def _decode_head(data: bytes) -> tuple[Collection, bool, list[int] | None]:
    """The collection, whether samples have times of their own, and the absent rows; ValueError names what is wrong."""
    match orjson.loads(data):
        case [int(epoch_ns), int(seq), int(collected_ns), int() | float() as duration_s, down, bool(timed), absent]:
            pass
        case _:
            raise ValueError("expected [epoch, seq, time, duration, down, timed, absent]")
    if min(epoch_ns, seq, collected_ns) < 0 or max(epoch_ns, seq, collected_ns) > _INT64_MAX:
        raise ValueError("expected epoch, seq and time from 0 to 2^63 - 1")
    if not 0 <= duration_s < math.inf:
        raise ValueError(f"expected a duration in seconds, found {duration_s}")
    if absent is not None and not (isinstance(absent, list) and all(isinstance(row, int) for row in absent)):
        raise ValueError("expected rows that are absent")
    return (
        Collection(epoch_ns, seq, collected_ns, duration_s, None if down is None else DownReason(down)),
        timed,
        absent,
    )


def _decode_table(raw: bytes) -> SeriesTable:
    """ValueError names what is wrong; the size of the keys is known before any of them is made."""
    metrics, labels, sets, rows, target, device = orjson.loads(raw)
    if not (isinstance(target, str) and isinstance(device, str) and target and device):
        raise ValueError("expected the names of a target and a device")
    numbers = [list(accumulate(steps)) for steps in sets]
    if sum(map(len, numbers)) > SERIES_MAX:
        raise BadInput(f"a table of {sum(map(len, numbers))} series: at most {SERIES_MAX}", "too_large")
    sizes = [len(label) for label in labels]
    size = sum(len(metric) * len(of) + sum(sizes[n] for n in of) for metric, of in zip(metrics, numbers, strict=True))
    if size > RAW_BYTES_MAX:
        raise BadInput(f"names of {size} characters: at most {RAW_BYTES_MAX}", "too_large")
    keys = [f"{metric}{{{labels[n]}" for metric, of in zip(metrics, numbers, strict=True) for n in of]
    if rows:
        placed = dict(zip(accumulate(rows), keys, strict=True))
        keys = [placed[row] for row in range(len(keys))]
    if len(set(keys)) < len(keys):
        raise ValueError("a series twice in one table")
    wrong = next((key for key in keys if not is_series_key(key)), None)
    if wrong is not None:
        raise ValueError(f'series {wrong[:80]!r}: expected metric{{label="value",...}}')
    return SeriesTable(target, device, tuple(keys))
