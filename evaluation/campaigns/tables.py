"""The rows of campaigns as tables for a terminal, and every error as a line."""

import math
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from evaluation.campaigns.judge import CampaignResult

TITLES = {
    "incidents": "Faults as incidents: shares of events; delay in collection intervals of event time",
    "precision": "All incidents",
    "false": "False findings and incidents",
    "false_kinds": "False incidents by kind",
    "detectors": "Detectors over all faults; false findings per million series and day",
    "muted": "What incidents lose without the findings of one detector",
    "faults": "Which detector reports which fault: shares of events; direct: about the root itself",
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


def errors(results: list[CampaignResult]) -> Iterator[str]:
    """Faults that were missed, wrong incidents, and false findings; each with the seed of its cluster."""
    for result in results:
        for fault in result.faults:
            where = f"seed {result.seed} {fault.fault} at {fault.at_s:.0f} s{' (pair)' if fault.paired else ''}"
            if not fault.right and fault.visible:
                yield f"{where}: missed; findings of {', '.join(sorted(fault.by)) or 'no detector'}"
            for extra in fault.right[1:]:
                yield f"{where}: duplicate incident: {extra.title}"
            for wrong in fault.wrong:
                yield f"{where}: wrong root: {wrong.kind} {wrong.root}: {wrong.title}"
        for false in result.false_incidents:
            yield f"seed {result.seed}: false incident: {false.kind} {false.root}: {false.title}"
        for (fault_name, detector), count in sorted(result.false_by.items()):
            during = f" during {fault_name}" if fault_name else ""
            yield f"seed {result.seed}: {count} false findings of {detector}{during}"
