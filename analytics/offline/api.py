"""``Detector`` for notebooks: the scores of ``fabricscope detect`` for values that are in memory already."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, NamedTuple, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.models.scoring.scorer import REASONS, SeriesScorer
from analytics.offline import single
from analytics.offline.episodes import Episodes
from analytics.offline.numbers import to_numbers
from analytics.offline.order import Order
from analytics.offline.score import MISSING, RESULT_TYPES, SeriesNumbers, score_columns
from analytics.offline.times import TimeFormat, expected, time_format, to_ns
from analytics.offline.zones import UTC_ZONE, checked
from common.errors import BadInput

Time = int | float | datetime | date | str | np.datetime64
Times = Sequence[int] | Sequence[float] | Sequence[datetime] | Sequence[date] | Sequence[str] | NDArray[Any] | pl.Series
Values = Sequence[float | None] | NDArray[Any] | pl.Series
Labels = Sequence[str] | Sequence[int] | NDArray[Any] | pl.Series


class Score(NamedTuple):
    """What a row of ``Detector.score`` holds; None for what is unknown."""

    score: float
    alert: int
    alert_start: int
    expected: float | None
    lower: float | None
    upper: float | None
    reason: str | None


class Detector:
    """Scores each value of a series by what came before it; a later call goes on where the last one ended.

    timezone: by its name (``Europe/Berlin``), of the clocks that show times without a zone.

    >>> from fabricscope import Detector
    >>> values = [1.0, 2.0, 1.5, 1.2, 1.8] * 19 + [1.1, 1.9, 1.4, 1.3, 90.0]
    >>> detector = Detector()
    >>> scores = detector.score(range(1_700_000_000, 1_700_000_100), values)
    >>> scores["alert"].cast(bool).arg_true().to_list()
    [99]
    >>> detector.score(1_700_000_100, 1.2).alert  # one by one, as values come
    0
    """

    def __init__(self, timezone: str = UTC_ZONE) -> None:
        self._zone = checked(timezone)
        self._engine = SeriesScorer()
        self._episodes, self._order = Episodes(), Order()
        self._numbers = SeriesNumbers(("series",))
        self._form: TimeFormat | None = None

    @overload
    def score(self, times: Time, values: float | None, series: str | int | None = None) -> Score: ...

    @overload
    def score(self, times: Times, values: Values, series: Labels | None = None) -> pl.DataFrame: ...

    def score(self, times: Any, values: Any, series: Any = None) -> pl.DataFrame | Score:
        """A row for each row given, in the order given: the columns that the command adds, unrounded.

        times: datetimes, texts, or numbers since 1970 in seconds, milliseconds, microseconds or nanoseconds, whichever
               the first call's size means; in order within a series.
               A row that is not newer than the newest of its series is scored and not learned.
        values: float64[n]; None and NaN are missing.
        series: of each row the name of its series; None: all are of one.
        Returns score (1.0 is the alert level), alert (0 or 1), alert_start (1 in the first row of an episode of
        alerts), expected, lower, upper (null while unknown), reason (null when there is none). For one time, one value
        and one name, none of them in a sequence, a ``Score``.
        Raises BadInput for a time that cannot be read and for columns of unequal length.
        """
        bare = values is None or type(values) in single.NUMBERS
        if bare and (not isinstance(times, Iterable) or isinstance(times, str)):
            row = self._one(times, values, series)
            return row or Score(*self._many([times], [values], series if series is None else [series]).row(0))
        if _is_one(times) and _is_one(values) and (series is None or _is_one(series)):
            row = self._one(times[0], values[0], None if series is None else series[0])
            if row:
                return pl.from_dicts([row._asdict()], schema=RESULT_TYPES)
        return self._many(times, values, series)

    def _one(self, time: Any, value: Any, name: Any) -> Score | None:
        """One row at a twentieth of the cost of a table; None where it takes one to read it."""
        time_ns = single.time_ns(time, self._form.unit_ns if self._form else 0)
        number = single.number(value)
        if time_ns is None or number is None or type(name) not in (str, int, type(None)) or self._zone != UTC_ZONE:
            return None
        series = self._numbers.number(("" if name is None else str(name),))
        score, *bands, code = self._engine.score_one(time_ns, number, series)
        start = self._episodes.starts_one(score >= 1.0, series)
        reason = MISSING if math.isnan(number) else REASONS[code] or None
        expected, lower, upper = (None if math.isnan(bound) else bound for bound in bands)
        return Score(score, int(score >= 1.0), int(start), expected, lower, upper, reason)

    def _many(self, times: Times, values: Values, series: Labels | None) -> pl.DataFrame:
        moments = _column("times", times)
        numbers = to_numbers(_column("values", values)).to_numpy(writable=True)
        names = (
            pl.Series("series", [""]).new_from_index(0, len(moments)) if series is None else _column("series", series)
        )
        if not len(moments) == len(numbers) == len(names):
            lengths = f"{len(moments)} times, {len(numbers)} values and {len(names)} series"
            raise BadInput(f"{lengths}: expected as many of each", "schema")
        of_series = self._numbers.of(pl.DataFrame([names]))
        scores = self._engine.score(self._times_ns(moments, of_series), numbers, of_series)
        return score_columns(scores, self._episodes.starts(scores.alert, of_series), numbers)

    def _times_ns(self, moments: pl.Series, series: NDArray[np.int64]) -> NDArray[np.int64]:
        if moments.is_empty():
            return np.empty(0, np.int64)
        form = None if moments.dtype.is_temporal() else self._form
        form = form or time_format(moments, lenient=True)
        if form is None:
            raise BadInput(f"{moments[0]!r}: expected times", "time")
        self._form = form = replace(form, zone=self._zone)
        times = to_ns(moments, form)
        if times.null_count():
            row = int(times.is_null().arg_max() or 0)
            raise BadInput(f"row {row}: {moments[row]!r}: expected {expected(moments[row : row + 1], form)}", "time")
        times_ns = times.to_numpy(writable=True)
        if form.named or form.zone != UTC_ZONE:
            self._order.settle(times_ns, to_ns(moments, form, later=True).to_numpy(), series)
        return times_ns


def _is_one(entries: Any) -> bool:
    """Whether it is a list or an array of one entry."""
    return type(entries) in (list, np.ndarray) and len(entries) == 1 and type(entries[0]) is not np.ndarray


def _column(name: str, given: Any) -> pl.Series:
    """As polars takes it; of other libraries' columns their array. Raises BadInput for what is no column."""
    if isinstance(given, pl.Series):
        column = given.alias(name)
    else:
        if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping, pl.DataFrame)):
            raise BadInput(f"{name} of type {type(given).__name__}: expected a sequence, one entry a row", "schema")
        entries = np.asarray(given) if hasattr(given, "__array__") else list(given)
        if isinstance(entries, list) and entries and isinstance(entries[0], np.datetime64):
            entries = np.array(entries)  # of which polars, in a list, mistakes the unit
        if isinstance(entries, np.ndarray) and entries.dtype.kind in "MO":
            entries = entries.astype("datetime64[ns]") if entries.dtype.kind == "M" else entries.tolist()
        try:
            column = pl.Series(name, entries, strict=False)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise BadInput(f"{name}: {error}", "schema") from error
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise BadInput(f"{name}: entries of {column.dtype}: expected one time, number or name a row", "schema")
    return column
