"""Values as files write them, as doubles."""

from dataclasses import dataclass
from itertools import product

import polars as pl

_GAPS = ("", "-", "?", "nan", "null", "none", "na", "n/a", "inf", "-inf", "+inf")
_NOT_NUMBERS = ("nan", "inf", "-inf", "+inf")
_FLAGS = {"true", "false"}
_NUMBERS_MIN = 0.5  # share of the cells that are not gaps
_NUMBER = r"^([+-]?\d[\d.,'\s]*\d|[+-]?[.,]?\d+[.,]?)(?:[eE][+-]?\d+)?"
_UNIT = _NUMBER + r"\s*([^\s\d.,:/+-][^\s\d]{0,11})$"
_GROUPED = r"^[+-]?[1-9]\d{0,2}(?:[.,]\d{3})+$"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How a column writes numbers.

    decimal: what comes before the fraction. thousands: what may stand between digits of the whole part.
    unit: what follows each number, as % and MiB. flags: true is 1 and false is 0.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    flags: bool = False


PLAIN = NumberFormat()


def to_numbers(column: pl.Series, form: NumberFormat = PLAIN) -> pl.Series:
    """float64[n] without nulls; NaN for what is missing, no number, or not finite."""
    if column.dtype == pl.String:
        column = _plainly(column.str.strip_chars(), form)
    elif not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        column = column.cast(pl.String, strict=False)
    numbers = column.cast(pl.Float64, strict=False).fill_null(float("nan"))
    return numbers.set(numbers.is_infinite(), float("nan"))


def are_not_numbers(column: pl.Series) -> bool:
    """Whether a column of texts holds nothing but gaps, and one that only numbers have: NaN, infinity."""
    if column.dtype != pl.String:
        return False
    written = column.drop_nulls().str.strip_chars().str.to_lowercase()
    return bool(written.is_in(_GAPS).all() and written.is_in(_NOT_NUMBERS).any())


def number_format(column: pl.Series, separator: str, least: float = _NUMBERS_MIN) -> NumberFormat | None:
    """How a column of a file writes numbers; None when it does not.

    separator: between columns: beside commas, commas in cells are rather those of thousands than of decimals.
    least: share of numbers, of what is there, that makes a column of numbers; one number at least.
    """
    if column.dtype != pl.String:
        flags = column.dtype == pl.Boolean
        return NumberFormat(flags=flags) if flags or column.dtype.is_numeric() else None
    known = column.drop_nulls().str.strip_chars()
    known = known.filter(~known.str.to_lowercase().is_in(_GAPS))
    if known.is_empty():
        return None
    if set(known.str.to_lowercase().unique()) <= _FLAGS:
        return NumberFormat(flags=True)
    read, best = _read(known, PLAIN), PLAIN
    for form in _others(known, separator) if read < known.len() else ():
        if _read(known, form) > read:
            read, best = _read(known, form), form
    return best if read >= max(least * known.len(), 1) else None


def _others(known: pl.Series, separator: str) -> list[NumberFormat]:
    """What a column that is not all of plain numbers may be, the likeliest first."""
    units = known.str.extract(_UNIT, 2).drop_nulls().unique()
    marks = [(".", ",")] if separator == "," else [(",", "."), (".", ",")]
    if separator == "," and not known.filter(known.str.contains(",", literal=True)).str.contains(_GROUPED).all():
        marks.append((",", "."))
    decimals = [*marks, *((decimal, blank) for decimal, blank in product(".,", " \u00a0\u202f'"))]
    # Of two units one would be wrong by a factor.
    unit = units[0] if len(units) == 1 else ""
    return [NumberFormat(decimal, thousands, unit) for decimal, thousands in ((".", ""), *decimals)]


def _read(known: pl.Series, form: NumberFormat) -> int:
    return int(to_numbers(known, form).is_not_nan().sum())


def _plainly(texts: pl.Series, form: NumberFormat) -> pl.Series:
    if form.flags:
        return texts.str.to_lowercase().replace({"true": "1", "false": "0"})
    if form.unit:
        texts = texts.str.strip_suffix(form.unit).str.strip_chars_end()
    if form.thousands:
        # Anything else between digits is no mark of thousands: 1,5 is not fifteen.
        grouped = rf"^[+-]?\d{{1,3}}(?:[{form.thousands}]\d{{3}})+(?:[{form.decimal}]\d*)?$"
        joined = texts.str.replace_all(form.thousands, "", literal=True)
        texts = pl.select(pl.when(texts.str.contains(grouped)).then(joined).otherwise(texts)).to_series()
    return texts.str.replace(form.decimal, ".", literal=True) if form.decimal != "." else texts
