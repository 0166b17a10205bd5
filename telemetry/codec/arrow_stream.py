"""Reads columns from an Arrow IPC stream that anybody may have written: every offset is checked before it is followed.

Only what ``arrow_ipc`` writes is understood: one record batch of numbers without nulls, not compressed.
Format: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc, and
https://flatbuffers.dev/internals for the tables inside.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CONTINUATION = 0xFFFFFFFF
_SCHEMA, _RECORD_BATCH = 1, 3  # MessageHeader
_INT, _FLOAT = 2, 3  # Type
_INTS = {(bits, signed): f"<{kind}{bits // 8}" for bits in (8, 16, 32, 64) for signed, kind in enumerate("ui")}
_FLOATS = {1: "<f4", 2: "<f8"}  # Precision
_COLUMNS_MAX = 16


@dataclass(frozen=True, slots=True)
class _Table:
    """A flatbuffer table at ``at`` of its message's metadata. Numbers are read where the vtable says they are."""

    data: bytes
    at: int

    def number(self, field: int, code: str, default: int = 0) -> int:
        where = self._where(field)
        return default if where is None else _number(self.data, where, code)

    def table(self, field: int) -> "_Table":
        return _Table(self.data, self._target(field))

    def text(self, field: int) -> str:
        at = self._target(field)
        size = _number(self.data, at, "I")
        return self.data[at + 4 : at + 4 + size].decode()

    def tables(self, field: int) -> list["_Table"]:
        at, size = self._vector(field)
        places = range(at, at + 4 * size, 4)
        return [_Table(self.data, place + _number(self.data, place, "I")) for place in places]

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A vector of structs of two int64."""
        at, size = self._vector(field)
        return [struct.unpack_from("<qq", self.data, at + 16 * i) for i in range(size)]

    def has(self, field: int) -> bool:
        return self._where(field) is not None

    def _vector(self, field: int) -> tuple[int, int]:
        at = self._target(field)
        size = _number(self.data, at, "I")
        if size > 2 * _COLUMNS_MAX:
            raise ValueError(f"expected at most {_COLUMNS_MAX} columns")
        return at + 4, size

    def _target(self, field: int) -> int:
        where = self._where(field)
        if where is None:
            raise ValueError(f"expected field {field} of a table")
        return where + _number(self.data, where, "I")

    def _where(self, field: int) -> int | None:
        vtable = self.at - _number(self.data, self.at, "i")
        if 4 + 2 * field >= _number(self.data, vtable, "H"):
            return None
        offset = _number(self.data, vtable + 4 + 2 * field, "H")
        return self.at + offset if offset else None


def read_stream(data: bytes, rows: int) -> dict[str, NDArray[Any]]:
    """All columns by name, each of ``rows`` values, sharing the memory of ``data``. ValueError when it is another."""
    try:
        messages = list(_messages(data))
        if [message.number(1, "B") for message, _ in messages] != [_SCHEMA, _RECORD_BATCH]:
            raise ValueError("expected a schema and one record batch")
        (schema, _), (batch, body) = messages
        return _columns(schema.table(2), batch.table(2), body, rows)
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"Arrow stream of {len(data)} bytes: {error}") from error


def _messages(data: bytes) -> Iterator[tuple[_Table, memoryview]]:
    """The metadata and the body of each message, until the end of the stream."""
    at = 0
    while at < len(data):
        continuation, size = struct.unpack_from("<Ii", data, at)
        if continuation != _CONTINUATION or size < 0:
            raise ValueError(f"expected a message at byte {at}")
        if size == 0:
            return
        metadata = data[at + 8 : at + 8 + size]
        message = _Table(metadata, _number(metadata, 0, "I"))
        begin = at + 8 + size
        at = begin + message.number(3, "q")
        if not begin <= at <= len(data):
            raise ValueError("a message is longer than the stream")
        yield message, memoryview(data)[begin:at]


def _columns(schema: _Table, batch: _Table, body: memoryview, rows: int) -> dict[str, NDArray[Any]]:
    fields, nodes, buffers = schema.tables(1), batch.pairs(1), batch.pairs(2)
    if batch.has(3):
        raise ValueError("expected columns that are not compressed")
    if nodes != [(rows, 0)] * len(fields) or len(buffers) != 2 * len(fields):
        raise ValueError(f"expected {rows} rows without nulls")
    # the first buffer of each column says which values are null
    return {
        field.text(0): _values(body, offset, size, _type(field), rows)
        for field, (offset, size) in zip(fields, buffers[1::2], strict=True)
    }


def _values(body: memoryview, offset: int, size: int, of: np.dtype[Any], rows: int) -> NDArray[Any]:
    if not (offset >= 0 and rows * of.itemsize <= size and offset + size <= len(body)):
        raise ValueError("a column is outside of its message")
    return np.frombuffer(body, of, rows, offset)


def _type(field: _Table) -> np.dtype[Any]:
    kind, of = field.number(2, "B"), field.table(3)
    if kind == _INT and (width := (of.number(0, "i"), of.number(1, "B"))) in _INTS:
        return np.dtype(_INTS[width])
    if kind == _FLOAT and (precision := of.number(0, "h")) in _FLOATS:
        return np.dtype(_FLOATS[precision])
    raise ValueError("expected columns of numbers")


def _number(data: bytes, at: int, code: str) -> int:
    """struct.error outside of the data; a negative place would count from its end."""
    if at < 0:
        raise ValueError("an offset before the beginning")
    (value,) = struct.unpack_from(f"<{code}", data, at)
    return int(value)
