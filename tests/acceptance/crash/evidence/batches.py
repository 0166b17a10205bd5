"""The samples in a record of the samples topic: zstd, JSON and Arrow, each by its own public library."""

import io
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import polars as pl
import zstandard

from tests.acceptance.crash.evidence.records import RawRecord
from tests.acceptance.crash.samples import Sample, sample_of

_PREFIX = struct.Struct("<4sI6I")
_DICTIONARY = (Path(__file__).parents[4] / "telemetry" / "codec" / "fsb2.dict").read_bytes()
_STREAM_BYTES = 1192  # the end of the dictionary, for the columns


@dataclass(frozen=True, slots=True)
class RawBatch:
    """identity: of the collection. samples: of numbered pages; rows: all that it has."""

    identity: str
    rows: int
    samples: list[Sample]


def read_batches(records: Iterable[RawRecord]) -> list[RawBatch]:
    names = zstandard.ZstdDecompressor(dict_data=_dictionary(_DICTIONARY))
    columns = zstandard.ZstdDecompressor(dict_data=_dictionary(_DICTIONARY[-_STREAM_BYTES:]))
    return [_read(record.value or b"", names, columns) for record in records]


def _dictionary(data: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _read(value: bytes, names: zstandard.ZstdDecompressor, columns: zstandard.ZstdDecompressor) -> RawBatch:
    magic, _, rows, head_bytes, samples_bytes, _, table_bytes, _ = _PREFIX.unpack_from(value)
    assert magic == b"FSB2", f"a sample batch begins with FSB2, not {magic!r}"
    at = _PREFIX.size
    epoch_ns, seq, _, _, _, _, absent = json.loads(value[at : at + head_bytes])
    at += head_bytes
    samples, table = value[at : at + samples_bytes], value[at + samples_bytes : at + samples_bytes + table_bytes]
    keys, target, device = _table(names.decompress(table))
    found: list[Sample] = []
    if rows and device.startswith("numbered"):
        frame = pl.read_ipc_stream(io.BytesIO(columns.decompress(samples)))
        missing = set(absent or ())
        present = [row for row in range(len(keys)) if row not in missing]
        series = frame["series"].to_list() if absent is None else present
        values = frame["value"].to_list()
        found = [sample_of(device, interface_in(keys[row]), value) for row, value in zip(series, values, strict=True)]
    return RawBatch(f"{target} {epoch_ns} {seq}", rows, found)


def _table(raw: bytes) -> tuple[list[str], str, str]:
    """Keys of the series, target, device."""
    metrics, labels, sets, order, target, device = json.loads(raw)
    keys = [metric + "{" + labels[n] for metric, of in zip(metrics, sets, strict=True) for n in accumulate(of)]
    if order:
        placed = dict(zip(accumulate(order), keys, strict=True))
        keys = [placed[row] for row in range(len(keys))]
    return keys, target, device


def interface_in(key: str) -> str:
    """The interface of a series key, '' without one."""
    return next((part.split('"')[1] for part in key.split(",") if '"eth' in part), "")
