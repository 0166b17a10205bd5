"""The form of a figure in the table of ``make bench`` and in ``build/bench.json``."""

import json
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


def row(name: str, value: float, unit: str, reference: float | None = None) -> Row:
    """A figure, rounded to four digits, beside the same of a reference that was measured in the same run."""
    ratio = None if reference is None else _rounded(value / reference)
    known = None if reference is None else _rounded(reference)
    return {"name": name, "value": _rounded(value), "unit": unit, "reference": known, "ratio": ratio}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def print_rows(rows: Iterable[Row]) -> None:
    """One line of JSON a row: the output of a benchmark that is run alone."""
    for each in rows:
        print(json.dumps(each))
