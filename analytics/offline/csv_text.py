"""CSV as people have it: which delimiter, whether there is a header, and rows as columns of text, unchanged."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import polars as pl

from analytics.offline.columns import distinct
from analytics.offline.numbers import to_numbers
from analytics.offline.times import is_text_of_times
from common.errors import BadInput

# A comma comes last: where another delimiter fits it is a decimal comma. A space only where there is nothing else.
_DELIMITERS = (";", "\t", "|", ",", " ")
_LINES_LOOKED_AT = 20
_NO_CSV = {b"{": "JSON", b"[{": "JSON", b"<": "markup"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """delimiter; names of the columns, each its own; skipped: bytes and lines before the first row."""

    delimiter: str
    names: tuple[str, ...]
    skipped_bytes: int
    skipped_lines: int


def dialect(block: bytes) -> Dialect:
    """How the file is written, from its first block. Raises BadInput when it is no CSV or empty."""
    start, lines = _content(block, 3 if block.startswith(b"\xef\xbb\xbf") else 0, 0)
    said = re.compile(rb'"?sep=([;,|\t])"?\r?\n').match(block, start)
    if said:
        start, lines = _content(block, said.end(), lines + 1)
    sample = _sample(block, start, lines)
    delimiter = said.group(1).decode() if said else _delimiter(sample)
    records = _records(sample, delimiter)
    # Some exports begin with a title, and then name their columns.
    if len(records) > 1 and len(records[0]) == 1 < len(records[1]) and _is_header(records[1]):
        start, lines = _content(block, _line_end(block, start), lines + 1)
        records = records[1:]
    first = records[0]
    if not _is_header(first):
        return Dialect(delimiter, tuple(f"column_{place}" for place in range(1, len(first) + 1)), start, lines)
    for _ in range(1 + sum(cell.count("\n") for cell in first)):
        start, lines = _line_end(block, start), lines + 1
    return Dialect(delimiter, tuple(distinct(first)), start, lines)


def _content(block: bytes, start: int, lines: int) -> tuple[int, int]:
    """Past lines that are empty or comments: where the next one is, and how many lines are before it."""
    while block.startswith((b"#", b"\n", b"\r\n"), start):
        start, lines = _line_end(block, start), lines + 1
    return start, lines


def _sample(block: bytes, start: int, lines: int) -> str:
    if b"\0" in block[start : start + 65_536]:
        raise BadInput("is not of text: expected CSV or Parquet", "binary")
    for opening, what in _NO_CSV.items():
        if block.startswith(opening, start):
            raise BadInput(f"looks like {what}: expected CSV or Parquet", "csv")
    text = _text(block[start : start + 65_536], lines)
    text = text[: text.rfind("\n") + 1] or text
    if not text.strip():
        raise BadInput("empty: expected rows of a time and a value", "empty")
    if "\r" in text and "\n" not in text:
        raise BadInput("lines end in CR alone: expected LF or CR LF", "csv")
    return text


def frames(blocks: Iterator[bytes], form: Dialect) -> Iterator[pl.DataFrame]:
    """Each block as columns of text, an empty cell null; the first block without what the dialect skips."""
    line = form.skipped_lines
    start = form.skipped_bytes
    for block in blocks:
        if rows := block[start:]:
            frame = _frame(rows, form, line)
            line += frame.height
            yield frame
        start = 0


def _frame(rows: bytes, form: Dialect, line: int) -> pl.DataFrame:
    # The first line settles how many columns there are, and the first row of a block may be short or empty.
    header = [f"column_{place}" for place in range(len(form.names))]
    schema = dict.fromkeys(header, pl.String())
    named = form.delimiter.join(header).encode() + b"\n" + rows
    try:
        frame = pl.read_csv(named, schema=schema, separator=form.delimiter, raise_if_empty=False)
    except pl.exceptions.PolarsError as error:
        raise _explained(rows, form, line, str(error).splitlines()[0]) from error
    frame.columns = list(form.names)
    return frame


def _explained(rows: bytes, form: Dialect, line: int, otherwise: str) -> BadInput:
    """The first row that cannot be read, in words."""
    width = len(form.names)
    text = _text(rows, line)
    try:
        for place, record in enumerate(csv.reader(io.StringIO(text), delimiter=form.delimiter)):
            if len(record) > width:
                found = f"line {line + place + 1} has {len(record)} columns"
                return BadInput(f"{found}: expected {width}, as in {form.delimiter.join(form.names)!r}", "columns")
    except csv.Error as error:
        otherwise = str(error)
    inside = rf'[^"{re.escape(form.delimiter)}]"[^"{re.escape(form.delimiter)}]'
    for place, record_text in enumerate(text.splitlines()):
        if re.search(inside, record_text):
            return BadInput(
                f"line {line + place + 1} has a quote inside a cell: expected two, and quotes around it", "csv"
            )
    return BadInput(f"after line {line}: {otherwise}", "csv")


def _text(rows: bytes, line: int = 0) -> str:
    try:
        return rows.decode()
    except UnicodeDecodeError as error:
        place = line + rows.count(b"\n", 0, error.start) + 1
        if error.start < len(rows) - 4 or error.reason != "unexpected end of data":
            raise BadInput(
                f"line {place}: byte {rows[error.start]:#04x} is no UTF-8: expected UTF-8, as before", "utf8"
            ) from error
        return rows[: error.start].decode()


def _line_end(block: bytes, start: int) -> int:
    end = block.find(b"\n", start) + 1
    return end or len(block)


def _delimiter(sample: str) -> str:
    """The one that cuts the first lines into the same number of columns, more than one; else that most lines have."""
    for delimiter in _DELIMITERS:
        widths = {len(record) for record in _records(sample, delimiter)}
        padded = delimiter == " " and any("" in record for record in _records(sample, delimiter))
        if len(widths) == 1 and widths != {1} and not padded:
            return delimiter
    lines = sample.splitlines()
    having = {delimiter: sum(delimiter in line for line in lines) for delimiter in (",", *_DELIMITERS[:-2])}
    return max(having, key=lambda delimiter: having[delimiter])


def _records(sample: str, delimiter: str) -> list[list[str]]:
    """The first lines that are not empty."""
    try:
        records = (record for record in csv.reader(io.StringIO(sample), delimiter=delimiter) if record)
        return list(islice(records, _LINES_LOOKED_AT))
    except csv.Error as error:
        raise BadInput(f"is no CSV: {error}", "csv") from error


def _is_header(first: list[str]) -> bool:
    """Columns may be named by numbers, as those of GPUs are: then not all are, and no number is a time of our days."""
    cells = [pl.Series([cell], dtype=pl.String) for cell in first if cell]
    numbers = [float(to_numbers(cell)[0]) for cell in cells]
    if all(number == number for number in numbers) or any(number >= 1e9 for number in numbers):
        return False
    return not any(is_text_of_times(cell) for cell in cells)
