"""A table through the scoring engine: each row with its score, in the order of the file."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.models.scoring.scorer import REASONS, Scores, SeriesScorer
from analytics.offline.columns import Choice, roles
from analytics.offline.numbers import to_numbers
from analytics.offline.tables import Table
from common.errors import BadInput
from common.jit import compiled

MISSING = "missing"
_REASONS = pl.Enum([*REASONS[1:], MISSING])
_DIGITS = 6  # of what is written: a score is no more exact
_BELOW_ALERT = 1 - 10**-_DIGITS
_NEVER = np.iinfo(np.int64).min


class SeriesNumbers:
    """Numbers series by their labels, in the order in which they appear.

    columns: names of the label columns; none: all rows are of one series.
    names: of each number, one label a column. Memory: one entry a series.
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.names: list[tuple[str, ...]] = [] if columns else [()]
        self._known: dict[tuple[str, ...], int] = {}

    def of(self, rows: pl.DataFrame) -> NDArray[np.int64]:
        """int64[n]: the series of each row; a label that is missing is an empty one."""
        if not self.columns or rows.is_empty():
            return np.zeros(rows.height, np.int64)
        labels = rows.select(pl.col(*self.columns).cast(pl.String).fill_null(""))
        distinct = labels.unique(maintain_order=True)
        numbers = pl.Series("number", [self._number(name) for name in distinct.iter_rows()], dtype=pl.Int64)
        found = labels.join(distinct.with_columns(numbers), on=self.columns, how="left", maintain_order="left")
        return found["number"].to_numpy()

    def in_words(self, number: int) -> str:
        """``host=node1, gpu=3``."""
        return ", ".join(f"{column}={label}" for column, label in zip(self.columns, self.names[number], strict=True))

    def _number(self, name: tuple[str, ...]) -> int:
        number = self._known.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows of one frame. series: int64[n], as the scorer numbers them; a column's values and scores by its name."""

    rows: pl.DataFrame
    times_ns: NDArray[np.int64]
    series: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]
    scores: dict[str, Scores]


class TableScorer:
    """Scores the tables of one file; what its columns mean is settled by the first rows.

    rows: scored so far. late: of them, those that are not newer than the newest of their series.
    Raises BadInput for a table without values, and for a row whose time cannot be read.
    """

    def __init__(self, table: Table, choice: Choice) -> None:
        before, first = next(table.frames, (0, pl.DataFrame()))
        if first.is_empty():
            raise BadInput("no rows after the header: expected a time and a value in each", "empty")
        self.roles = roles(first, choice, table.separator)
        self.series = SeriesNumbers(self.roles.labels)
        self.table = table
        self.rows = self.late = 0
        self._newest_ns = np.empty(0, np.int64)  # of each series
        self._frames = chain([(before, first)], table.frames)
        self._detector = SeriesScorer()

    def scored(self) -> Iterator[ScoredRows]:
        """The rows, frame by frame; lines that are empty are left out."""
        for before, frame in self._frames:
            empty = frame.select(pl.all_horizontal(pl.all().is_null(), pl.lit(self.table.text))).to_series()
            rows = frame.filter(~empty) if empty.any() else frame
            times = self.roles.time.ns(rows, self.rows)
            if times.null_count():
                row = (~empty).arg_true()[times.is_null().arg_max() or 0]
                raise self._unreadable(before, frame, row)
            if rows.height:
                yield self._score(rows, times.to_numpy(writable=True))

    def _score(self, rows: pl.DataFrame, times_ns: NDArray[np.int64]) -> ScoredRows:
        series = self.series.of(rows)
        forms = self.roles.values
        values = {name: to_numbers(rows[name], form).to_numpy(writable=True) for name, form in forms.items()}
        scores = {
            name: self._detector.score(times_ns, values[name], series * len(forms) + place)
            for place, name in enumerate(forms)
        }
        self.rows += rows.height
        first_rows = np.full(len(self.series.names) - self._newest_ns.size, _NEVER)
        self._newest_ns = np.append(self._newest_ns, first_rows)
        self.late += int(_late(times_ns, series, self._newest_ns))
        return ScoredRows(rows, times_ns, series, values, scores)

    def _unreadable(self, before: int, frame: pl.DataFrame, row: int) -> BadInput:
        time, unit, number = self.roles.time, "row", before + row + 1
        if self.table.text:  # where a cell may have several lines
            unit = "line"
            breaks = frame.head(row).select(pl.all().str.count_matches("\n", literal=True))
            number += int(breaks.sum().sum_horizontal()[0])
        return BadInput(f"{unit} {number} has {time.quoted(frame, row)}: expected {time.form.words}", "time")


@compiled
def _late(times_ns: NDArray[np.int64], series: NDArray[np.int64], newest_ns: NDArray[np.int64]) -> int:
    """How many rows are not newer than the newest of their series; brings ``newest_ns`` up to date."""
    late = 0
    for row in range(times_ns.size):
        if times_ns[row] <= newest_ns[series[row]]:
            late += 1
        else:
            newest_ns[series[row]] = times_ns[row]
    return late


def score_columns(scores: Scores, values: NDArray[np.float64]) -> pl.DataFrame:
    """The columns of ``columns.RESULTS``: null for an expectation that is unknown and for no reason."""
    codes = np.where(np.isnan(values), len(REASONS), scores.reason)
    reason = pl.Series(codes).replace_strict(dict(enumerate((None, *REASONS[1:], MISSING))), return_dtype=_REASONS)
    bands = {name: pl.Series(getattr(scores, name)).fill_nan(None) for name in ("expected", "lower", "upper")}
    return pl.DataFrame({"score": scores.score, "alert": scores.alert.astype(np.int8), **bands, "reason": reason})


def rounded(columns: pl.DataFrame) -> pl.DataFrame:
    """As it is written: six digits, and a score below the alert level stays below it."""
    numbers = pl.col(pl.Float64).round_sig_figs(_DIGITS)
    below = pl.when(pl.col("alert") == 0).then(pl.col("score").clip(upper_bound=_BELOW_ALERT))
    return columns.with_columns(numbers).with_columns(below.otherwise(pl.col("score")).alias("score"))
