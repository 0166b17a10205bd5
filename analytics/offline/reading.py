"""Tables from CSV and Parquet files and from standard input, a bounded piece at a time."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, FileIO
from itertools import chain
from pathlib import Path

import polars as pl

from analytics.offline.blocks import blocks
from analytics.offline.csv_text import dialect, frames
from common.errors import BadInput

STDIN = "-"
_PARQUET = b"PAR1"
_PARQUET_ROWS = 250_000


@dataclass(frozen=True, slots=True)
class Table:
    """One file. frames: its rows in order, each with the same columns, the first with those that decide what they mean.

    lines_before: lines of the file before the first row. share: how much of it was read, 0 to 1; None for a pipe.
    text: whether it is CSV, where a row without a cell is an empty line. windows: its text is of Windows-1252.
    """

    name: str
    frames: Iterator[pl.DataFrame]
    separator: str = ","
    lines_before: int = 0
    share: Callable[[], float] | None = None
    text: bool = False
    windows: bool = False


@contextmanager
def open_table(path: str, rows_first: int) -> Iterator[Table]:
    """rows_first: rows that the first frame has, when the file has as many: a pipe is waited for until then.

    Raises BadInput when there is no such file, and puts the file's name before what is said of it inside.
    """
    name = "standard input" if path == STDIN else path
    try:
        with _opened(path) as file:
            read = file.read(len(_PARQUET))
            yield _parquet(name, file, path) if read == _PARQUET else _csv(name, file, rows_first, read)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.reason) from error


def _opened(path: str) -> FileIO:
    try:
        return FileIO(sys.stdin.fileno(), closefd=False) if path == STDIN else FileIO(path)
    except OSError as error:
        raise BadInput(error.strerror or "cannot be read", "no_file") from error


def _csv(name: str, file: FileIO, rows_first: int, read: bytes) -> Table:
    parts = blocks(file, rows_first, read)
    first = next(parts, b"")
    parts = chain([first], parts)
    if windows := not _is_utf8(first):
        parts = (part.decode("cp1252", errors="replace").encode() for part in parts)
        first = next(parts)
        parts = chain([first], parts)
    form = dialect(first)
    size = os.fstat(file.fileno()).st_size if file.seekable() else 0
    share = (lambda: file.tell() / size) if size else None
    return Table(name, frames(parts, form), form.delimiter, form.skipped_lines, share, text=True, windows=windows)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parquet(name: str, file: FileIO, path: str) -> Table:
    """A pipe cannot be gone through from its end, where Parquet keeps its index: it is read into memory."""
    source = Path(path) if file.seekable() and path != STDIN else BytesIO(_PARQUET + file.readall())
    scanned = pl.scan_parquet(source, glob=False)
    try:
        rows = scanned.select(pl.len()).collect().item()
        columns = scanned.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"a damaged Parquet file: {str(error).splitlines()[0]}", "parquet") from error
    if not rows:
        raise BadInput(f"no rows, only the columns {', '.join(columns)}", "empty")
    read = 0

    def batches() -> Iterator[pl.DataFrame]:
        nonlocal read
        for batch in scanned.collect_batches(chunk_size=_PARQUET_ROWS, maintain_order=True):
            read += batch.height
            yield batch

    return Table(name, batches(), share=lambda: read / rows)
