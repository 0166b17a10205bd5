"""What the columns of a table mean: its time, the values to score, and the labels that tell series apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analytics.offline.numbers import NumberFormat, number_format, to_numbers
from analytics.offline.time_columns import LOOKED_AT, TimeColumns, listed, time_columns
from analytics.offline.times import are_clocks, is_text_of_times
from common.errors import BadInput

RESULTS = ("score", "alert", "expected", "lower", "upper", "reason")

_VALUES = ("value", "val", "_value", "y", "metric", "reading", "measurement")
# Words about a row, not names of a series; and numbers that count rows or tell of them.
_JUDGEMENTS = {"anomaly", "anomalous", "attack", "outlier", "changepoint"}
_NOT_LABELS = {"label", "class", "status", "state", "comment", "message", "note", "event", "unit"}
_NOT_VALUES = {"", "index", "id", "unnamed: 0", "label", "class", *RESULTS}
_CALENDAR = {"year", "month", "day", "hour", "minute", "second"}
_FLAGS = {"true", "false", "yes", "no"}
_GRID_MIN = 0.9  # share of times at which each number of a series has a row


@dataclass(frozen=True, slots=True)
class Choice:
    """What the person asked for; empty where the columns decide.

    labels: None: the columns decide; empty: all rows are one series. wide: each numeric column is a series.
    """

    time: str = ""
    values: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    wide: bool = False
    pattern: str | None = None


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


def roles(rows: pl.DataFrame, choice: Choice, separator: str = ",") -> Roles:
    """What the columns mean, by their names and first rows. Raises BadInput when there is no value."""
    names = rows.columns
    for name in (choice.time, *choice.values, *(choice.labels or ())):
        if name and name not in names:
            raise BadInput(f"no column {name!r}: there are {listed(names)}", "no_column")
    time = time_columns(rows, choice.time, choice.pattern)
    first = rows.head(LOOKED_AT)
    numeric = _numeric(first.drop(time.names), separator)
    labels = choice.labels
    if labels is None:
        texts = tuple(
            name for name in names if name not in (*time.names, *numeric) and _tells_series(first, name, time)
        )
        labels = (*texts, *_number_of_series(first, time, texts, list(numeric)))
    numeric = {name: form for name, form in numeric.items() if name not in labels}
    fit = [name for name, form in numeric.items() if not form.flags and not _is_about_rows(first[name])]
    values = choice.values or _values(fit or list(numeric), choice.wide, names)
    forms = {name: _later_too(first[name], numeric.get(name, NumberFormat()), separator) for name in values}
    comma = separator != "," and any(form.decimal == "," for form in numeric.values())
    return Roles(time, forms, labels, tuple(name for name in fit if name not in values), comma)


def _numeric(rows: pl.DataFrame, separator: str) -> dict[str, NumberFormat]:
    """Mostly numbers; a column that is named as a value may be mostly text, or empty so far."""
    found: dict[str, NumberFormat] = {}
    for name in rows.columns:
        named = _plain(name) in _VALUES
        form = number_format(rows[name], separator, *((0.0,) if named else ()))
        if form is None and named and rows[name].null_count() == rows.height:
            form = NumberFormat()
        if form is not None:
            found[name] = form
    return found


def _later_too(column: pl.Series, form: NumberFormat, separator: str) -> NumberFormat:
    """Whole numbers at first: what comes after commas later is a fraction, unless commas part the columns."""
    if separator == "," or form != NumberFormat() or column.dtype != pl.String:
        return form
    return form if column.str.contains(".", literal=True).any() else NumberFormat(decimal=",")


def _tells_series(rows: pl.DataFrame, name: str, time: TimeColumns) -> bool:
    """Text that repeats. Text that is new in nearly each row does when most rows share their times."""
    column = rows[name]
    if _plain(name) in (*_NOT_LABELS, *RESULTS) or _judges(name):
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


def _number_of_series(
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
    """Whether numbers count rows, date or judge them: nobody means to have those scored."""
    if _plain(column.name) in (*_NOT_VALUES, *_CALENDAR) or _judges(column.name):
        return True
    if len(column) < 3 or _plain(column.name) in _VALUES:
        return False
    numbers = to_numbers(column)
    return numbers[0] in (0.0, 1.0) and bool((numbers.diff()[1:] == 1.0).all())


def _values(fit: Sequence[str], wide: bool, names: Sequence[str]) -> tuple[str, ...]:
    """One named value wins; else the first numeric column; with ``wide`` all of them."""
    if not fit:
        raise BadInput(f"no column of numbers among {listed(names)}: name it with --value", "no_value")
    if wide:
        return tuple(fit)
    named = [name for known in _VALUES for name in fit if name.strip().lower() == known]
    return ((named or fit)[0],)


def _judges(name: str) -> bool:
    """Whether a name says that its column says what is unusual: ``is_anomaly``, ``Normal/Attack``."""
    return not _JUDGEMENTS.isdisjoint(re.split(r"[^a-z]+", name.lower()))


def _plain(name: str) -> str:
    """Without what ``distinct`` adds."""
    return re.sub(r"_\d+$", "", name.strip().lower())
