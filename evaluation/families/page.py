"""docs/evaluation/results-families.md: the rows as text."""

import math
from collections.abc import Sequence

from evaluation import report
from evaluation.families.family import FamilySets
from evaluation.families.figures import Figure
from evaluation.families.rows import TITLES
from evaluation.families.run import Options
from evaluation.families.targets import Row


def families_page(rows: Sequence[Row], options: Options, sets: FamilySets, ran: Sequence[str]) -> str:
    """ran: names of the families that the rows are of."""
    about = (
        "Written by `python -m evaluation families`. What a family is, how it is judged and what the columns mean: "
        "[families.md](families.md)."
    )
    seed = (
        f"Seed {options.seed}, {options.hours:g} simulated hours of each family, four times that of healthy ones. "
        "Bounds, in brackets or from and to, are of 95 %, with events as independent; `by campaign` takes campaigns "
        "alone as independent."
    )
    absent = [family.name for family in sets.report if family.name not in ran]
    left_out = f"**Not run: {', '.join(absent)}.** The figures say nothing about them." if absent else ""
    sections = [part for name, title in TITLES.items() for part in section(name, title, rows)]
    return report.page("Results: families left out", about, seed, *([left_out] if left_out else []), *sections)


def section(name: str, title: str, rows: Sequence[Row]) -> list[str]:
    """Heading, title and table of the rows of one table."""
    found = [{key: value for key, value in row.items() if key != "table"} for row in rows if row["table"] == name]
    heading = [f"## {name.replace('_', ' ').capitalize()}", f"{title}."]
    if not found:
        return [*heading, "None."]
    headings = tuple(found[0])
    return [*heading, report.table(headings, [[cell(row[key]) for key in headings] for row in found])]


def cell(value: object) -> str:
    """Three digits, and the bounds of a figure; nothing for what is not known."""
    if isinstance(value, Figure):
        return f"{_number(value.value)} [{_number(value.low)}, {_number(value.high)}]" if value.of else ""
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plain(row: Row) -> Row:
    """What JSON can hold: NaN and infinity are null; bounds of a figure have keys of their own."""
    found: Row = {}
    for key, value in row.items():
        if isinstance(value, Figure):
            found |= {key: value.value, f"{key}, from": value.low, f"{key}, to": value.high}
        else:
            found[key] = value
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in found.items()
    }
