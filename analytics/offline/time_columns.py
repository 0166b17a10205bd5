"""Which columns of a table tell the time of its rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analytics.offline.numbers import to_numbers
from analytics.offline.times import SECOND_NS, TimeFormat, are_clocks, are_days, time_format, to_ns
from common.errors import BadInput

LOOKED_AT = 1000  # rows that decide

_TIMES = (
    *("timestamp", "@timestamp", "_time", "time", "datetime", "date_time", "ts", "ds", "date", "epoch", "unixtime"),
    "t",
)


@dataclass(frozen=True, slots=True)
class TimeColumns:
    """names: one, or a day and a clock; none: rows are numbered from 1, and their numbers are seconds."""

    names: tuple[str, ...]
    form: TimeFormat

    def ns(self, rows: pl.DataFrame, before: int) -> pl.Series:
        """int64[n], nanoseconds since the epoch; null where they cannot be read. before: rows that came before."""
        if not self.names:
            return pl.int_range(before + 1, before + 1 + rows.height, eager=True) * SECOND_NS
        return to_ns(_joined(rows, self.names), self.form)

    def found(self, rows: pl.DataFrame, place: int) -> str:
        """What stands in a row, for people."""
        texts = [str(text) for text in rows.select(self.names).row(place) if text is not None]
        return f"the time {' '.join(texts)!r}" if texts else "no time"


def time_columns(rows: pl.DataFrame, wanted: str, pattern: str | None) -> TimeColumns:
    """The column that is named ``wanted``, else by names and what they hold, else none.

    Raises BadInput when a column of that name, or one that is surely meant, holds no times.
    """
    names = rows.columns
    candidates = [wanted] if wanted else sorted(names, key=_rank)
    for name in candidates:
        meant = bool(wanted) or _speaks(name)
        form = time_format(rows[name] if meant else rows[name].head(LOOKED_AT), pattern)
        if form is not None and (meant or _surely_times(rows[name].head(LOOKED_AT), form)):
            clock = () if pattern else _clock(rows, name, form)
            joined = (name, *clock)
            return TimeColumns(joined, time_format(_joined(rows, joined)) or form if clock else form)
    first = rows[candidates[0]]
    if wanted or (_rank(candidates[0]) < len(_TIMES) and not are_clocks(first)):
        expected = pattern or "times (--time-format)"
        raise BadInput(f"{candidates[0]!r} holds {_example(first)}: expected {expected}", "no_time")
    if pattern:
        raise BadInput(f"no column of times among {listed(names)}: name it with --time", "no_time")
    return TimeColumns((), TimeFormat("rows in order"))


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown} …" if len(names) > 12 else shown


def _joined(rows: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    if len(names) == 1:
        return rows[names[0]]
    return rows.select(pl.concat_str(pl.col(*names).cast(pl.String).str.strip_chars(), separator=" ")).to_series()


def _clock(rows: pl.DataFrame, name: str, form: TimeFormat) -> tuple[str, ...]:
    """The column with the time of day, of days that have none."""
    if rows[name].dtype != pl.Date and not are_days(form):
        return ()
    return next(((other,) for other in rows.columns if are_clocks(rows[other].head(LOOKED_AT))), ())


def _rank(name: str) -> int:
    """Names that mean time come first, then those that speak of it, then the rest."""
    plain = name.strip().lower()
    return _TIMES.index(plain) if plain in _TIMES else len(_TIMES) + (0 if _speaks(name) else 1)


def _speaks(name: str) -> bool:
    plain = name.strip().lower()
    return plain in _TIMES or re.search(r"time|date|_(at|ts)$", plain) is not None


def _surely_times(column: pl.Series, form: TimeFormat) -> bool:
    """A nameless number is a time only when it is of our days: from 2001 on, in any unit."""
    if not form.unit_ns:
        return True
    least = to_numbers(column).min()
    return isinstance(least, float) and least * form.unit_ns >= 1e18


def _example(column: pl.Series) -> str:
    known = column.drop_nulls()
    return repr(str(known[0])) if known.len() else "nothing"
