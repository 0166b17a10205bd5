"""A table through the scoring engine: each row with its score, in the order of the file."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.models.scoring.scorer import REASONS, Scores, SeriesScorer
from analytics.offline.columns import RESULTS, Choice, roles
from analytics.offline.episodes import Episodes
from analytics.offline.numbers import to_numbers
from analytics.offline.order import Order
from analytics.offline.tables import Part, Table
from common.errors import BadInput

MISSING = "missing"
_REASONS = pl.Enum([*REASONS[1:], MISSING])
RESULT_TYPES = pl.Schema(
    dict(zip(RESULTS, (pl.Float64(), pl.Int8(), pl.Int8(), *[pl.Float64()] * 3, _REASONS), strict=True))
)
"""The columns of ``columns.RESULTS``."""
_DIGITS = 6  # of what is written: a score is no more exact
_BELOW_ALERT = 1 - 10**-_DIGITS


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
        numbers = pl.Series("number", [self.number(name) for name in distinct.iter_rows()], dtype=pl.Int64)
        found = labels.join(distinct.with_columns(numbers), on=self.columns, how="left", maintain_order="left")
        return found["number"].to_numpy()

    def in_words(self, number: int) -> str:
        """``host=node1, gpu=3``."""
        return ", ".join(f"{column}={label}" for column, label in zip(self.columns, self.names[number], strict=True))

    def number(self, name: tuple[str, ...]) -> int:
        """Of the series with these labels, one a column; a new one gets the next number."""
        number = self._known.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows of one frame. series: int64[n], as the scorer numbers them; by the name of a column its values, scores, and
    in which rows an episode of alerts starts.
    """

    rows: pl.DataFrame
    times_ns: NDArray[np.int64]
    series: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]
    scores: dict[str, Scores]
    starts: dict[str, NDArray[np.bool_]]


class TableScorer:
    """Scores the tables of one file; what its columns mean is settled by the first rows.

    rows: scored so far. order: of them, which are late.
    Raises BadInput for a table without values, and for a row whose time cannot be read.
    """

    def __init__(self, table: Table, choice: Choice) -> None:
        first = next(table.parts, Part(0, pl.DataFrame()))
        if first.rows.is_empty():
            raise BadInput("no rows after the header: expected a time and a value in each", "empty")
        whole = first.rows[:-1] if first.cut and first.rows.height > 1 else first.rows
        self.roles = roles(whole, choice, table.separator)
        self.series = SeriesNumbers(self.roles.labels)
        self.table = table
        self.rows = 0
        self.order = Order()
        self._parts = chain([first], table.parts)
        self._detector = SeriesScorer()
        self._episodes = Episodes()

    def scored(self) -> Iterator[ScoredRows]:
        """The rows, part by part; lines that are empty are left out, and so is a last one that is cut in its time."""
        for part in self._parts:
            frame = part.rows
            empty = frame.select(pl.all_horizontal(pl.all().is_null(), pl.lit(self.table.text))).to_series()
            rows = frame.filter(~empty) if empty.any() else frame
            times = self.roles.time.ns(rows, self.rows)
            if part.cut and times.null_count() == 1 and times[-1] is None:
                self.table.left_out.add(f"{self._place(part, frame.height - 1)} ends within its time")
                rows, times = rows[:-1], times[:-1]
            if times.null_count():
                row = (~empty).arg_true()[times.is_null().arg_max() or 0]
                time = self.roles.time
                found, expected = time.quoted(frame, row), time.expected(frame, row)
                raise BadInput(f"{self._place(part, row)} has {found}: expected {expected}", "time")
            if rows.height:
                yield self._score(rows, times.to_numpy(writable=True))

    def _score(self, rows: pl.DataFrame, times_ns: NDArray[np.int64]) -> ScoredRows:
        series = self.series.of(rows)
        self.order.settle(times_ns, self.roles.time.later_ns(rows, times_ns), series)
        forms = self.roles.values
        values = {name: to_numbers(rows[name], form).to_numpy(writable=True) for name, form in forms.items()}
        scores, starts = {}, {}
        for place, name in enumerate(forms):
            numbers = series * len(forms) + place
            scores[name] = self._detector.score(times_ns, values[name], numbers)
            starts[name] = self._episodes.starts(scores[name].alert, numbers)
        self.rows += rows.height
        return ScoredRows(rows, times_ns, series, values, scores, starts)

    def _place(self, part: Part, row: int) -> str:
        """``line 5``, or of Parquet ``row 5``."""
        unit, number = "row", part.before + row + 1
        if self.table.text:  # where a cell may have several lines
            unit = "line"
            breaks = part.rows.head(row).select(pl.all().str.count_matches("\n", literal=True))
            number += int(breaks.sum().sum_horizontal()[0])
        return f"{unit} {number}"


def score_columns(scores: Scores, starts: NDArray[np.bool_], values: NDArray[np.float64]) -> pl.DataFrame:
    """The columns of ``columns.RESULTS``: null for an expectation that is unknown and for no reason."""
    codes = np.where(np.isnan(values), len(REASONS), scores.reason)
    reason = pl.Series(codes).replace_strict(dict(enumerate((None, *REASONS[1:], MISSING))), return_dtype=_REASONS)
    flags = {"alert": scores.alert.astype(np.int8), "alert_start": starts.astype(np.int8)}
    bands = {name: pl.Series(getattr(scores, name)).fill_nan(None) for name in ("expected", "lower", "upper")}
    return pl.DataFrame({"score": scores.score, **flags, **bands, "reason": reason})


def rounded(columns: pl.DataFrame) -> pl.DataFrame:
    """As it is written: six digits, and a score below the alert level stays below it."""
    numbers = pl.col(pl.Float64).round_sig_figs(_DIGITS)
    below = pl.when(pl.col("alert") == 0).then(pl.col("score").clip(upper_bound=_BELOW_ALERT))
    return columns.with_columns(numbers).with_columns(below.otherwise(pl.col("score")).alias("score"))
