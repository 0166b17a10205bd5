"""Columns as an Arrow IPC stream, at the price of copying them.

All batches of one shape (column names, types and row count) have the same bytes but for the columns themselves. polars
writes each shape once; after that its bytes are a frame into which columns are put, and from which they are taken.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]
Shape = tuple[tuple[str, str], ...]
"""Names and numpy type codes of columns, such as (("value", "<f8"),)."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """pieces: what stands before each column, and behind the last. at: where each piece begins.

    starts: where each column begins.
    """

    pieces: tuple[bytes, ...]
    at: tuple[int, ...]
    starts: tuple[int, ...]
    size: int


def write_columns(columns: Columns) -> bytes:
    """Columns of equal length, none empty, as one Arrow IPC stream."""
    shape = tuple((name, column.dtype.str) for name, column in columns.items())
    frame = _frame(shape, next(iter(columns.values())).size)
    parts = [
        part
        for piece, column in zip(frame.pieces, columns.values(), strict=False)
        for part in (piece, column.tobytes())
    ]
    return b"".join((*parts, frame.pieces[-1]))


def read_columns(data: bytes, shape: Shape, rows: int) -> Columns:
    """The columns again. ValueError or a polars error when the stream does not hold them."""
    frame = _frame(shape, rows)
    if len(data) != frame.size or not all(map(data.startswith, frame.pieces, frame.at)):
        return _read_any(data, shape, rows)
    return {
        name: np.frombuffer(data, code, rows, start) for (name, code), start in zip(shape, frame.starts, strict=True)
    }


def _read_any(data: bytes, shape: Shape, rows: int) -> Columns:
    """What another version of polars wrote."""
    table = pl.read_ipc_stream(io.BytesIO(data))
    columns = {name: table[name].to_numpy() for name, _ in shape}
    if any(columns[name].dtype.str != code or columns[name].size != rows for name, code in shape):
        raise ValueError(f"expected {rows} rows of {shape}")
    return columns


@lru_cache(maxsize=16_384)
def _frame(shape: Shape, rows: int) -> _Frame:
    """The frame of a shape: written once with columns that are easy to find in it."""
    marks = {
        name: np.frombuffer(np.random.default_rng(place).bytes(rows * np.dtype(code).itemsize), dtype=code)
        for place, (name, code) in enumerate(shape)
    }
    buffer = io.BytesIO()
    pl.DataFrame(marks).write_ipc_stream(buffer, compression="uncompressed")
    data, at = buffer.getvalue(), 0
    pieces, ends, starts = [], [0], []
    for mark in marks.values():
        start = data.index(mark.tobytes()[:64], at)  # enough to be unique, and a short search
        pieces.append(data[at:start])
        starts.append(start)
        at = start + mark.nbytes
        ends.append(at)
    return _Frame((*pieces, data[at:]), tuple(ends), tuple(starts), len(data))
