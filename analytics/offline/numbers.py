"""Values as files write them, as doubles."""

import polars as pl

_GAPS = ("", "-", "?", "nan", "null", "none", "na", "n/a", "inf", "-inf", "+inf")
_NUMBERS_MIN = 0.5  # share of the cells that are not gaps


def to_numbers(column: pl.Series, decimal_comma: bool = False) -> pl.Series:
    """float64[n] without nulls; NaN for what is missing, no number, or not finite."""
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        if decimal_comma:
            column = column.str.replace(",", ".", literal=True)
    elif not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        column = column.cast(pl.String, strict=False)
    numbers = column.cast(pl.Float64, strict=False).fill_null(float("nan"))
    return numbers.set(numbers.is_infinite(), float("nan"))


def are_numbers(column: pl.Series, decimal_comma: bool, least: float = _NUMBERS_MIN) -> bool:
    """Whether a column is of numbers: a share of at least ``least``, and of one number, is one."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    known = column.drop_nulls()
    known = known.filter(~known.str.strip_chars().str.to_lowercase().is_in(_GAPS))
    return known.len() > 0 and to_numbers(known, decimal_comma).is_not_nan().sum() >= max(least * known.len(), 1)


def are_decimal_commas(column: pl.Series) -> bool:
    """Whether a column of texts writes 1,5 for one and a half."""
    if column.dtype != pl.String:
        return False
    return bool(column.drop_nulls().str.strip_chars().str.contains(r"^[+-]?\d*,\d+$").any())
