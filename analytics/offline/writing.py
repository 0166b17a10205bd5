"""Scored rows as CSV, a piece at a time, or as Parquet."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from analytics.offline.columns import RESULTS, distinct
from analytics.offline.scored import ScoredRows, TableScorer, rounded, score_columns
from common.errors import BadInput

PARQUET = (".parquet", ".pq")


def result_names(taken: list[str], values: tuple[str, ...]) -> dict[str, list[str]]:
    """Of each value column the names of its result columns: ``score``, or ``cpu_score`` when several are scored.

    A name that the file has already gets a number: ``score_2``.
    """
    wanted = [name if len(values) == 1 else f"{value}_{name}" for value in values for name in RESULTS]
    free = distinct([*taken, *wanted])[len(taken) :]
    return {value: free[place * len(RESULTS) :][: len(RESULTS)] for place, value in enumerate(values)}


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows with their scores, and how their file writes CSV. alerts: rows of which a score alerts."""

    frame: pl.DataFrame
    alerts: int
    separator: str
    decimal_comma: bool


def pieces(scorer: TableScorer, as_text: bool) -> Iterator[Piece]:
    """The rows of a table, as they are, with their scores. as_text: what CSV says stays text."""
    for part in scorer.scored():
        names = result_names(part.rows.columns, tuple(scorer.roles.values))
        results = [
            rounded(score_columns(part.scores[value], part.values[value])).rename(dict(zip(RESULTS, new, strict=True)))
            for value, new in names.items()
        ]
        rows = _typed(part, scorer) if scorer.table.text and not as_text else part.rows
        frame = pl.concat([rows, *results], how="horizontal")
        yield Piece(frame, _alerts(part), scorer.table.separator, scorer.roles.decimal_comma)


def _alerts(part: ScoredRows) -> int:
    return int(np.logical_or.reduce([scores.alert for scores in part.scores.values()]).sum())


def _typed(part: ScoredRows, scorer: TableScorer) -> pl.DataFrame:
    """Texts of CSV as what they mean: the time in nanoseconds UTC, the values scored as doubles; others stay text."""
    rows, columns = part.rows, []
    time = scorer.roles.time.names
    if len(time) == 1 and rows[time[0]].dtype == pl.String:
        columns.append(pl.Series(time[0], part.times_ns).cast(pl.Datetime("ns", "UTC")))
    for name, values in part.values.items():
        if rows[name].dtype == pl.String:
            columns.append(pl.Series(name, values).fill_nan(None))
    return rows.with_columns(columns)


def write(pieces: Iterator[Piece], path: Path) -> None:
    """Parquet or CSV by the suffix; the file appears when it is complete, and may be one that is being read."""
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        if path.suffix in PARQUET:
            _write_parquet(pieces, unfinished)
        else:
            with unfinished.open("wb") as file:
                write_csv(pieces, file)
        unfinished.rename(path)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}", "output") from error
    finally:
        unfinished.unlink(missing_ok=True)


def write_csv(pieces: Iterator[Piece], file: BinaryIO) -> None:
    """Each piece is written and flushed when it comes, the header with the first."""
    for place, piece in enumerate(pieces):
        try:
            text = piece.frame.write_csv(
                include_header=place == 0, separator=piece.separator, decimal_comma=piece.decimal_comma
            )
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise BadInput(f"cannot be CSV: {reason}; write Parquet with --output", "nested") from error
        file.write(text.encode())
        file.flush()


def _write_parquet(pieces: Iterator[Piece], path: Path) -> None:
    """In bounded memory, a piece at a time."""
    first = next(pieces).frame

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch: int | None
    ) -> Iterator[pl.DataFrame]:
        yield first
        for piece in pieces:
            yield piece.frame

    register_io_source(source, schema=first.schema).sink_parquet(path)
