"""Arrow streams of other writers: columns of numbers, all of the length that was asked for, or ValueError."""

import contextlib
import io

import polars as pl

from telemetry.codec.arrow_stream import read_stream

_ROWS = 3


def _stream(columns: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_ipc_stream(buffer, compression="uncompressed")
    return buffer.getvalue()


SEEDS = (
    _stream({"value": [1.0, 2.0, 3.0], "series": pl.Series([1, 2, 3], dtype=pl.UInt32)}),
    _stream({"value": [1.0, None, 3.0]}),
    _stream({"name": ["a", "b", "c"]}),
)


def target(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        for column in read_stream(data, _ROWS).values():
            assert column.size == _ROWS
            column.tobytes()
