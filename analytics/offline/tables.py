"""Tables from CSV and Parquet files and from standard input, a bounded piece at a time."""

import codecs
import csv
import os
import re
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO, StringIO
from itertools import chain
from pathlib import Path

import polars as pl
from isal import isal_zlib
from isal.igzip_lib import IsalError

from analytics.offline.dialect import Dialect, dialect
from analytics.offline.left_out import LeftOut
from common.errors import BadInput

STDIN = "-"
_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
_GZIP_WBITS = 16 + isal_zlib.MAX_WBITS
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK_BYTES = 4 * 1024 * 1024
_RECORD_BYTES_MAX = 64 * 1024 * 1024
_PARQUET_ROWS = 250_000
_CUT = "unexpected end of data"  # what Python says of half a character at the end
_LEFT_OUT_MAX = 0.1  # share of rows that are too wide; more of them have another form than was found
_PAUSE_S = 0.01  # of a pipe; without, each read of 64 KiB is a block, and its overhead doubles the work


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a file. before: lines of CSV, or rows of Parquet, before them. cut: their last line has no end."""

    before: int
    rows: pl.DataFrame
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One file. parts: its rows in order, each with the same columns, the first with those that decide what they mean.

    share: how much of the file was read, 0 to 1; None for a pipe.
    text: whether it is CSV, where a row without a cell is an empty line. windows: its text is of Windows-1252.
    left_out: rows that are damaged, so far.
    """

    name: str
    parts: Iterator[Part]
    separator: str = ","
    share: Callable[[], float] | None = None
    text: bool = False
    windows: bool = False
    left_out: LeftOut = field(default_factory=LeftOut)


@contextmanager
def open_table(path: str, rows_first: int) -> Iterator[Table]:
    """rows_first: rows that the first frame has, when the file has as many: a pipe is waited for until then.

    Raises BadInput when there is no such file, and puts the file's name before what is wrong inside.
    """
    name = "standard input" if path == STDIN else path
    try:
        with _opened(path) as file:
            parquet = file.peek(len(_PARQUET)).startswith(_PARQUET)
            yield _parquet(name, file, path) if parquet else _csv(name, file, rows_first)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.reason) from error


def _opened(path: str) -> BufferedReader:
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False) if path == STDIN else open(path, "rb")
    except OSError as error:
        raise BadInput(error.strerror or "cannot be read", "no_file") from error


def _parquet(name: str, file: BufferedReader, path: str) -> Table:
    """A pipe cannot be gone through from its end, where Parquet keeps its index: it is read into memory."""
    source = Path(path) if file.seekable() and path != STDIN else BytesIO(file.read())
    scanned = pl.scan_parquet(source, glob=False)
    try:
        rows = scanned.select(pl.len()).collect().item()
        columns = scanned.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"a damaged Parquet file: {str(error).splitlines()[0]}", "parquet") from error
    if not rows:
        raise BadInput(f"no rows, only the columns {', '.join(columns)}", "empty")
    read = 0

    def batches() -> Iterator[Part]:
        nonlocal read
        for batch in scanned.collect_batches(chunk_size=_PARQUET_ROWS, maintain_order=True):
            read += batch.height
            yield Part(read - batch.height, batch)

    return Table(name, batches(), share=lambda: read / rows)


def _csv(name: str, file: BufferedReader, rows_first: int) -> Table:
    parts = blocks(file, rows_first)
    first = next(parts, b"")
    if windows := not _is_utf8(first):
        first, parts = _from_windows(first), map(_from_windows, parts)
    form = dialect(first)
    size = os.fstat(file.fileno()).st_size if file.seekable() else 0
    share = (lambda: file.tell() / size) if size else None
    left_out = LeftOut()
    rows = _parts(chain([first], parts), form, left_out)
    return Table(name, rows, form.delimiter, share, text=True, windows=windows, left_out=left_out)


def _is_utf8(block: bytes) -> bool:
    """Whether it is, but for a character that is cut off at the end of a file that has others of several bytes."""
    try:
        block.decode()
    except UnicodeDecodeError as error:
        return error.reason == _CUT and not block[: error.start].isascii()
    return True


def _from_windows(block: bytes) -> bytes:
    return block.decode("cp1252", errors="replace").encode()


def blocks(file: BufferedReader, rows_first: int) -> Iterator[bytes]:
    """A file as UTF-8, in blocks of whole records, at most about ``_BLOCK_BYTES``; of a slow pipe what has come so far.

    Not polars' own batches: of a pipe the first comes after its end, and their errors name no line.
    rows_first: lines that the first block has, unless the file has fewer. Raises BadInput when a quote does not close.
    """
    rest, lines_min = b"", rows_first
    for arrived in _as_utf8(file):
        rest += arrived
        if lines_min and len(rest) < _BLOCK_BYTES and rest.count(b"\n") < lines_min:
            continue
        if end := _records_end(rest):
            lines_min = 0
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > _RECORD_BYTES_MAX:
            raise BadInput("a quote opens and does not close: expected CSV", "open_quote")
    if rest:
        yield rest


def _as_utf8(file: BufferedReader) -> Iterator[bytes]:
    """gzip and UTF-16 are known by their first bytes."""
    pieces = _arrivals(file)
    if file.peek(len(_GZIP)).startswith(_GZIP):
        pieces = filter(None, _gunzipped(pieces))
    first = next(pieces, b"")
    pieces = chain([first], pieces)
    if first.startswith(_UTF16):
        pieces = (text.encode() for text in codecs.iterdecode(pieces, "utf-16"))
    try:
        yield from pieces
    except UnicodeError as error:
        raise BadInput(f"damaged UTF-16: {error}", "utf16") from error


