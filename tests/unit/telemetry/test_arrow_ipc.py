"""Columns as Arrow IPC streams: polars reads what we write, and we read what polars writes."""

import contextlib
import io
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from telemetry.codec.arrow_ipc import Columns, Shape, read_columns, write_columns
from telemetry.codec.arrow_stream import read_stream

SHAPE: Shape = (("value", "<f8"), ("time_ns", "<i8"), ("series", "<u4"))


def columns(rows: int, shape: Shape = SHAPE) -> Columns:
    dice = np.random.default_rng(rows)
    return {name: np.frombuffer(dice.bytes(rows * np.dtype(code).itemsize), code) for name, code in shape}


def same(one: Columns, other: Columns) -> bool:
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes() and one[name].dtype == other[name].dtype for name in one
    )


def written_by_polars(given: Columns) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(dict(given)).write_ipc_stream(buffer, compression="uncompressed")
    return buffer.getvalue()


def polars_stream(of: dict[str, list[Any]], compression: Literal["uncompressed", "zstd"] = "uncompressed") -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(of).write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 63, 64, 65, 1000])
@pytest.mark.parametrize("shape", [SHAPE, SHAPE[:1], SHAPE[:2], (SHAPE[0], SHAPE[2])])
def test_what_is_written_is_what_polars_writes_and_comes_back(rows: int, shape: Shape) -> None:
    given = columns(rows, shape)
    data = write_columns(given)
    assert data == written_by_polars(given)
    assert same(read_columns(data, shape, rows), given)


def test_polars_reads_the_columns_by_name() -> None:
    table = pl.read_ipc_stream(
        io.BytesIO(write_columns({"value": np.array([1.5, -2.0]), "series": np.array([3, 4], np.uint32)}))
    )
    assert table.to_dict(as_series=False) == {"value": [1.5, -2.0], "series": [3, 4]}


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_a_stream_of_another_writer_is_read_too(rows: int) -> None:
    """Columns in another order, and one more: its bytes are not the frame's, as those of another version of polars."""
    given = columns(rows, (SHAPE[2], ("further", "<f4"), SHAPE[0], SHAPE[1]))
    assert same(read_columns(written_by_polars(given), SHAPE, rows), {name: given[name] for name, _ in SHAPE})


@pytest.mark.parametrize("value", [0, 1, 7, 0x5C, 0x80, 0xFF])
def test_any_byte_that_was_changed_is_read_or_refused(value: int) -> None:
    """Byte by byte: a width of no bits is not drawn often."""
    stream = written_by_polars(columns(10, SHAPE))
    for place in range(len(stream)):
        with contextlib.suppress(ValueError):
            changed = stream[:place] + bytes([value]) + stream[place + 1 :]
            assert {column.size for column in read_stream(changed, 10).values()} <= {10}


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (polars_stream({"a": [1, None]}), "2 rows without nulls"),
        (polars_stream({"a": ["x", "y"]}), "without nulls|numbers"),
        (polars_stream({"a": [1, 2]}, "zstd"), "not compressed"),
        (polars_stream({f"c{i}": [1, 2] for i in range(40)}), "at most 16 columns"),
        (polars_stream({"a": [1, 2]})[:100], "longer than the stream|bytes"),
        (b"", "a schema and one record batch"),
    ],
)
def test_what_is_not_understood_is_named(stream: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_stream(stream, 2)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(written_by_polars(columns(9)), id="rows"),
        pytest.param(written_by_polars(columns(10, SHAPE[:2])), id="a column less"),
        pytest.param(written_by_polars(columns(10, (("value", "<f4"), *SHAPE[1:]))), id="another type"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff" * 200, id="noise"),
        pytest.param(write_columns(columns(10))[:-1], id="cut off"),
    ],
)
def test_a_stream_without_the_expected_columns_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # what is wrong is named by the test above
        read_columns(data, SHAPE, 10)


def test_read_columns_share_the_stream_s_memory_and_are_read_only() -> None:
    data = write_columns(columns(100))
    assert not read_columns(data, SHAPE, 100)["value"].flags.writeable
