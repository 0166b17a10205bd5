"""``make eval``: series and campaigns of faults, tables, ``build/eval.json`` and two pages of the documentation.

``python -m evaluation series`` or ``campaigns`` does one of the two and leaves what is known of the other;
``public`` asks the same of series that others recorded, which it fetches from the Python index; ``rivals`` has the
other methods play the campaigns.
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
from evaluation import report
from evaluation.campaigns import baselines, run
from evaluation.series import evaluate, public
from evaluation.series.synthetic import REPORT_SEEDS, corpus

_ROOT = Path(__file__).parents[2]
JSON = _ROOT / "build" / "eval.json"
SERIES_PAGE = _ROOT / "docs" / "evaluation-results.md"
PUBLIC_PAGE = _ROOT / "docs" / "evaluation-public.md"
CAMPAIGNS_PAGE = _ROOT / "docs" / "evaluation-run.md"
RIVALS_PAGE = _ROOT / "docs" / "evaluation-rivals.md"


def main(parts: Sequence[str]) -> None:
    progress = Console(stderr=True)
    runs = {"series": series, "campaigns": faults, "public": recorded, "rivals": beside}
    for name in parts or ("series", "campaigns"):
        began_s = time.monotonic()
        _keep(name, runs[name]())
        progress.print(f"{name}: {time.monotonic() - began_s:.0f} s")
    progress.print(f"written: {JSON}")


def series() -> list[report.Row]:
    verdicts = evaluate.run(corpus(REPORT_SEEDS))
    SERIES_PAGE.write_text(report.series_page("Evaluation: series", "Written by `make eval`.", verdicts))
    show(verdicts)
    return report.rows(verdicts)


def recorded() -> list[report.Row]:
    about = "Series that others recorded, with anomalies put in; written by `python -m evaluation public`."
    verdicts = evaluate.run(public.corpus())
    PUBLIC_PAGE.write_text(report.series_page("Evaluation: public series", about, verdicts))
    show(verdicts)
    return report.rows(verdicts)


def faults() -> list[report.Row]:
    found = [_plain(row) for row in run.run(processes=os.cpu_count() or 1)]
    CAMPAIGNS_PAGE.write_text(report.campaigns_page(found))
    return found


def beside() -> list[report.Row]:
    found = [_plain(row) for row in baselines.run(processes=os.cpu_count() or 1)]
    RIVALS_PAGE.write_text(report.rivals_page(found))
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
    console.print(_drawn("By reason", report.REASONS, report.reasons([each.series for each in ours.outcomes])))
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
