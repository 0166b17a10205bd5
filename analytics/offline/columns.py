"""What the columns of a table mean: its time, the values to score, and the labels that tell series apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analytics.offline.numbers import are_decimal_commas, are_numbers, to_numbers
from analytics.offline.times import TimeFormat, is_text_of_times, time_format
from telemetry.errors import BadInput

RESULTS = ("score", "alert", "expected", "lower", "upper", "reason")

_TIMES = ("timestamp", "@timestamp", "_time", "time", "datetime", "date_time", "ts", "date", "epoch", "unixtime", "t")
_VALUES = ("value", "val", "_value", "y", "metric", "reading", "measurement")
# Words about a row, not names of a series; and numbers that count rows.
_NOT_LABELS = {
    "label",
    "class",
    "anomaly",
    "is_anomaly",
    "status",
    "state",
    "comment",
    "message",
    "note",
    "event",
    "unit",
}
_NOT_VALUES = {"", "index", "id", "unnamed: 0", "label", "anomaly", "is_anomaly", "class", *RESULTS}
_FLAGS = {"true", "false", "yes", "no"}
LOOKED_AT = 1000  # rows that decide


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
    """The columns by what they mean. others: numeric ones that are carried along and could have been scored."""

    time: str
    form: TimeFormat
    values: tuple[str, ...]
    labels: tuple[str, ...]
    others: tuple[str, ...]
    decimal_comma: bool


def distinct(names: Sequence[str]) -> list[str]:
    """The names, each its own: one that comes again gets a number."""
    taken: list[str] = []
    for name in names:
        number, free = 2, name
        while free in taken:
            number, free = number + 1, f"{name}_{number}"
        taken.append(free)
    return taken


def roles(rows: pl.DataFrame, choice: Choice, separator: str = ",") -> Roles:
    """What the columns mean, by their names and first rows. Raises BadInput when there is no time or no value."""
    names = rows.columns
    for name in (choice.time, *choice.values, *(choice.labels or ())):
        if name and name not in names:
            raise BadInput(f"no column {name!r}: there are {_listed(names)}", "no_column")
    time, form = _time(rows, choice)
    first = rows.head(LOOKED_AT)
    numeric = [name for name in names if name != time and _is_numeric(name, first[name], separator)]
    labels = choice.labels if choice.labels is not None else _labels(first, time, numeric)
    numeric = [name for name in numeric if name not in labels]
    values = choice.values or _values(numeric, choice.wide, names)
    comma = separator != "," and any(are_decimal_commas(first[name]) for name in values)
    others = tuple(name for name in numeric if name not in values and _plain(name) not in _NOT_VALUES)
    return Roles(time, form, values, labels, others, comma)


def _time(rows: pl.DataFrame, choice: Choice) -> tuple[str, TimeFormat]:
    candidates = [choice.time] if choice.time else sorted(rows.columns, key=_time_rank)
    for name in candidates:
        by_name = bool(choice.time) or _time_rank(name) < len(_TIMES) + 1
        form = time_format(rows[name], choice.pattern)
        if form is not None and (by_name or _surely_times(rows[name].head(LOOKED_AT), form)):
            return name, form
    if _time_rank(candidates[0]) < len(_TIMES) or choice.time:
        raise BadInput(
            f"{candidates[0]!r} holds {_example(rows[candidates[0]])}: expected {choice.pattern or 'times'}", "no_time"
        )
    raise BadInput(f"no column of times among {_listed(rows.columns)}: name it with --time", "no_time")


def _time_rank(name: str) -> int:
    """Names that mean time come first, then those that speak of it, then the rest."""
    plain = name.strip().lower()
    if plain in _TIMES:
        return _TIMES.index(plain)
    speaks = any(word in plain for word in ("time", "date")) or plain.endswith(("_at", "_ts"))
    return len(_TIMES) + (0 if speaks else 1)


def _surely_times(column: pl.Series, form: TimeFormat) -> bool:
    """A nameless number is a time only when it is of our days: from 2001 on, in any unit."""
    if not form.unit_ns:
        return True
    least = to_numbers(column).min()
    return isinstance(least, float) and least * form.unit_ns >= 1e18


def _is_numeric(name: str, column: pl.Series, separator: str) -> bool:
    """Mostly numbers; a column that is named as a value may be mostly text, or empty so far."""
    comma = separator != "," and are_decimal_commas(column)
    if _plain(name) in _VALUES:
        return column.null_count() == len(column) or are_numbers(column, comma, least=0.0)
    return are_numbers(column, comma)


def _labels(rows: pl.DataFrame, time: str, numeric: Sequence[str]) -> tuple[str, ...]:
    texts = [
        name
        for name in rows.columns
        if name != time and name not in numeric and _plain(name) not in (*_NOT_LABELS, *RESULTS)
    ]
    return tuple(name for name in texts if _tells_series(rows[name], rows[time]))


def _tells_series(column: pl.Series, times: pl.Series) -> bool:
    """Text that repeats. Text that is new in nearly each row tells series apart only when rows share their times."""
    if not isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum)):
        return False
    known = column.drop_nulls().cast(pl.String)
    if known.is_empty() or set(known.str.to_lowercase().unique()) <= _FLAGS:
        return False
    if is_text_of_times(known):
        return False
    free_text = known.n_unique() > max(known.len() / 2, 1)
    return not free_text or times.n_unique() < times.len()


def _values(numeric: Sequence[str], wide: bool, names: Sequence[str]) -> tuple[str, ...]:
    """One named value wins; else the first numeric column; with ``wide`` all of them."""
    fit = [name for name in numeric if _plain(name) not in _NOT_VALUES]
    if not fit:
        raise BadInput(f"no column of numbers among {_listed(names)}: name it with --value", "no_value")
    if wide:
        return tuple(fit)
    named = [name for known in _VALUES for name in fit if name.strip().lower() == known]
    return ((named or fit)[0],)


def _plain(name: str) -> str:
    """Without what ``distinct`` adds."""
    return re.sub(r"_\d+$", "", name.strip().lower())


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown} …" if len(names) > 12 else shown


def _example(column: pl.Series) -> str:
    known = column.drop_nulls()
    return repr(str(known[0])) if known.len() else "nothing"
