"""``make eval``: series and campaigns of faults, tables, ``build/eval.json`` and two pages of the documentation.

``python -m benchmarks.detection series`` or ``campaigns`` does one of the two and leaves what is known of the other.
"""

import json
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.detection import campaigns, evaluate, report

_ROOT = Path(__file__).parents[2]
JSON = _ROOT / "build" / "eval.json"
SERIES_PAGE = _ROOT / "docs" / "evaluation-results.md"
CAMPAIGNS_PAGE = _ROOT / "docs" / "evaluation-campaigns.md"


def main(parts: Sequence[str]) -> None:
    progress = Console(stderr=True)
    for name, run in (("series", series), ("campaigns", faults)):
        if parts and name not in parts:
            continue
        began_s = time.monotonic()
        _keep(name, run())
        progress.print(f"{name}: {time.monotonic() - began_s:.0f} s")
    progress.print(f"written: {JSON}")


def series() -> list[report.Row]:
    verdicts = evaluate.run()
    SERIES_PAGE.write_text(report.series_page(verdicts))
    show(verdicts)
    return report.rows(verdicts)


def faults() -> list[report.Row]:
    found = [_plain(row) for row in campaigns.run(processes=os.cpu_count() or 1)]
    CAMPAIGNS_PAGE.write_text(report.campaigns_page(found))
    return found


def _keep(name: str, found: list[report.Row]) -> None:
    known = json.loads(JSON.read_text()) if JSON.exists() else {}
    JSON.parent.mkdir(parents=True, exist_ok=True)
    JSON.write_text(json.dumps({**known, "machine": machine(), name: found}, indent=1, allow_nan=False) + "\n")


def show(verdicts: Sequence[evaluate.Verdict]) -> None:
    ours, others = report.split(verdicts)
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(_drawn("Methods, one threshold for all series", report.METHODS, report.methods(verdicts)))
    console.print(_drawn("By kind of series", report.KINDS, report.kinds(ours, others)))
    console.print(_drawn("By reason", report.REASONS, report.reasons()))
    names = ("anomaly", "ours at 1.0", *(each.method for each in others))
    console.print(_drawn("Windows found by sort of anomaly", names, report.anomalies(ours, others)))


def _drawn(title: str, headings: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    drawn = Table(title=title)
    for i, heading in enumerate(headings):
        drawn.add_column(heading, justify="right" if i else "left")
    for row in cells:
        drawn.add_row(*row)
    return drawn


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """What JSON can hold: NaN is null."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


if __name__ == "__main__":
    main(sys.argv[1:])
