"""Numbers as people and programs write them."""

import polars as pl
import pytest

from analytics.offline.numbers import number_format, to_numbers


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
