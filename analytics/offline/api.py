"""``Detector`` for notebooks: the scores of ``fabricscope detect`` for values that are in memory already."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.models.scoring.scorer import SeriesScorer
from analytics.offline.numbers import to_numbers
from analytics.offline.score import SeriesNumbers, score_columns
from analytics.offline.times import TimeFormat, time_format, to_ns
from common.errors import BadInput

Times = Sequence[int] | Sequence[float] | Sequence[datetime] | Sequence[date] | Sequence[str] | NDArray[Any] | pl.Series
Values = Sequence[float | None] | NDArray[Any] | pl.Series
Labels = Sequence[str] | Sequence[int] | NDArray[Any] | pl.Series


class Detector:
    """Scores each value of a series by what came before it; a later call goes on where the last one ended.

    >>> from fabricscope import Detector
    >>> values = [1.0, 2.0, 1.5, 1.2, 1.8] * 19 + [1.1, 1.9, 1.4, 1.3, 90.0]
    >>> scores = Detector().score(range(1_700_000_000, 1_700_000_100), values)
    >>> scores["alert"].cast(bool).arg_true().to_list()
    [99]
    """

    def __init__(self) -> None:
        self._engine = SeriesScorer()
        self._numbers = SeriesNumbers(("series",))
        self._form: TimeFormat | None = None

    def score(self, times: Times, values: Values, series: Labels | None = None) -> pl.DataFrame:
        """A row for each row given, in the order given: the columns that the command adds, unrounded.

        times: datetimes (UTC when they have no zone), texts, or numbers since 1970 in seconds, milliseconds,
               microseconds or nanoseconds, whichever the first call's size means; in order within a series.
               A row that is not newer than the newest of its series is scored and not learned.
        values: float64[n]; None and NaN are missing.
        series: of each row the name of its series; None: all are of one.
        Returns score (1.0 is the alert level), alert (0 or 1), expected, lower, upper (null while unknown), reason
        (null when there is none). Raises BadInput for a time that cannot be read and for columns of unequal length.
        """
        moments = _column("times", times)
        numbers = to_numbers(_column("values", values)).to_numpy(writable=True)
        names = (
            pl.Series("series", [""]).new_from_index(0, len(moments)) if series is None else _column("series", series)
        )
        if not len(moments) == len(numbers) == len(names):
            lengths = f"{len(moments)} times, {len(numbers)} values and {len(names)} series"
            raise BadInput(f"{lengths}: expected as many of each", "schema")
        scores = self._engine.score(self._times_ns(moments), numbers, self._numbers.of(pl.DataFrame([names])))
        return score_columns(scores, numbers)

    def _times_ns(self, moments: pl.Series) -> NDArray[np.int64]:
        if moments.is_empty():
            return np.empty(0, np.int64)
        form = None if moments.dtype.is_temporal() else self._form
        form = form or time_format(moments, lenient=True)
        if form is None:
            raise BadInput(f"{moments[0]!r}: expected times", "time")
        self._form = form
        times_ns = to_ns(moments, form)
        if times_ns.null_count():
            row = int(times_ns.is_null().arg_max() or 0)
            raise BadInput(f"row {row}: {moments[row]!r}: expected {form.words}", "time")
        return times_ns.to_numpy(writable=True)


def _column(name: str, given: Any) -> pl.Series:
    """As polars takes it; of other libraries' columns their array. Raises BadInput for what is no column."""
    if isinstance(given, pl.Series):
        column = given.alias(name)
    else:
        if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping, pl.DataFrame)):
            raise BadInput(f"{name} of type {type(given).__name__}: expected a sequence, one entry a row", "schema")
        entries = np.asarray(given) if hasattr(given, "__array__") else list(given)
        if isinstance(entries, np.ndarray) and entries.dtype.kind in "MO":
            entries = entries.astype("datetime64[ns]") if entries.dtype.kind == "M" else entries.tolist()
        try:
            column = pl.Series(name, entries, strict=False)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise BadInput(f"{name}: {error}", "schema") from error
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise BadInput(f"{name}: entries of {column.dtype}: expected one time, number or name a row", "schema")
    return column
