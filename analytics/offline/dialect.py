"""How a CSV file is written: its delimiter, the names of its columns, and where its rows begin."""

import csv
import io
import re
from collections import Counter
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
_SAMPLE_BYTES = 65_536
_UTF8_BOM = b"\xef\xbb\xbf"
_SEPARATOR_LINE = re.compile(rb'"?sep=([;,|\t])"?\r?\n')
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
    start = _content(block, len(_UTF8_BOM) if block.startswith(_UTF8_BOM) else 0)
    named = _SEPARATOR_LINE.match(block, start)
    if named:
        start = _content(block, named.end())
    sample = _sample(block, start)
    delimiter = named.group(1).decode() if named else _delimiter(sample)
    records = _records(sample, delimiter)
    # Some exports begin with a title, and then name their columns.
    if len(records) > 1 and len(records[0]) == 1 < len(records[1]) and _is_header(records[1]):
        start = _content(block, _line_end(block, start))
        records = records[1:]
    names = [f"column_{place}" for place in range(1, len(records[0]) + 1)]
    if _is_header(records[0]):
        names = distinct(records[0])
        for _ in range(1 + sum(cell.count("\n") for cell in records[0])):
            start = _line_end(block, start)
    return Dialect(delimiter, tuple(names), start, block.count(b"\n", 0, start))


def _content(block: bytes, start: int) -> int:
    """Past lines that are empty or comments."""
    while block.startswith((b"#", b"\n", b"\r\n"), start):
        start = _line_end(block, start)
    return start


def _line_end(block: bytes, start: int) -> int:
    end = block.find(b"\n", start) + 1
    return end or len(block)


def _sample(block: bytes, start: int) -> str:
    sample = block[start : start + _SAMPLE_BYTES]
    if b"\0" in sample:
        raise BadInput("is not of text: expected CSV or Parquet", "binary")
    for opening, what in _NO_CSV.items():
        if sample.startswith(opening):
            raise BadInput(f"looks like {what}: expected CSV or Parquet", "csv")
    text = sample.decode(errors="ignore")  # a character may be cut at the end
    text = text[: text.rfind("\n") + 1] or text
    if not text.strip():
        raise BadInput("empty: expected rows of a time and a value", "empty")
    if "\r" in text and "\n" not in text:
        raise BadInput("lines end in CR alone: expected LF or CR LF", "csv")
    return text


def _delimiter(sample: str) -> str:
    """The one that cuts the first lines into the same number of columns, more than one; else all of them but one, which
    may be damaged; else that most lines have.
    """
    for odd in (0, 1):
        for delimiter in _DELIMITERS:
            records = _records(sample, delimiter)
            [(width, rows)] = Counter(map(len, records)).most_common(1)
            padded = delimiter == " " and any("" in record for record in records)
            if 1 < width == len(records[0]) and rows == len(records) - odd > odd and not padded:
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
    cells = pl.Series([cell for cell in first if cell], dtype=pl.String)
    numbers = to_numbers(cells).fill_nan(None).drop_nulls()
    if len(numbers) == len(cells) or (numbers >= 1e9).any():
        return False
    return not any(is_text_of_times(cells[place : place + 1]) for place in range(len(cells)))
