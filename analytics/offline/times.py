"""Times as files write them: which format it is, and nanoseconds since the Unix epoch."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from dateutil.parser import parser, parserinfo
from numpy.typing import NDArray

from analytics.offline.numbers import to_numbers
from analytics.offline.zones import UTC_ZONE, is_zone, localised, name_zone, of_zones, parted
from common.errors import BadInput

SECOND_NS = 1_000_000_000
TIME_NS_MIN, TIME_NS_MAX = -(2**63), 2**63 - 1
SAMPLE_ROWS = 1000  # rows that decide what a column holds
# A number's size shows its unit: in seconds 1e11 is the year 5138, in milliseconds 1973.
_UNITS = ((1e11, SECOND_NS, "seconds"), (1e14, 1_000_000, "milliseconds"), (1e17, 1000, "microseconds"))
# Formats that programs write are patterns of polars, which reads them a hundred times as fast as dateutil reads the
# rest. A month's name may be its first letters. What two formats read alike is the first one's.
_DATES = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %B %Y", "%d-%B-%Y", "%d/%B/%Y", "%B %d %Y", "%B %d, %Y", "%A, %d %B %Y"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%B-%y"),
)
_SEPARATORS = ("T", " ", ", ", ":", "_")
_CLOCKS = ("%H:%M:%S", "%H:%M:%S%.f", "%H:%M:%S,%3f", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%H%M%S", "%H.%M.%S")
_UTC = ("Z", " UTC", " GMT")
_OFFSET = "%#z"  # +02, +0200, +02:00
_CTIME = "%a %b %e %H:%M:%S %Y"
_DIGITS_MIN = 4  # of a date: 1/1/24
_CLOCK = r"^\d{1,2}(?::\d\d(?::\d\d(?:[.,]\d+)?)?|\.\d\d\.\d\d)(?: ?[AaPp][Mm])?$"
_COMPACT = {8: "%Y%m%d", 14: "%Y%m%d%H%M%S"}
YEARS = (1800, 2199)  # of a column of times; others are a wrong reading: year 24, or a date where a number was meant
_REACH_YEARS = (1678, 2261)  # whole years that 64 bits of nanoseconds reach
_UNREADABLE_MAX = 0.5  # share of texts that may be broken in a column of times
_STEP_RATIO_MIN = 1.5  # how much longer the longest step of a wrong reading must be: a month of days for a day


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """unit_ns: of a number; 0 for text. patterns: as in strptime; later ones are for what the first cannot read.

    Text without a pattern is for dateutil, and day_first says how it reads 03/04/2024.
    zone: whose clocks show the times that have none of their own. named: each text ends with the name of its zone.
    """

    words: str
    unit_ns: int = 0
    patterns: tuple[str, ...] = ()
    day_first: bool = False
    zone: str = UTC_ZONE
    named: bool = False


_TYPED = TimeFormat("times")
_MONTH_FIRST, _DAY_FIRST = TimeFormat("a date, month first"), TimeFormat("a date, day first", day_first=True)


def time_format(column: pl.Series, pattern: str | None = None, lenient: bool = False) -> TimeFormat | None:
    """The format of a column of texts, numbers or typed times; None when it holds no times.

    pattern: a format that is known, as in strptime. lenient: whether any text with a year, a month and a day is a time.
    Raises BadInput when days and months cannot be distinguished.
    """
    if column.dtype.is_temporal():
        return _TYPED if column.dtype.base_type() in (pl.Datetime, pl.Date) else None
    known = column.drop_nulls()
    if column.dtype == pl.String:
        known = known.str.strip_chars()
    if known.is_empty() or not (column.dtype.is_numeric() or column.dtype == pl.String):
        return None
    if pattern is not None:
        form = _of_patterns(pattern.replace(".%f", "%.f"))  # Python's fraction of a second, and polars'
        return next(iter(_best(known.head(SAMPLE_ROWS), [form])), None)
    numbers = known.cast(pl.Float64, strict=False)
    if numbers.null_count() <= known.len() * _UNREADABLE_MAX:
        return _of_numbers(known, numbers.drop_nulls().to_numpy())
    return _of_texts(known, lenient) if column.dtype == pl.String else None


def in_words(time_ns: int) -> str:
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
    return bool(form.patterns) and form.patterns[0] in _DATES and not form.named


def to_ns(column: pl.Series, form: TimeFormat, later: bool = False) -> pl.Series:
    """int64[n], nanoseconds since the epoch; null where the format does not fit, where 64 bits do not reach, and for
    what the clocks of the zone skip.

    later: of a time that clocks show twice, the second; else the first.
    """
    if column.dtype.is_temporal():
        times = column.cast(pl.Datetime("ns"), strict=False).to_physical()
        return times if getattr(column.dtype, "time_zone", None) else localised(times, form.zone, later)
    if form.unit_ns:
        return _from_numbers(column, form.unit_ns)
    texts = column.cast(pl.String).str.strip_chars()
    if form.named:
        return of_zones(texts, lambda plain, zone: to_ns(plain, replace(form, zone=zone, named=False), later))
    if not form.patterns:
        return _by_dateutil(texts, form, later)
    times = _by_pattern(texts, form.patterns[0], form.zone, later)
    for pattern in form.patterns[1:]:
        if times.null_count() == texts.null_count():
            break
        times = pl.select(pl.coalesce(times, _by_pattern(texts, pattern, form.zone, later))).to_series()
    return times


def expected(entry: pl.Series, form: TimeFormat) -> str:
    """What to expect in place of the one ``entry``, of which ``to_ns`` makes no time."""
    if form.named:
        plain, zones = parted(entry.str.strip_chars())
        if zones[0] is None or not is_zone(zones[0]):
            return form.words
        entry, form = plain, replace(form, zone=zones[0], named=False)
    if not to_ns(entry, replace(form, zone=UTC_ZONE)).null_count():
        return f"a time that clocks in {form.zone} show: they are put forward past this one"
    if _is_out_of_reach(entry, form):
        by_words = not (form.patterns or form.unit_ns or entry.dtype.is_temporal())
        first, last = YEARS if by_words else _REACH_YEARS
        return f"a time from {first}-01-01 to {last}-12-31"
    return form.words


def _is_out_of_reach(entry: pl.Series, form: TimeFormat) -> bool:
    """Whether it is a time, but one that 64 bits of nanoseconds do not reach, or that is not meant."""
    if entry.dtype.is_temporal():
        return not entry.null_count()
    if form.unit_ns:
        number = to_numbers(entry)[0]
        return bool(np.isfinite(number))
    texts = entry.cast(pl.String).str.strip_chars()
    if not form.patterns:
        return texts[0] is not None and _parsed(texts[0], form.day_first) is not None
    return any(not _years(texts, pattern).null_count() for pattern in form.patterns)


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
        return _of_patterns(pattern)
    size = float(np.median(np.minimum(np.abs(numbers), 1e18)))
    for limit, unit_ns, name in _UNITS:
        if size < limit:
            return TimeFormat(f"a number of {name} since 1970", unit_ns)
    return TimeFormat("a number of nanoseconds since 1970", 1)


def _of_patterns(*patterns: str) -> TimeFormat:
    return TimeFormat(patterns[0], patterns=tuple(dict.fromkeys(patterns)))


def _of_texts(known: pl.Series, lenient: bool) -> TimeFormat | None:
    sample, named = known.head(SAMPLE_ROWS), name_zone(known)
    forms = _best(sample, list(_candidates(sample.head(1))))
    if len(forms) > 1:
        forms = _best(known, forms)
    elif lenient and not forms:
        # A date that begins with its year goes on with the month.
        year_first = sample.str.contains(r"^\d{4}").all()
        wordy = [_MONTH_FIRST] if year_first else [_MONTH_FIRST, _DAY_FIRST]
        known, forms = sample, _best(sample, [_with_names(form) for form in wordy] if named else wordy)
    readings: list[tuple[TimeFormat, pl.Series]] = []
    for form in forms:
        times = to_ns(known, form)
        if not any(times.equals(other) for _, other in readings):
            readings.append((form, times))
    return _decided_by_steps(readings, known) if len(readings) > 1 else next(iter(forms), None)


def _decided_by_steps(readings: list[tuple[TimeFormat, pl.Series]], known: pl.Series) -> TimeFormat:
    """Days taken for months make jumps of a month between rows that are a moment apart."""
    steps = [np.abs(np.diff(times.drop_nulls().to_numpy())) for _, times in readings]
    longest = [(int(step.max(initial=0)), form) for step, (form, _) in zip(steps, readings, strict=True)]
    longest.sort(key=lambda pair: pair[0])
    if longest[0][0] * _STEP_RATIO_MIN < longest[1][0]:
        return longest[0][1]
    example = known.filter(readings[0][1].is_not_null())[0]
    choice = " or ".join(f"'{form.words}'" for _, form in longest)
    raise BadInput(f"is {example} of the form {choice}? Name it with --time-format", "ambiguous_time")


def _with_names(form: TimeFormat) -> TimeFormat:
    return replace(form, words=f"{form.words} and a zone such as Europe/Berlin", named=True)


def _candidates(first: pl.Series) -> Iterator[TimeFormat]:
    if name_zone(first):
        yield from map(_with_names, _candidates(parted(first)[0]))
        return
    text = str(first[0]) if len(first) else ""
    if sum(map(str.isdigit, text)) < _DIGITS_MIN:
        return
    separators = [separator for separator in _SEPARATORS if separator in text]
    # Zones by their letters are left to no library: both read 12:00 EST as 12:00 UTC.
    zones = [zone for zone in _UTC if text.endswith(zone)] or ["", _OFFSET]
    for date in _DATES:
        if not _readable(first, date, exact=False):
            continue
        for separator, clock, zone in product(separators, _CLOCKS, zones):
            pattern = f"{date}{separator}{clock}{zone}"
            if _readable(first, pattern):
                # Some programs leave out the clock at midnight, or the fraction of a whole second.
                yield _of_patterns(pattern, f"{date}{separator}%H:%M:%S%.f{zone}", date)
        if _readable(first, date):
            yield _of_patterns(date)
    if _readable(first, _CTIME):
        yield _of_patterns(_CTIME)


def _best(known: pl.Series, forms: list[TimeFormat]) -> list[TimeFormat]:
    """Those that leave the fewest unread; a few rows may be broken, and are named when their turn comes."""
    unread = [to_ns(known, form).null_count() for form in forms]
    fewest = min(unread, default=0)
    if fewest > known.len() * _UNREADABLE_MAX:
        return []
    return [form for form, nulls in zip(forms, unread, strict=True) if nulls == fewest]


def _readable(texts: pl.Series, pattern: str, exact: bool = True) -> bool:
    """Whether all are dates of this pattern, or contain one unless ``exact``, in years that can be meant."""
    try:
        years = texts.str.to_datetime(pattern, strict=False, exact=exact, time_unit="us").dt.year()
    except pl.exceptions.ComputeError:
        return False
    return years.null_count() == 0 and bool(years.is_between(*YEARS).all())


def _by_pattern(texts: pl.Series, pattern: str, zone: str = UTC_ZONE, later: bool = False) -> pl.Series:
    try:
        times = texts.str.to_datetime(pattern, strict=False, time_unit="ns").to_physical().cast(pl.Int64)
        if not _are_near(texts, pattern):
            # Nanoseconds of far years wrap around, to a time that looks like any other.
            times = times.set(~_years(texts, pattern).is_between(*_REACH_YEARS).fill_null(True), None)
    except pl.exceptions.ComputeError as error:
        raise BadInput(f"{pattern!r}: expected a time format such as '%Y-%m-%d %H:%M:%S'", "time_format") from error
    return times if _has_zone(pattern) else localised(times, zone, later)


def _are_near(texts: pl.Series, pattern: str) -> bool:
    """Whether all years are in reach, by a look at the digits that they begin with."""
    if not pattern.startswith("%Y"):
        return False
    years = texts.str.head(4)
    least, most = years.min(), years.max()
    first, last = _REACH_YEARS
    return least is None or str(first) <= str(least) <= str(most) <= str(last)


def _years(texts: pl.Series, pattern: str) -> pl.Series:
    return texts.str.to_datetime(pattern, strict=False, time_unit="us").dt.year()


def _has_zone(pattern: str) -> bool:
    return pattern.endswith(_UTC) or re.search("%[#:]*[zZ]", pattern) is not None


class _WholeDates(parserinfo):
    """dateutil completes a date from today, and takes a zone that it does not know for none: both are no times here."""

    def validate(self, res: Any) -> bool:
        known = res.century_specified and None not in (res.year, res.month, res.day)
        return known and super().validate(res) and (not res.tzname or res.tzoffset is not None)


_PARSER = parser(_WholeDates())
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _by_dateutil(texts: pl.Series, form: TimeFormat, later: bool) -> pl.Series:
    read = {text: _one_by_dateutil(text, form.day_first) for text in texts.drop_nulls().unique()}
    zoned = {text: _ns(time) for text, time in read.items() if time and time.tzinfo}
    clocks = {text: _ns(time.replace(tzinfo=UTC)) for text, time in read.items() if time and not time.tzinfo}
    times, shown = (texts.replace_strict(known, default=None, return_dtype=pl.Int64) for known in (zoned, clocks))
    return pl.select(pl.coalesce(times, localised(shown, form.zone, later))).to_series()


def _one_by_dateutil(text: str, day_first: bool) -> datetime | None:
    time, (first, last) = _parsed(text, day_first), YEARS
    return time if time and first <= time.year <= last else None


def _parsed(text: str, day_first: bool) -> datetime | None:
    """Without a zone where the text has none."""
    try:
        return _PARSER.parse(text, default=_EPOCH.replace(tzinfo=None), dayfirst=day_first)
    except (ValueError, OverflowError):
        return None


def _ns(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1) * 1000
