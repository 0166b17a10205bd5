"""Numbers as people and programs write them."""

import polars as pl
import pytest

from analytics.offline.numbers import NumberFormat, number_format, to_numbers


@pytest.mark.parametrize(
    ("separator", "texts", "numbers"),
    [
        (",", ["1", "-2.5", ".5", "1E-3", " 7 "], [1, -2.5, 0.5, 0.001, 7]),
        (",", ["1,234", "900", "12,345,678.5"], [1234, 900, 12_345_678.5]),
        (",", ["1,5", "0,125"], [1.5, 0.125]),
        (";", ["0,125", "1,234"], [0.125, 1.234]),
        (";", ["1.234,56", "-10,66", "3"], [1234.56, -10.66, 3]),
        (";", ["1.234", "12.345"], [1.234, 12.345]),
        (";", ["1 234,5", "2"], [1234.5, 2]),
        (";", ["1\u202f234,5", "2"], [1234.5, 2]),
        (";", ["1'234.5", "2"], [1234.5, 2]),
        (",", ["0 %", "12 %", "N/A"], [0, 12, None]),
        (",", ["1024 MiB", "512MiB"], [1024, 512]),
        (",", ["TRUE", "false"], [1, 0]),
    ],
)
def test_numbers(separator, texts, numbers):
    column = pl.Series(texts)
    form = number_format(column, separator)
    assert form is not None
    assert to_numbers(column, form).fill_nan(None).to_list() == numbers


@pytest.mark.parametrize(
    "texts",
    [["1 GiB", "2 MiB"], ["eth0", "eth1"], ["10.0.0.1"], ["2024-01-01"], ["10:00"], ["a"], ["", "nan"], ["0x1f"]],
)
def test_no_numbers(texts):
    assert number_format(pl.Series(texts), ",") is None


@pytest.mark.parametrize(
    ("separator", "texts", "form"),
    [
        (",", ["1.5", "2"], NumberFormat()),
        (",", ["1,234"], NumberFormat(".", ",")),
        (",", ["1,23"], NumberFormat(",", ".")),  # no group of thousands: a fraction in quotes
        (";", ["1,234"], NumberFormat(",", ".")),  # commas do not part columns: one that is there is a decimal comma
        (";", ["1.234,5"], NumberFormat(",", ".")),
        (";", ["1,234.5"], NumberFormat(".", ",")),
        (";", ["1 234.5"], NumberFormat(".", " ")),
        (";", ["1'234,5"], NumberFormat(",", "'")),
        (",", ["61.20 W", "5 W"], NumberFormat(unit="W")),
        (";", ["61,20 W", "5 W"], NumberFormat(",", ".", "W")),
        (",", ["True", "FALSE"], NumberFormat(flags=True)),
        (",", ["1", "2", "x"], NumberFormat()),  # two of three are numbers
        (",", ["1", "x"], NumberFormat()),
        (",", ["1", "x", "y"], None),
        (",", ["-", "?", "N/A"], None),
    ],
)
def test_the_format_that_is_found(separator, texts, form):
    assert number_format(pl.Series(texts), separator) == form


@pytest.mark.parametrize(
    ("form", "text", "number"),
    [
        (NumberFormat(), "1e-3", 0.001),
        (NumberFormat(), " -7. ", -7.0),
        (NumberFormat(), "1,5", None),
        (NumberFormat(), "inf", None),
        (NumberFormat(), "0x1f", None),
        (NumberFormat(","), "1,5", 1.5),
        (NumberFormat(","), "-,5", -0.5),
        (NumberFormat(".", ","), "1,234,567.5", 1_234_567.5),
        (NumberFormat(".", ","), "-1,234", -1234.0),
        (NumberFormat(".", ","), "1,5", None),  # not fifteen
        (NumberFormat(".", ","), "12,34,567", None),
        (NumberFormat(",", "."), "1.234,5", 1234.5),
        (NumberFormat(unit="%"), "45 %", 45.0),
        (NumberFormat(unit="%"), "45", 45.0),
        (NumberFormat(unit="%"), "45 W", None),
        (NumberFormat(flags=True), "True", 1.0),
    ],
)
def test_a_number_of_a_known_format(form, text, number):
    assert to_numbers(pl.Series([text]), form).fill_nan(None).to_list() == [number]


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (pl.Series([1, None]), [1.0, None]),
        (pl.Series([1.5, float("inf"), float("nan")]), [1.5, None, None]),
        (pl.Series([True, False]), [1.0, 0.0]),
        (pl.Series(["7", "x"], dtype=pl.Categorical), [7.0, None]),
        (pl.Series([], dtype=pl.String), []),
    ],
)
def test_columns_of_other_types(column, numbers):
    assert to_numbers(column).fill_nan(None).to_list() == numbers
