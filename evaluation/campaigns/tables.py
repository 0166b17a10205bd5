"""The rows of the campaigns as tables for people, and what went wrong line by line."""

import math
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from evaluation.campaigns.judge import Judged

TITLES = {
    "incidents": "Faults as incidents: shares of events; delay in collection intervals of event time",
    "precision": "All incidents",
    "false": "What was told although nothing was broken",
    "claimed": "False incidents by what they claim",
    "detectors": "Detectors over all faults; false findings for each million series and day",
    "muted": "What incidents lose when one detector is not heard",
    "faults": "What sees which fault: shares of events; direct: about the broken thing itself",
}


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """One table for each kind of row, in the order of ``TITLES``."""
    return [_table(title, [row for row in rows if row["table"] == name]) for name, title in TITLES.items()]


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    drawn = Table(title=title)
    headings = [key for key in (rows[0] if rows else {}) if key != "table"]
    for heading in headings:
        drawn.add_column(heading.replace("_", " "), justify="left" if isinstance(rows[0][heading], str) else "right")
    for row in rows:
        drawn.add_row(*(_cell(row[heading]) for heading in headings))
    return drawn


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:,.2f}"
    return str(value)


def mistakes(found: list[Judged]) -> Iterator[str]:
    """Faults that were missed, wrong incidents, and false findings; each with the seed of its cluster."""
    for one in found:
        for event in one.events:
            where = f"seed {one.seed} {event.fault} at {event.at_s:.0f} s{' (pair)' if event.paired else ''}"
            if not event.right and event.shows:
                yield f"{where}: not named; seen by {', '.join(sorted(event.by)) or 'nobody'}"
            for extra in event.right[1:]:
                yield f"{where}: told again: {extra.title}"
            for wrong in event.wrong:
                yield f"{where}: wrong: {wrong.kind} {wrong.root}: {wrong.title}"
        for false in one.false_incidents:
            yield f"seed {one.seed}: false incident: {false.kind} {false.root}: {false.title}"
        for (fault, detector), count in sorted(one.false_by.items()):
            yield f"seed {one.seed}: {count} false findings of {detector}{f' during {fault}' if fault else ''}"
