"""Times in the formats that people have."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pytest

from analytics.offline.times import (
    TimeFormat,
    are_clocks,
    are_days,
    expected,
    in_words,
    is_text_of_times,
    time_format,
    to_ns,
)
from common.errors import BadInput

NOON = 1_704_110_400  # 2024-01-01 12:00:00 UTC


def read(*values: object, pattern: str | None = None, lenient: bool = False) -> Any:
    column = pl.Series(values)
    form = time_format(column, pattern, lenient)
    return None if form is None else to_ns(column, form).to_list()


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01T12:00:00Z",
        "2024-01-01T12:00:00",
        "2024-01-01 12:00:00",
        "2024-01-01 12:00",
        "2024-01-01 12:00:00.000",
        "2024-01-01 12:00:00,000",
        "2024-01-01T14:00:00+02:00",
        "2024-01-01 07:00:00 -0500",
        "2024-01-01 12:00:00 UTC",
        "2024/01/01 12:00:00",
        "01.01.2024 12:00",
        "1 Jan 2024 12:00:00",
        "01/Jan/2024:12:00:00 +0000",
        "20240101120000",
        "20240101T120000Z",
        "20240101 12:00:00",
        "2024.01.01 12:00",
        "2024-01-01_12:00:00",
        "2024-01-01 12:00:00+00",
        "2024-01-01 07:00:00.000-05",
        "01-Jan-24 12:00:00",
        "Jan 1, 2024 12:00:00 PM",
        "January 1, 2024, 12:00",
        "Mon Jan  1 12:00:00 2024",
        "Mon, 01 Jan 2024 12:00:00 GMT",
        " 2024-01-01 12:00:00 ",
        "1704110400",
        "1704110400.0",
        "1.7041104e9",
        "1704110400000",
        "1704110400000000",
        "1704110400000000000",
    ],
)
def test_one_moment_in_many_formats(text):
    assert read(text) == [NOON * 10**9]


@pytest.mark.parametrize(
    "values",
    [
        (NOON, NOON + 1),
        (float(NOON), NOON + 0.5),
        ("1704110400", "1704110400.5"),
        ("2024-01-01 12:00:00", "2024-01-01 12:00:00.5"),
        ("2024-01-01", "2024-01-01 12:00:00"),
    ],
)
def test_a_column_may_mix_two_precisions(values):
    times = read(*reversed(values))
    assert None not in times
    assert times[0] > times[1]


def test_a_day_above_twelve_distinguishes_days_from_months():
    assert read("03/04/2024", "13/04/2024")[1] == 1_712_966_400 * 10**9
    assert read("04/03/2024", "04/13/2024")[1] == 1_712_966_400 * 10**9


def test_steps_between_rows_distinguish_days_from_months():
    assert read("02/01/2024 23:59", "03/01/2024 00:00") == [1_704_239_940 * 10**9, 1_704_240_000 * 10**9]


def test_days_and_months_that_cannot_be_distinguished_need_a_format():
    with pytest.raises(BadInput, match="--time-format"):
        read("03/04/2024", "03/04/2024")
    assert read("03/04/2024", pattern="%d/%m/%Y") == [1_712_102_400 * 10**9]


def test_a_broken_row_is_null():
    assert read("2024-01-01", "2024-01-02", "soon")[2] is None


def test_all_digits_of_nanoseconds_are_kept():
    assert read(1_704_110_400_123_456_789, 1_704_110_400_123_456_790)[0] == 1_704_110_400_123_456_789
    assert read("2024-01-01 12:00:00.123456789") == [1_704_110_400_123_456_789]


@pytest.mark.parametrize("values", [("a", "b"), ("12:00:00",), (True, False), ("",), ("2024-01-01 12:00 EST",)])
def test_no_times(values):
    assert read(*values) is None
    assert read(*values, lenient=True) is None


# The unit is that in which the size is a date between 1973 and 5138.
@pytest.mark.parametrize(
    ("number", "time_ns", "unit"),
    [
        (0, 0, "seconds"),
        (-1, -1_000_000_000, "seconds"),
        (-0.25, -250_000_000, "seconds"),
        (1.5, 1_500_000_000, "seconds"),
        ("1e3", 1000 * 10**9, "seconds"),
        (99_999_999_999, None, "seconds"),  # the year 5138: out of reach of 64 bits
        (9_000_000_000, 9 * 10**18, "seconds"),
        (100_000_000_000, 10**17, "milliseconds"),
        ("1704110400000.25", NOON * 10**9 + 250_000, "milliseconds"),
        (100_000_000_000_000, 10**17, "microseconds"),
        (100_000_000_000_000_000, 10**17, "nanoseconds"),
    ],
)
def test_the_size_of_a_number_shows_its_unit(number, time_ns, unit):
    column = pl.Series([number])
    form = time_format(column)
    assert form is not None
    assert form.words == f"a number of {unit} since 1970"
    assert to_ns(column, form).to_list() == [time_ns]


# 2024-02-29 00:00 UTC is day 19,782 since 1970: 54 years of 365 days, 13 leap days, 31 days and 28.
LEAP_DAY = 19_782 * 86_400 * 10**9


@pytest.mark.parametrize(
    ("text", "pattern", "time_ns"),
    [
        ("2024-02-29", "%Y-%m-%d", LEAP_DAY),
        ("29/02/24 00:00", "%d/%m/%y %H:%M", LEAP_DAY),
        ("2/29/2024 12:00 AM", "%m/%d/%Y %I:%M %p", LEAP_DAY),
        ("2024-02-29T05:30+05:30", "%Y-%m-%dT%H:%M%#z", LEAP_DAY),
        ("2024-02-28 21:00:00-03", "%Y-%m-%d %H:%M:%S%#z", LEAP_DAY),
        ("2024-02-29 00:00:00.5Z", "%Y-%m-%d %H:%M:%S%.fZ", LEAP_DAY + 500_000_000),
        ("2024-02-29 00:00:00,007", "%Y-%m-%d %H:%M:%S,%3f", LEAP_DAY + 7_000_000),
        ("Thu Feb 29 00:00:00 2024", "%a %b %e %H:%M:%S %Y", LEAP_DAY),
        ("1969-12-31 23:59:59", "%Y-%m-%d %H:%M:%S", -(10**9)),
    ],
)
def test_the_pattern_that_is_found(text, pattern, time_ns):
    column = pl.Series([text])
    form = time_format(column)
    assert form is not None
    assert form.words == pattern
    assert to_ns(column, form).to_list() == [time_ns]


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("Thu Feb 29 00:00:00 UTC 2024", LEAP_DAY),
        ("Feb 29 2024 at 1:30", LEAP_DAY + 5400 * 10**9),
        ("29 February 2024 3pm", LEAP_DAY + 15 * 3600 * 10**9),
        ("Thu Feb 29 02:00:00 2024 +0200", LEAP_DAY),
        ("20240229 0001", LEAP_DAY + 60 * 10**9),
        ("2024-02-29 at 00:00:00.000001", LEAP_DAY + 1000),
    ],
)
def test_where_a_time_is_meant_dateutil_reads_what_no_pattern_does(text, time_ns):
    assert read(text, lenient=True) == [time_ns]
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("29 February 3pm", "Thursday 10:00", "10:00 2024", "Feb 2024 at 1:30"),  # dateutil would complete from today
        *("1-2-3 at 10:00", "29 Feb 24 3pm"),  # the century would be today's
        *("Thu Feb 29 00:00:00 EST 2024", "yesterday", "10.1.2.3", "0000:18:00.0", "Feb 30 2024 at 1:30"),
        "Feb 29 1024 at 1:30",
    ],
)
def test_what_dateutil_would_have_to_guess_is_no_time(text):
    assert read(text, lenient=True) is None


def test_dateutil_needs_days_and_months_that_are_clear():
    assert read("13/2/2024 at 1:30", "12/2/2024 at 1:30", lenient=True)[1] == read("2024-02-12 01:30")[0]
    assert read("2/13/2024 at 1:30", "2/12/2024 at 1:30", lenient=True)[1] == read("2024-02-12 01:30")[0]
    with pytest.raises(BadInput, match="is 1/2/2024 at 1:30 of the form 'a date, month first' or 'a date, day first'"):
        read("soon", "1/2/2024 at 1:30", "1/2/2024 at 1:31", lenient=True)


def test_a_pattern_may_write_fractions_as_python_does():
    assert read("01/02/2024 00:00:00.5", pattern="%d/%m/%Y %H:%M:%S.%f") == read("2024-02-01 00:00:00.5")


@pytest.mark.parametrize(
    ("texts", "clocks"),
    [
        (["10:00", " 9:30:15 "], True),
        (["10.00.00"], True),
        (["10:00:00.5", "10:00:01,25"], True),
        (["10:00 PM", "1:00am"], True),
        (["10:00", "soon"], False),
        (["10"], False),
        ([], False),
    ],
)
def test_clocks(texts, clocks):
    assert are_clocks(pl.Series(texts, dtype=pl.String)) is clocks


@pytest.mark.parametrize(("text", "days"), [("2024-01-01", True), ("01.02.2024", True), ("2024-01-01 10:00", False)])
def test_days(text, days):
    form = time_format(pl.Series([text]))
    assert form is not None
    assert are_days(form) is days


@pytest.mark.parametrize(
    ("text", "is_time"),
    [("2024-01-01", True), ("1 Jan 2024", True), ("20240101", True), ("1704110400", False), ("node-2024", False)],
)
def test_text_that_only_a_time_can_be(text, is_time):
    assert is_text_of_times(pl.Series([text])) is is_time


def test_a_time_in_words_is_in_utc():
    assert in_words(NOON * 10**9 + 999) == "2024-01-01 12:00:00"


@pytest.mark.parametrize(
    ("text", "in_utc"),
    [
        ("2026-01-01 00:00 Europe/Berlin", "2025-12-31 23:00:00"),
        ("2026-07-01T00:00:00 Asia/Kolkata", "2026-06-30 18:30:00"),
        ("2026-07-01T00:00+02:00[Europe/Berlin]", "2026-06-30 22:00:00"),
        ("2026-07-01T00:00:00.5Z[Etc/UTC]", "2026-07-01 00:00:00"),
        ("01.07.2026 00:00 America/Argentina/Buenos_Aires", "2026-07-01 03:00:00"),
        ("Jul 1 2026 at 1:00 Europe/Berlin", "2026-06-30 23:00:00"),
    ],
)
def test_a_text_may_name_its_zone(text, in_utc):
    (time_ns,) = read(text, lenient=True)
    assert in_words(time_ns) == in_utc


def test_each_row_may_name_another_zone():
    hours = [f"2026-01-01 12:00 {zone}" for zone in ("Europe/Berlin", "Asia/Tokyo", "Europe/Berlln", "Europe/Berlin")]
    times = read(*hours)
    assert [time and in_words(time)[11:16] for time in times] == ["11:00", "03:00", None, "11:00"]


def zoned(*values: object, zone: str = "Europe/Berlin", lenient: bool = False) -> tuple[pl.Series, TimeFormat]:
    column = pl.Series(values)
    form = time_format(column, lenient=lenient)
    assert form is not None
    return column, replace(form, zone=zone)


@pytest.mark.parametrize(
    "value",
    [
        *("2026-07-01 02:00", "01.07.2026 02:00:00", "2026-07-01 00:00+00:00", "2026-06-30T20:00:00-04:00"),
        *("2026-07-01T00:00Z", "Jul 1 2026 at 2:00", "Wed Jul 1 00:00:00 UTC 2026", "2026-06-30 19:00 America/Chicago"),
        *(1_782_864_000, "1782864000.0", datetime(2026, 7, 1, 2), datetime(2026, 7, 1, tzinfo=UTC)),  # noqa: DTZ001
    ],
)
def test_the_zone_is_of_times_that_have_none(value):
    column, form = zoned(value, lenient=True)
    assert to_ns(column, form).to_list() == to_ns(column, form, later=True).to_list() == read("2026-07-01")


def test_a_date_is_the_midnight_of_the_zone():
    assert [in_words(time) for time in to_ns(*zoned(date(2026, 7, 1)))] == ["2026-06-30 22:00:00"]


def test_what_clocks_show_twice_and_what_they_skip():
    column, form = zoned("2026-10-25 01:59", "2026-10-25 02:30", "2026-10-25 03:00", "2026-03-29 02:30")
    first, second = to_ns(column, form).to_list(), to_ns(column, form, later=True).to_list()
    assert [in_words(time)[11:16] for time in first[:3]] == ["23:59", "00:30", "02:00"]
    assert [b - a for a, b in zip(first[:3], second[:3], strict=True)] == [0, 3600 * 10**9, 0]
    assert first[3] is second[3] is None
    words = "a time that clocks in Europe/Berlin show: they are put forward past this one"
    assert expected(column[3:], form) == words
    named, form = zoned("2026-03-29 01:30 Europe/Berlin", "2026-03-29 02:30 Europe/Berlin", zone="UTC")
    assert expected(named[1:], form) == words


@pytest.mark.parametrize(
    "values",
    [
        ("2024-01-01", "2024-01-02", "2024-01-03", "2300-01-01", "1600-01-01", "9999-12-31"),
        ("31.01.2024", "30.01.2024", "01.01.2300"),
        (date(2024, 1, 1), date(9999, 12, 31)),
        (datetime(2024, 1, 1), datetime(1, 1, 1)),  # noqa: DTZ001
        (float(NOON), float(NOON), 1e11),
        ("2024-01-01 Europe/Berlin", "2024-01-02 Europe/Berlin", "9999-12-31 Europe/Berlin"),
    ],
)
def test_a_time_that_nanoseconds_do_not_reach_is_null_and_not_another_one(values):
    column, form = zoned(*values, zone="UTC")
    times = to_ns(column, form)
    known = len(values) - times.null_count()
    assert times.is_null().to_list() == [False] * known + [True] * times.null_count()
    assert known < len(values)
    assert {expected(column[row : row + 1], form) for row in range(known, len(values))} == {
        "a time from 1678-01-01 to 2261-12-31"
    }


def test_what_is_no_time_is_expected_to_be_one():
    column, form = zoned("2024-01-01", "2024-01-02", "soon")
    assert expected(column[2:], form) == "%Y-%m-%d"


def test_a_number_out_of_reach_is_null():
    assert read(NOON, NOON + 1, 10**15)[2] is None
