"""Files through scorers of their own, one after the other, and their scored rows as CSV or Parquet."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from analytics.offline.columns import RESULTS, Choice, distinct, listed
from analytics.offline.episodes import Episodes
from analytics.offline.rows import RowScores, contributing
from analytics.offline.score import ScoredRows, TableScorer, rounded, score_columns
from analytics.offline.tables import open_table
from analytics.offline.times import SAMPLE_ROWS
from common.errors import BadInput

PARQUET = (".parquet", ".pq")
ROW_RESULTS = ("row_score", "row_alert", "row_alert_start", "row_columns")
_LATE_SHARE_MAX = 0.3  # with more late rows it is probably not one series


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows with their scores, and how their file writes CSV."""

    frame: pl.DataFrame
    separator: str
    decimal_comma: bool


class ScoredFiles:
    """Scores files; each is for itself, what was learned in one is not known in the next.

    note: receives a line about a file for the person. progress: receives the share of a file that is read, 0 to 1.
    alerts: rows that alerted so far.
    """

    def __init__(self, choice: Choice, note: Callable[[str], None], progress: Callable[[float], None]) -> None:
        self.alerts = 0
        self._choice, self._note, self._progress = choice, note, progress
        # Who names the columns waits for no more rows to find them: each row of a pipe is answered when it comes.
        named = choice.time and choice.values and choice.labels is not None
        self._rows_first = 1 if named else SAMPLE_ROWS

    def pieces(self, paths: list[str], as_text: bool) -> Iterator[Piece]:
        """The scored rows; of several files they start with the column ``file``, and must have the same columns.

        as_text: what was read as text stays text. Raises BadInput, naming the file.
        """
        schema: pl.Schema | None = None
        for path in paths:
            for piece in self._of_file(path, as_text):
                frame = piece.frame
                if len(paths) > 1:
                    frame = frame.select(pl.lit(path).alias("file"), pl.all().exclude("file"))
                if schema is not None and frame.schema != schema:
                    raise BadInput(
                        f"{path}: has the columns {', '.join(frame.columns)}, and {paths[0]} {', '.join(schema)}: "
                        "expected the same, or --output FOLDER/ for a file each",
                        "columns",
                    )
                schema = frame.schema
                yield replace(piece, frame=frame)

    def _of_file(self, path: str, as_text: bool) -> Iterator[Piece]:
        with open_table(path, self._rows_first) as table:
            scorer = TableScorer(table, self._choice)
            self._note_choices(scorer)
            alerts, of_rows = 0, WideRows() if self._choice.wide else None
            for part in scorer.scored():
                alerts += int(np.logical_or.reduce([scores.alert for scores in part.scores.values()]).sum())
                if table.share is not None:
                    self._progress(table.share())
                rows = _typed(part, scorer) if table.text and not as_text else part.rows
                frame = pl.concat([rows, *_results(part, of_rows)], how="horizontal")
                yield Piece(frame, table.separator, scorer.roles.decimal_comma)
            self.alerts += alerts
            self._note_counts(scorer, alerts)

    def _note_choices(self, scorer: TableScorer) -> None:
        """What was decided without being asked, where it may be wrong."""
        name, meant = scorer.table.name, scorer.roles
        if meant.others and not self._choice.values and not self._choice.wide:
            scored, others = listed(list(meant.values)), listed(meant.others)
            self._note(f"{name}: scored {scored}; others are numeric too: {others} (--value, --wide)")
        if not meant.time.names:
            self._note(f"{name}: no column of times: rows are taken in their order, a second apart (--time)")
        if scorer.table.windows:
            self._note(f"{name}: read as Windows-1252, since it is no UTF-8")

    def _note_counts(self, scorer: TableScorer, alerts: int) -> None:
        name, labels = scorer.table.name, scorer.roles.labels
        many = f", {len(scorer.series.names):,} series by {', '.join(labels)}" if labels else ""
        self._note(f"{name}: {scorer.rows:,} row{'' if scorer.rows == 1 else 's'}{many}: {alerts:,} alert")
        late, twice = scorer.order.late, scorer.order.twice
        if scorer.table.left_out.rows:
            self._note(f"{name}: {scorer.table.left_out.in_words()}")
        if twice:
            what = "has a time" if twice == 1 else "have times"
            self._note(
                f"{name}: {twice:,} of them {what} that clocks show twice, as they are put back: taken for the first, "
                "or for the second where the first is not newer than the row before"
            )
        if late:
            what = "is not newer than one" if late == 1 else "are not newer than others"
            several = late > _LATE_SHARE_MAX * scorer.rows
            advice = ": sort them, or name the column that identifies series with --by" if several else ""
            self._note(f"{name}: {late:,} of them {what} before, and were not learned from{advice}")


def _results(part: ScoredRows, of_rows: "WideRows | None") -> Iterator[pl.DataFrame]:
    """Of each value column its results: ``score``, or ``cpu_score`` when several are scored.

    of_rows: of several, ``ROW_RESULTS`` too. A name that the file has already gets a number: ``score_2``.
    """
    several = len(part.values) > 1
    wanted = [f"{value}_{name}" if several else name for value in part.values for name in RESULTS]
    names = iter(distinct([*part.rows.columns, *wanted, *ROW_RESULTS])[part.rows.width :])
    for value, numbers in part.values.items():
        results = rounded(score_columns(part.scores[value], part.starts[value], numbers))
        yield results.rename({name: next(names) for name in RESULTS})
    if of_rows is not None and several:
        row = rounded(of_rows.columns(part))
        yield row.rename({name: next(names) for name in row.columns})


class WideRows:
    """The columns of ``ROW_RESULTS``, part by part of a file."""

    def __init__(self) -> None:
        self._scores, self._episodes = RowScores(), Episodes()

    def columns(self, part: ScoredRows) -> pl.DataFrame:
        scores = [np.where(np.isnan(part.values[name]), np.nan, each.score) for name, each in part.scores.items()]
        known, names = np.array(scores), list(part.values)
        score = self._scores.score(known, part.series)
        alert = score >= 1.0
        named = [contributing(known[:, row], names) if alert[row] else None for row in range(score.size)]
        starts = self._episodes.starts(alert, part.series)
        flags = {"alert": alert.astype(np.int8), "alert_start": starts.astype(np.int8)}
        return pl.DataFrame({"score": score, **flags, "columns": pl.Series(named, dtype=pl.String)})


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
