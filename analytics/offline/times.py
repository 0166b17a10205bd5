"""Times as files write them: which format it is, and nanoseconds since the Unix epoch."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from common.errors import BadInput

SECOND_NS = 1_000_000_000
TIME_NS_MIN, TIME_NS_MAX = -(2**63), 2**63 - 1
# A number's size tells its unit: in seconds 1e11 is the year 5138, in milliseconds 1973.
_UNITS = ((1e11, SECOND_NS, "seconds"), (1e14, 1_000_000, "milliseconds"), (1e17, 1000, "microseconds"))
# A month's name may be its first letters.
_DATES = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %B %Y", "%d-%B-%Y", "%d/%B/%Y", "%B %d %Y", "%B %d, %Y", "%A, %d %B %Y"),
)
_DATES_OF_TWO_DIGITS = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%B-%y")
_BETWEEN = ("T", " ", ", ", ":", "_")
_CLOCKS = ("%H:%M:%S", "%H:%M:%S%.f", "%H:%M:%S,%3f", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%H%M%S", "%H.%M.%S")
# How a text ends, and its zone. The last one is of hours alone.
_ZONES = (
    *((r"Z$", "Z"), (r" UTC$", " UTC"), (r" GMT$", " GMT")),
    *((r"\d[+-]\d\d:?\d\d$", "%z"), (r" [+-]\d\d:?\d\d$", " %z"), (r"\d[+-]\d\d$", "%#z")),
)
_DIGITS_MIN = 4  # of a date: 1/1/24
_CLOCK = r"^\d{1,2}(?::\d\d(?::\d\d(?:[.,]\d+)?)?|\.\d\d\.\d\d)(?: ?[AaPp][Mm])?$"
_COMPACT = {8: "%Y%m%d", 14: "%Y%m%d%H%M%S"}
_YEARS = (1800, 2199)  # others are a wrong reading: year 24, or a date where a number was meant
_UNREADABLE_MAX = 0.5  # share of texts that may be broken in a column of times
_LOOKED_AT = 1000  # rows that tell most formats apart
_CLEARLY = 1.5  # how much longer the longest step of a wrong reading must be: a month of days for a day


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """unit_ns: of a number; 0 for text. patterns: as in strptime; later ones are for what the first cannot read."""

    words: str
    unit_ns: int = 0
    patterns: tuple[str, ...] = ()


_TYPED = TimeFormat("times")


def time_format(column: pl.Series, pattern: str | None = None) -> TimeFormat | None:
    """The format of a column of texts, numbers or typed times; None when it holds no times.

    pattern: a format that is known, as in strptime.
    Raises BadInput when days and months cannot be told apart.
    """
    if column.dtype.is_temporal():
        return _TYPED if column.dtype.base_type() in (pl.Datetime, pl.Date) else None
    known = column.drop_nulls()
    if column.dtype == pl.String:
        known = known.str.strip_chars()
    if known.is_empty() or not (column.dtype.is_numeric() or column.dtype == pl.String):
        return None
    if pattern is not None:
        return next(iter(_best(known.head(_LOOKED_AT), [TimeFormat(pattern, patterns=(pattern,))])), None)
    numbers = known.cast(pl.Float64, strict=False)
    if numbers.null_count() <= known.len() * _UNREADABLE_MAX:
        return _of_numbers(known, numbers.drop_nulls().to_numpy())
    return _of_texts(known) if column.dtype == pl.String else None


def words(time_ns: int) -> str:
    """``2024-01-31 12:00:00``, in UTC."""
    return str(np.datetime64(time_ns, "ns").astype("datetime64[s]")).replace("T", " ")


def is_text_of_times(column: pl.Series) -> bool:
    """Whether the first text of a column is a time in some format that text alone can have."""
    return column.dtype == pl.String and any(True for _ in _candidates(column.drop_nulls().head(1).str.strip_chars()))


def are_clocks(column: pl.Series) -> bool:
    """Whether a column holds times of day without their days."""
    if column.dtype == pl.Time:
        return True
    known = column.drop_nulls()
    return column.dtype == pl.String and len(known) > 0 and known.str.strip_chars().str.contains(_CLOCK).all()


def are_days(form: TimeFormat) -> bool:
    """Whether a format is of texts that are days without a time of day."""
    return bool(form.patterns) and form.patterns[0] in (*_DATES, *_DATES_OF_TWO_DIGITS)


def to_ns(column: pl.Series, form: TimeFormat) -> pl.Series:
    """int64[n], nanoseconds since the epoch; null where the format does not fit. Times without a zone are UTC."""
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("ns")).to_physical().cast(pl.Int64)
    if form.unit_ns:
        return _from_numbers(column, form.unit_ns)
    texts = column.cast(pl.String).str.strip_chars()
    times = _parse(texts, form.patterns[0])
    for pattern in form.patterns[1:]:
        if times.null_count() == texts.null_count():
            break
        times = pl.select(pl.coalesce(times, _parse(texts, pattern))).to_series()
    return times


def _from_numbers(column: pl.Series, unit_ns: int) -> pl.Series:
    texts = column.str.strip_chars() if column.dtype == pl.String else column
    limit = (2**63 - 1) // unit_ns
    whole = texts.cast(pl.Int64, strict=False) if not texts.dtype.is_float() else pl.Series([None], dtype=pl.Int64)
    if len(whole) == len(column) and whole.null_count() == column.null_count():
        return whole.set(whole.abs() > limit, None) * unit_ns
    # A float of seconds keeps a tenth of a microsecond; whole and broken parts apart keep all that was written.
    floats = texts.cast(pl.Float64, strict=False).fill_nan(None)
    floats = floats.set(floats.abs() > limit, None)
    seconds = floats.floor()
    return seconds.cast(pl.Int64) * unit_ns + ((floats - seconds) * unit_ns).round().cast(pl.Int64)


def _of_numbers(known: pl.Series, numbers: NDArray[np.float64]) -> TimeFormat | None:
    if not np.isfinite(numbers).all():
        return None
    texts = known.cast(pl.String)
    lengths = texts.str.len_bytes()
    if lengths.min() == lengths.max() and (pattern := _COMPACT.get(int(lengths[0]))) and _readable(texts, pattern):
        return TimeFormat(pattern, patterns=(pattern,))
    size = float(np.median(np.minimum(np.abs(numbers), 1e18)))
    for limit, unit_ns, name in _UNITS:
        if size < limit:
            return TimeFormat(f"a number of {name} since 1970", unit_ns)
    return TimeFormat("a number of nanoseconds since 1970", 1)


def _of_texts(known: pl.Series) -> TimeFormat | None:
    forms = _best(known.head(_LOOKED_AT), list(_candidates(known.head(1))))
    if len(forms) > 1:
        forms = _best(known, forms)
    # Formats that read the same times are one, the first of them.
    readings = [to_ns(known, form) for form in forms]
    told = [place for place, times in enumerate(readings) if not any(times.equals(other) for other in readings[:place])]
    if len(told) < 2:
        return forms[told[0]] if told else None
    return _told_by_steps([(forms[place], readings[place]) for place in told], str(known[0]))


def _told_by_steps(readings: list[tuple[TimeFormat, pl.Series]], example: str) -> TimeFormat:
    """Days taken for months make jumps of a month between rows that are a moment apart."""
    longest = [(float(np.abs(np.diff(times.to_numpy())).max(initial=0)), form) for form, times in readings]
    longest.sort(key=lambda pair: pair[0])
    if longest[0][0] * _CLEARLY < longest[1][0]:
        return longest[0][1]
    choice = " or ".join(f"'{form.patterns[0]}'" for _, form in longest)
    raise BadInput(f"is {example} of the form {choice}? Say so with --time-format", "ambiguous_time")


def _candidates(first: pl.Series) -> Iterator[TimeFormat]:
    text = str(first[0]) if len(first) else ""
    if sum(map(str.isdigit, text)) < _DIGITS_MIN:
        return
    betweens = [between for between in _BETWEEN if between in text]
    zones = [zone for end, zone in _ZONES if re.search(end, text)] or [""]
    for date in (*_DATES, *_DATES_OF_TWO_DIGITS):
        for between, clock, zone in product(betweens, _CLOCKS, zones):
            pattern = f"{date}{between}{clock}{zone}"
            if _readable(first, pattern):
                # Some programs leave out the clock at midnight, or the fraction of a whole second.
                fallback = f"{date}{between}%H:%M:%S%.f{zone}"
                yield TimeFormat(pattern, patterns=tuple(dict.fromkeys((pattern, fallback, date))))
        if _readable(first, date):
            yield TimeFormat(date, patterns=(date,))
    if _readable(first, "%a %b %e %H:%M:%S %Y"):
        yield TimeFormat("%a %b %e %H:%M:%S %Y", patterns=("%a %b %e %H:%M:%S %Y",))


def _best(known: pl.Series, forms: list[TimeFormat]) -> list[TimeFormat]:
    """Those that leave the fewest unread; a few rows may be broken, and are named when their turn comes."""
    unread = [to_ns(known, form).null_count() for form in forms]
    fewest = min(unread, default=0)
    if fewest > known.len() * _UNREADABLE_MAX:
        return []
    return [form for form, nulls in zip(forms, unread, strict=True) if nulls == fewest]


def _readable(texts: pl.Series, pattern: str) -> bool:
    """Whether all are dates of this pattern, in years that can be meant."""
    try:
        years = texts.str.to_datetime(pattern, strict=False, time_unit="us").dt.year()
    except pl.exceptions.ComputeError:
        return False
    first, last = _YEARS
    return years.null_count() == 0 and bool(years.is_between(first, last).all())


def _parse(texts: pl.Series, pattern: str) -> pl.Series:
    try:
        return texts.str.to_datetime(pattern, strict=False, time_unit="ns").to_physical().cast(pl.Int64)
    except pl.exceptions.ComputeError as error:
        raise BadInput(f"{pattern!r}: expected a time format such as '%Y-%m-%d %H:%M:%S'", "time_format") from error
