"""A table through the scoring engine: each row with its score, in the order of the file."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.models.scoring.scorer import REASONS, Scores, SeriesScorer
from analytics.offline.columns import Choice, Roles, roles
from analytics.offline.numbers import to_numbers
from analytics.offline.order import Newest
from analytics.offline.reading import Table
from analytics.offline.series import SeriesNumbers
from common.errors import BadInput

MISSING = "missing"
_REASONS = pl.Enum([*REASONS[1:], MISSING])
_DIGITS = 6  # of what is written: a score is no more exact
_BELOW_ALERT = 1 - 10**-_DIGITS


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
        first = next(table.frames, None)
        if first is None or first.is_empty():
            raise BadInput("no rows after the header: expected a time and a value in each", "empty")
        self.roles: Roles = roles(first, choice, table.separator)
        self.series = SeriesNumbers(self.roles.labels)
        self.table = table
        self.rows = self.late = 0
        self._newest = Newest()
        self._frames = chain([first], table.frames)
        self._detector = SeriesScorer()

    def scored(self) -> Iterator[ScoredRows]:
        """The rows, frame by frame; lines that are empty are left out."""
        line = self.table.lines_before
        for frame in self._frames:
            empty = frame.select(pl.all_horizontal(pl.all().is_null(), pl.lit(self.table.text))).to_series()
            rows = frame.filter(~empty) if empty.any() else frame
            times = self.roles.time.ns(rows, self.rows)
            if times.null_count():
                self._refuse(rows, int(times.is_null().arg_max() or 0), (~empty).arg_true() + line + 1)
            line += frame.height
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
        self.late += self._newest.late(times_ns, series)
        return ScoredRows(rows, times_ns, series, values, scores)

    def _refuse(self, rows: pl.DataFrame, place: int, lines: pl.Series) -> None:
        time = self.roles.time
        unit = "line" if self.table.text else "row"
        raise BadInput(f"{unit} {lines[place]} has {time.found(rows, place)}: expected {time.form.words}", "time")


def score_columns(scores: Scores, values: NDArray[np.float64]) -> pl.DataFrame:
    """The columns of ``columns.RESULTS``: null for an expectation that is unknown and for no reason."""
    codes = np.where(np.isnan(values), len(REASONS), scores.reason)
    reason = pl.Series(codes).replace_strict(dict(enumerate((None, *REASONS[1:], MISSING))), return_dtype=_REASONS)
    bands = {name: pl.Series(getattr(scores, name)).fill_nan(None) for name in ("expected", "lower", "upper")}
    return pl.DataFrame({"score": scores.score, "alert": scores.alert.astype(np.int8), **bands, "reason": reason})


def rounded(columns: pl.DataFrame) -> pl.DataFrame:
    """As it is written: six digits, and a score below the alert level stays below it."""
    numbers = pl.col("score", "expected", "lower", "upper").round_sig_figs(_DIGITS)
    below = pl.when(pl.col("alert") == 0).then(pl.col("score").clip(upper_bound=_BELOW_ALERT))
    return columns.with_columns(numbers).with_columns(below.otherwise(pl.col("score")).alias("score"))
