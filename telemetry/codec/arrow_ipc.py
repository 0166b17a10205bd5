"""Columns as an Arrow IPC stream, for the cost of copying them.

All streams of one shape (column names, types and row count) have the same bytes but for the columns themselves. polars
writes each shape once; its bytes are then a frame around columns that are copied in and out.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from telemetry.codec.arrow_stream import read_stream

Columns = Mapping[str, NDArray[Any]]
Shape = tuple[tuple[str, str], ...]
"""Names and numpy type codes of columns, such as (("value", "<f8"),)."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """The bytes of a shape around its columns, and where everything begins.

    pieces: the bytes before each column, and after the last. at: offset of each piece. starts: offset of each column.
    size: of the whole stream.
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
    """The columns of a stream. ValueError when it does not hold them."""
    frame = _frame(shape, rows)
    if len(data) != frame.size or not all(map(data.startswith, frame.pieces, frame.at)):
        return _read_any(data, shape, rows)
    return {
        name: np.frombuffer(data, code, rows, start) for (name, code), start in zip(shape, frame.starts, strict=True)
    }


def _read_any(data: bytes, shape: Shape, rows: int) -> Columns:
    """The columns of a stream that another version of polars wrote.

    Not by polars: of streams that were damaged on purpose its reader makes panics and crashes of the process.
    """
    found = read_stream(data, rows)
    columns = {name: found[name] for name, _ in shape if name in found}
    if tuple((name, column.dtype.str) for name, column in columns.items()) != shape:
        raise ValueError(f"expected {rows} rows of {shape}")
    return columns


@lru_cache(maxsize=16_384)
def _frame(shape: Shape, rows: int) -> _Frame:
    """The frame of a shape, from a stream of random columns, which are easy to find in it."""
    samples = {
        name: np.frombuffer(np.random.default_rng(seed).bytes(rows * np.dtype(code).itemsize), dtype=code)
        for seed, (name, code) in enumerate(shape)
    }
    buffer = io.BytesIO()
    pl.DataFrame(samples).write_ipc_stream(buffer, compression="uncompressed")
    data, at = buffer.getvalue(), 0
    pieces, ends, starts = [], [0], []
    for sample in samples.values():
        start = data.index(sample.tobytes()[:64], at)  # enough to be unique, and a short search
        pieces.append(data[at:start])
        starts.append(start)
        at = start + sample.nbytes
        ends.append(at)
    return _Frame((*pieces, data[at:]), tuple(ends), tuple(starts), len(data))