def _arrivals(file: BufferedReader) -> Iterator[bytes]:
    """What a file or pipe brings without a pause, up to a block."""
    parts: list[bytes] = []
    size = 0
    while part := file.read1(_BLOCK_BYTES - size):
        parts.append(part)
        size += len(part)
        if size >= _BLOCK_BYTES or not select.select([file], [], [], _PAUSE_S)[0]:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _gunzipped(packed: Iterator[bytes]) -> Iterator[bytes]:
    """Not by ``IGzipFile``: it waits for half a MiB of a pipe."""
    member = isal_zlib.decompressobj(_GZIP_WBITS)
    for piece in packed:
        while piece:
            if member.eof:  # files that are put behind one another are one
                member = isal_zlib.decompressobj(_GZIP_WBITS)
            try:
                yield member.decompress(piece, _BLOCK_BYTES)
            except IsalError as error:  # type: ignore[misc]  # its stub hides the base class
                raise BadInput(f"a damaged gzip file: {error}", "gzip") from error
            piece = member.unconsumed_tail or member.unused_data
    if not member.eof:
        raise BadInput("a gzip file that ends too soon", "gzip")


def _records_end(buffer: bytes) -> int:
    """Just past the last line end that is not inside quotes; 0 when there is none."""
    end = buffer.rfind(b"\n") + 1
    quotes = buffer.count(b'"', 0, end)
    while end and quotes % 2:
        before = buffer.rfind(b"\n", 0, end - 1) + 1
        quotes -= buffer.count(b'"', before, end)
        end = before
    return end


def _parts(blocks: Iterator[bytes], form: Dialect, left_out: LeftOut) -> Iterator[Part]:
    """Each block as columns of text, an empty cell null; the first without what is skipped.

    A row that is too wide is left out, and so is a last line that ends inside a quote.
    """
    line, start = form.skipped_lines, form.skipped_bytes
    for block in blocks:
        rows, start = block[start:], 0
        cut = not rows.endswith(b"\n")
        if cut:
            rows = _without_cut_cell(rows, line, left_out)
        if rows:
            yield Part(line, _read(rows, form, line, left_out), cut)
            line += rows.count(b"\n")


def _read(rows: bytes, form: Dialect, line: int, left_out: LeftOut) -> pl.DataFrame:
    """line: how many come before."""
    try:
        return _columns(rows, form)
    except pl.exceptions.PolarsError as error:
        narrow = _without_wide(rows, form, line, left_out)
        if narrow is None:
            raise _explained(rows, form, line, str(error).splitlines()[0]) from error
    before, lines = line - form.skipped_lines, narrow.count(b"\n") + (not narrow.endswith(b"\n"))
    if left_out.rows >= lines or left_out.rows > max(1, _LEFT_OUT_MAX * (before + lines)):
        raise BadInput(left_out.first, "columns")
    try:
        return _columns(narrow, form)
    except pl.exceptions.PolarsError as error:
        raise _explained(narrow, form, line, str(error).splitlines()[0]) from error


def _columns(rows: bytes, form: Dialect) -> pl.DataFrame:
    schema = dict.fromkeys(form.names, pl.String())
    return pl.scan_csv(
        rows, has_header=False, schema=schema, separator=form.delimiter, missing_columns="insert"
    ).collect()


def _without_cut_cell(rows: bytes, line: int, left_out: LeftOut) -> bytes:
    """The end of a file without half a character, and without a last line that ends inside a quote."""
    try:
        rows.decode()
    except UnicodeDecodeError as error:
        rows = rows[: error.start] if error.reason == _CUT else rows
    end = _records_end(rows)
    last = rows[end:]
    if last.count(b'"') % 2 == 0 or b"\n" in last:
        return rows
    number = line + rows.count(b"\n") + 1
    left_out.add(f"line {number} ends inside a quote")
    return rows[:end]


def _without_wide(rows: bytes, form: Dialect, line: int, left_out: LeftOut) -> bytes | None:
    """The rows with an empty line for each that has too many columns, so that later ones keep their numbers.

    None: there is none, or the rows cannot be read at all.
    """
    try:
        text = rows.decode()
    except UnicodeDecodeError:
        return None
    lines, width, ended, found = text.split("\n"), len(form.names), 0, False
    reader = csv.reader(StringIO(text), delimiter=form.delimiter)
    try:
        for record in reader:
            if len(record) > width:
                found = True
                names = form.delimiter.join(form.names)
                left_out.add(
                    f"line {line + reader.line_num} has {len(record)} columns: expected {width}, as in {names!r}"
                )
                for place in range(ended, reader.line_num):
                    lines[place] = ""
            ended = reader.line_num
    except csv.Error:
        return None
    return "\n".join(lines).encode() if found else None


def _explained(rows: bytes, form: Dialect, line: int, otherwise: str) -> BadInput:
    """The first row that cannot be read, in words."""
    try:
        text = rows.decode()
    except UnicodeDecodeError as error:
        place = line + rows.count(b"\n", 0, error.start) + 1
        return BadInput(f"line {place}: byte {rows[error.start]:#04x} is no UTF-8: expected UTF-8, as before", "utf8")
    inside = rf'[^"{re.escape(form.delimiter)}]"[^"{re.escape(form.delimiter)}]'
    for place, record_text in enumerate(text.splitlines()):
        if re.search(inside, record_text):
            return BadInput(
                f"line {line + place + 1} has a quote inside a cell: expected two, and quotes around it", "csv"
            )
    return BadInput(f"after line {line}: {otherwise}", "csv")
