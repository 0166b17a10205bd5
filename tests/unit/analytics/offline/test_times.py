"""Times in the formats that people have."""

from typing import Any

import polars as pl
import pytest

from analytics.offline.times import time_format, to_ns
from common.errors import BadInput

NOON = 1_704_110_400  # 2024-01-01 12:00:00 UTC


def read(*values: object, pattern: str | None = None) -> Any:
    column = pl.Series(values)
    form = time_format(column, pattern)
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
def test_one_moment_in_many_words(text):
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
def test_a_column_may_be_of_two_minds(values):
    times = read(*reversed(values))
    assert None not in times
    assert times[0] > times[1]


def test_days_and_months_are_told_apart_by_what_they_say():
    assert read("03/04/2024", "13/04/2024")[1] == 1_712_966_400 * 10**9
    assert read("04/03/2024", "04/13/2024")[1] == 1_712_966_400 * 10**9


def test_days_and_months_are_told_apart_by_their_steps():
    assert read("02/01/2024 23:59", "03/01/2024 00:00") == [1_704_239_940 * 10**9, 1_704_240_000 * 10**9]


def test_days_and_months_that_cannot_be_told_apart():
    with pytest.raises(BadInput, match="--time-format"):
        read("03/04/2024", "03/04/2024")
    assert read("03/04/2024", pattern="%d/%m/%Y") == [1_712_102_400 * 10**9]


def test_a_broken_row_is_null():
    assert read("2024-01-01", "2024-01-02", "soon")[2] is None


def test_all_digits_of_nanoseconds_are_kept():
    assert read(1_704_110_400_123_456_789, 1_704_110_400_123_456_790)[0] == 1_704_110_400_123_456_789
    assert read("2024-01-01 12:00:00.123456789") == [1_704_110_400_123_456_789]


@pytest.mark.parametrize("values", [("a", "b"), ("12:00:00",), (True, False), ("",)])
def test_no_times(values):
    assert read(*values) is None


def test_a_number_out_of_reach_is_null():
    assert read(NOON, NOON + 1, 10**15)[2] is None
