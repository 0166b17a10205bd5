"""CSV as people have it: which delimiter, whether there is a header, and rows as columns of text, unchanged."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from analytics.offline.columns import distinct
from analytics.offline.numbers import to_numbers
from analytics.offline.times import is_text_of_times
from telemetry.errors import BadInput

# A comma comes last: where another delimiter fits it is a decimal comma.
_DELIMITERS = (";", "\t", "|", ",")
_LINES_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """delimiter; names of the columns, each its own; skipped: bytes and lines before the first row."""

    delimiter: str
    names: tuple[str, ...]
    skipped_bytes: int
    skipped_lines: int


def dialect(block: bytes) -> Dialect:
    """How the file is written, from its first block. Raises BadInput when it has no two columns."""
    start, lines = 3 if block.startswith(b"\xef\xbb\xbf") else 0, 0
    while block.startswith((b"#", b"\n", b"\r\n"), start):
        start, lines = _line_end(block, start), lines + 1
    sample = _text(block[start : start + 65_536])
    sample = sample[: sample.rfind("\n") + 1] or sample
    if not sample.strip():
        raise BadInput("empty: expected rows of a time and a value", "empty")
    delimiter = _delimiter(sample)
    first = next(csv.reader(io.StringIO(sample), delimiter=delimiter))
    if len(first) < 2:
        raise BadInput(f"line {lines + 1} is {sample.splitlines()[0][:60]!r}: expected a time and a value", "columns")
    if not _is_header(first):
        return Dialect(delimiter, tuple(f"column_{place}" for place in range(1, len(first) + 1)), start, lines)
    for _ in range(1 + sum(cell.count("\n") for cell in first)):
        start, lines = _line_end(block, start), lines + 1
    return Dialect(delimiter, tuple(distinct(first)), start, lines)


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
    schema = dict.fromkeys(form.names, pl.String())
    try:
        return pl.read_csv(rows, has_header=False, schema=schema, separator=form.delimiter, raise_if_empty=False)
    except pl.exceptions.PolarsError as error:
        raise _explained(rows, form, line, str(error).splitlines()[0]) from error


def _explained(rows: bytes, form: Dialect, line: int, otherwise: str) -> BadInput:
    """The first row that cannot be read, in words."""
    width = len(form.names)
    for place, record in enumerate(csv.reader(io.StringIO(_text(rows, line)), delimiter=form.delimiter)):
        if len(record) > width:
            found = f"line {line + place + 1} has {len(record)} columns"
            return BadInput(f"{found}: expected {width}, as in {form.delimiter.join(form.names)!r}", "columns")
    return BadInput(f"after line {line}: {otherwise}", "csv")


def _text(rows: bytes, line: int = 0) -> str:
    try:
        return rows.decode()
    except UnicodeDecodeError as error:
        place = line + rows.count(b"\n", 0, error.start) + 1
        if error.start < len(rows) - 4 or error.reason != "unexpected end of data":
            raise BadInput(
                f"line {place}: byte {rows[error.start]:#04x} is no UTF-8: expected UTF-8", "utf8"
            ) from error
        return rows[: error.start].decode()


def _line_end(block: bytes, start: int) -> int:
    end = block.find(b"\n", start) + 1
    return end or len(block)


def _delimiter(sample: str) -> str:
    """The one that cuts the first lines into the same number of columns, more than one."""
    for delimiter in _DELIMITERS:
        records = csv.reader(io.StringIO(sample), delimiter=delimiter)
        widths = {len(record) for record, _ in zip(records, range(_LINES_LOOKED_AT), strict=False) if record}
        if len(widths) == 1 and widths != {1}:
            return delimiter
    return max(_DELIMITERS[::-1], key=sample.partition("\n")[0].count)


def _is_header(first: list[str]) -> bool:
    """Columns may be named by numbers, as those of GPUs are: then not all are, and no number is a time of our days."""
    cells = [pl.Series([cell], dtype=pl.String) for cell in first if cell]
    numbers = [float(to_numbers(cell)[0]) for cell in cells]
    if all(number == number for number in numbers) or any(number >= 1e9 for number in numbers):
        return False
    return not any(is_text_of_times(cell) for cell in cells)
