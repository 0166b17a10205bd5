"""What the columns of a table mean: its time, the values to score, and the labels that identify its series."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.offline.numbers import NumberFormat, are_not_numbers, number_format, to_numbers
from analytics.offline.times import (
    SAMPLE_ROWS,
    SECOND_NS,
    YEARS,
    TimeFormat,
    are_clocks,
    are_days,
    expected,
    is_text_of_times,
    time_format,
    to_ns,
)
from analytics.offline.zones import UTC_ZONE, checked
from common.errors import BadInput

RESULTS = ("score", "alert", "alert_start", "expected", "lower", "upper", "reason")

_TIMES = (
    *("timestamp", "@timestamp", "_time", "time", "datetime", "date_time", "ts", "ds", "date", "epoch", "unixtime"),
    "t",
)
_VALUES = ("value", "val", "_value", "y", "metric", "reading", "measurement")
# Words about a row, not names of a series; and numbers that count rows or classify them.
_VERDICTS = {"anomaly", "anomalous", "attack", "outlier", "changepoint"}
_NOT_LABELS = {"label", "class", "status", "state", "comment", "message", "note", "event", "unit"}
_NOT_VALUES = {"", "index", "id", "unnamed: 0", "label", "class", *RESULTS}
_CALENDAR = {"year", "month", "day", "hour", "minute", "second"}
_FLAGS = {"true", "false", "yes", "no"}
_GRID_MIN = 0.9  # share of times at which each number of a series has a row
_LISTED_MAX = 12


@dataclass(frozen=True, slots=True)
class Choice:
    """What the person asked for; empty where the columns decide.

    labels: None: the columns decide; empty: all rows are one series. wide: each numeric column is a series.
    pattern: format of the times, as in strptime. zone: whose clocks show times that have none.
    """

    time: str = ""
    values: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    wide: bool = False
    pattern: str | None = None
    zone: str = UTC_ZONE


@dataclass(frozen=True, slots=True)
class TimeColumns:
    """names: one, or a day and a clock; none: rows are numbered from 1, and their numbers are seconds."""

    names: tuple[str, ...]
    form: TimeFormat

    def ns(self, rows: pl.DataFrame, before: int) -> pl.Series:
        """int64[n], nanoseconds since the epoch; null where they cannot be read. before: rows that came before.

        Of a time that clocks show twice the first.
        """
        if not self.names:
            return pl.int_range(before + 1, before + 1 + rows.height, eager=True) * SECOND_NS
        return to_ns(_joined(rows, self.names), self.form)

    def later_ns(self, rows: pl.DataFrame, times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """``times_ns``, but of times that clocks show twice the second."""
        if self.form.zone == UTC_ZONE and not self.form.named:
            return times_ns
        return to_ns(_joined(rows, self.names), self.form, later=True).to_numpy()

    def expected(self, rows: pl.DataFrame, row: int) -> str:
        """What to expect in place of a row's time, for a message."""
        return expected(_joined(rows, self.names)[row : row + 1], self.form)

    def quoted(self, rows: pl.DataFrame, row: int) -> str:
        """What a row holds, for a message."""
        texts = [str(text) for text in rows.select(self.names).row(row) if text is not None]
        return f"the time {' '.join(texts)!r}" if texts else "no time"


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns by what they mean. others: numeric ones that are carried along and could have been scored.

    decimal_comma: of what is written beside the file's own cells.
    """

    time: TimeColumns
    values: dict[str, NumberFormat]
    labels: tuple[str, ...]
    others: tuple[str, ...]
    decimal_comma: bool


def distinct(names: Sequence[str]) -> list[str]:
    """The names, each its own: one that comes again gets a number."""
    taken: dict[str, None] = {}
    for name in names:
        number, free = 2, name
        while free in taken:
            number, free = number + 1, f"{name}_{number}"
        taken[free] = None
    return list(taken)


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_LISTED_MAX])
    return f"{shown} …" if len(names) > _LISTED_MAX else shown


def roles(rows: pl.DataFrame, choice: Choice, separator: str = ",") -> Roles:
    """What the columns mean, by their names and first rows. Raises BadInput when there is no value."""
    names = rows.columns
    for name in (choice.time, *choice.values, *(choice.labels or ())):
        if name and name not in names:
            raise BadInput(f"no column {name!r}: there are {listed(names)}", "no_column")
    time = _time_columns(rows, choice.time, choice.pattern)
    if time.names:
        time = TimeColumns(time.names, replace(time.form, zone=checked(choice.zone)))
    first = rows.head(SAMPLE_ROWS)
    numeric = _numeric(first.drop(time.names), separator)
    labels = choice.labels
    if labels is None:
        texts = tuple(name for name in names if name not in (*time.names, *numeric) and _is_label(first, name, time))
        labels = (*texts, *_numeric_label(first, time, texts, list(numeric)))
    numeric = {name: form for name, form in numeric.items() if name not in labels}
    fit = [name for name, form in numeric.items() if not form.flags and not _is_about_rows(first[name])]
    values = choice.values or _values(fit or list(numeric) or _empty(first, time, labels), choice.wide, first)
    forms = {name: _later_too(first[name], numeric.get(name, NumberFormat()), separator) for name in values}
    comma = separator != "," and any(form.decimal == "," for form in numeric.values())
    return Roles(time, forms, labels, tuple(name for name in fit if name not in values), comma)


def _time_columns(rows: pl.DataFrame, wanted: str, pattern: str | None) -> TimeColumns:
    """The column that is named ``wanted``, else by names and what they hold, else none.

    Raises BadInput when a column of that name, or one whose name is a time's, holds no times.
    """
    candidates = [wanted] if wanted else sorted(rows.columns, key=_time_rank)
    for name in candidates:
        # Where a time is meant any text that can be one is; elsewhere it may be a label with digits.
        meant = bool(wanted) or _time_rank(name) <= len(_TIMES)
        form = time_format(rows[name] if meant else rows[name].head(SAMPLE_ROWS), pattern, lenient=meant)
        if form is not None and (meant or _is_recent(rows[name].head(SAMPLE_ROWS), form)):
            clock = () if pattern else _clock(rows, name, form)
            joined = (name, *clock)
            return TimeColumns(joined, time_format(_joined(rows, joined)) or form if clock else form)
    first = rows[candidates[0]]
    if wanted or (_time_rank(candidates[0]) < len(_TIMES) and not are_clocks(first)):
        known = first.drop_nulls()
        example = repr(str(known[0])) if known.len() else "nothing"
        wanted = pattern or f"times of the years {YEARS[0]} to {YEARS[1]} (--time-format)"
        raise BadInput(f"{candidates[0]!r} holds {example}: expected {wanted}", "no_time")
    if pattern:
        raise BadInput(f"no column of times among {listed(rows.columns)}: name it with --time", "no_time")
    return TimeColumns((), TimeFormat("rows in order"))


def _time_rank(name: str) -> int:
    """Names that mean time come first, then those that contain it, then the rest."""
    plain = name.strip().lower()
    if plain in _TIMES:
        return _TIMES.index(plain)
    return len(_TIMES) + (0 if re.search(r"time|date|_(at|ts)$", plain) else 1)


def _is_recent(column: pl.Series, form: TimeFormat) -> bool:
    """A nameless number is a time only when it is from 2001 on, in any unit."""
    if not form.unit_ns:
        return True
    least = to_numbers(column).min()
    return isinstance(least, float) and least * form.unit_ns >= 1e18


def _clock(rows: pl.DataFrame, name: str, form: TimeFormat) -> tuple[str, ...]:
    """The column with the time of day, of days that have none."""
    if rows[name].dtype != pl.Date and not are_days(form):
        return ()
    return next(((other,) for other in rows.columns if are_clocks(rows[other].head(SAMPLE_ROWS))), ())


def _joined(rows: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    if len(names) == 1:
        return rows[names[0]]
    return rows.select(pl.concat_str(pl.col(*names).cast(pl.String).str.strip_chars(), separator=" ")).to_series()


def _numeric(rows: pl.DataFrame, separator: str) -> dict[str, NumberFormat]:
    """Mostly numbers, or all NaN; a column that is named as a value may be mostly text, or empty so far."""
    found: dict[str, NumberFormat] = {}
    for name in rows.columns:
        named = _plain(name) in _VALUES
        form = number_format(rows[name], separator, *((0.0,) if named else ()))
        empty = named and rows[name].null_count() == rows.height
        if form is None and (empty or are_not_numbers(rows[name])):
            form = NumberFormat()
        if form is not None:
            found[name] = form
    return found


def _later_too(column: pl.Series, form: NumberFormat, separator: str) -> NumberFormat:
    """Whole numbers at first: what comes after commas later is a fraction, unless commas part the columns."""
    if separator == "," or form != NumberFormat() or column.dtype != pl.String:
        return form
    return form if column.str.contains(".", literal=True).any() else NumberFormat(decimal=",")


def _is_label(rows: pl.DataFrame, name: str, time: TimeColumns) -> bool:
    """Text that repeats. Text that is new in nearly each row is one when most rows share their times."""
    column = rows[name]
    if _plain(name) in (*_NOT_LABELS, *RESULTS) or _is_verdict(name):
        return False
    if not isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum)):
        return False
    known = column.drop_nulls().cast(pl.String)
    if known.is_empty() or set(known.str.to_lowercase().unique()) <= _FLAGS:
        return False
    if is_text_of_times(known) or are_clocks(known):
        return False
    free_text = known.n_unique() > max(known.len() / 2, 1)
    return not free_text or time.ns(rows, 0).n_unique() <= rows.height / 2


def _numeric_label(
    rows: pl.DataFrame, time: TimeColumns, texts: tuple[str, ...], numeric: Sequence[str]
) -> tuple[str, ...]:
    """A column of whole numbers, such as those of GPUs, of which each has a row at nearly each time."""
    moments = pl.DataFrame([time.ns(rows, 0).alias("a moment"), *rows.select(texts)])
    places = moments.n_unique()
    for name in numeric if len(numeric) > 1 and 1 < places < rows.height else ():
        numbers = to_numbers(rows[name])
        whole = bool((numbers == numbers.round()).all())
        grid = places * numbers.n_unique()
        if not whole or _plain(name) in _VALUES or not places < _GRID_MIN * grid <= rows.height:
            continue
        if moments.with_columns(numbers.alias("a number")).n_unique() >= _GRID_MIN * rows.height:
            return (name,)
    return ()


def _is_about_rows(column: pl.Series) -> bool:
    """Whether numbers count rows, date or classify them: nobody means to have those scored."""
    if _plain(column.name) in (*_NOT_VALUES, *_CALENDAR) or _is_verdict(column.name):
        return True
    if len(column) < 3 or _plain(column.name) in _VALUES:
        return False
    numbers = to_numbers(column)
    return numbers[0] in (0.0, 1.0) and bool((numbers.diff()[1:] == 1.0).all())


def _values(fit: Sequence[str], wide: bool, rows: pl.DataFrame) -> tuple[str, ...]:
    """One named value wins; else the first column that has a number so far, or the first; with ``wide`` all of them."""
    if not fit:
        raise BadInput(f"no column of numbers among {listed(rows.columns)}: name it with --value", "no_value")
    if wide:
        return tuple(fit)
    named = [name for known in _VALUES for name in fit if name.strip().lower() == known]
    filled = [name for name in fit if to_numbers(rows[name]).is_not_nan().any()]
    return ((named or filled or fit)[0],)


def _empty(rows: pl.DataFrame, time: TimeColumns, labels: Sequence[str]) -> list[str]:
    """Columns that hold nothing: some programs write NaN so."""
    return [name for name in rows.columns if name not in (*time.names, *labels) and not rows[name].count()]


def _is_verdict(name: str) -> bool:
    """Whether a column judges rows, by its name: ``is_anomaly``, ``Normal/Attack``."""
    return not _VERDICTS.isdisjoint(re.split(r"[^a-z]+", name.lower()))


def _plain(name: str) -> str:
    """Without what ``distinct`` adds."""
    return re.sub(r"_\d+$", "", name.strip().lower())
