"""``make eval``: detection quality as tables, ``build/eval.json``, and pages of ``docs/evaluation``.

``python -m evaluation [PART] …``, of ``series``, ``campaigns``, ``families``, ``health``, ``collected``, ``pictures``,
``public``, ``baselines``, ``recurring`` and ``labelled``; without a name: series, campaigns and families. What follows
``families`` or ``health`` are its options (``--help``); ``labelled`` is followed by the folder of the series.
``collected`` takes half an hour on any machine; ``pictures`` draws a day without a fault; ``public`` downloads its
series from the Python index. A part that is not run keeps its rows in ``build/eval.json``.
"""

import json
import math
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from common.errors import ConfigError
from evaluation import report
from evaluation.campaigns import baselines, run
from evaluation.collected import run as collected
from evaluation.collected.page import collected_page
from evaluation.collected.page import rows as collected_rows
from evaluation.families import health, page
from evaluation.families import run as families
from evaluation.families.family import read_families
from evaluation.families.judge import ClusterOutcome
from evaluation.families.rows import TITLES
from evaluation.families.rows import rows as family_rows
from evaluation.pictures import run as pictures
from evaluation.scores import collections, common_level, compare
from evaluation.scores import page as collections_page
from evaluation.series import folders, public
from evaluation.series.synthetic import REPORT_SEEDS, corpus

_ROOT = Path(__file__).parents[1]
JSON = _ROOT / "build" / "eval.json"
PAGES = _ROOT / "docs" / "evaluation"
_WITH_OPTIONS = ("families", "health", "labelled")
_OLD_NAMES = {"rivals": "baselines"}
_LIBRARIES = ("fabricscope", "numpy", "numba", "polars", "river", "scikit-learn")


def main(names: Sequence[str]) -> None:
    progress = Console(stderr=True)
    names, arguments = _split(names)
    ends = names[-1] if names else ""
    options = families.parse(arguments if ends not in ("health", "labelled") else [])
    healthy = health.parse(arguments if ends == "health" else [])
    for name in parts(names, progress):
        began_s = time.monotonic()
        if name == "families":
            _keep("families-train" if options.train else name, fault_families(options))
        elif name == "health":
            _keep("health-train" if healthy.train else name, healthy_clusters(healthy))
        elif name == "labelled":
            _keep(name, labelled_series(arguments if ends == name else []))
        else:
            _keep(name, PARTS[name]())
        progress.print(f"{name}: {time.monotonic() - began_s:.0f} s")
    progress.print(f"written: {JSON}")


def _split(names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The parts, and the options: all that follows the first part that has some."""
    after = next((at for at, name in enumerate(names, 1) if name in _WITH_OPTIONS), len(names))
    return names[:after], names[after:]


def parts(names: Sequence[str], progress: Console) -> list[str]:
    """The parts to run; an old name is replaced, with a hint. SystemExit for an unknown one."""
    found = []
    for name in names or ("series", "campaigns", "families"):
        if name in _OLD_NAMES:
            progress.print(f"{name} is now called {_OLD_NAMES[name]}")
        found.append(_OLD_NAMES.get(name, name))
    unknown = [name for name in found if name not in PARTS]
    if unknown:
        raise SystemExit(f"no part {', '.join(unknown)}, expected one of {', '.join(PARTS)}")
    return found


def synthetic_series() -> list[report.Row]:
    results = compare.run(corpus(REPORT_SEEDS))
    text = report.series_page("Results: synthetic series", "Written by `make eval`.", results)
    (PAGES / "results-series.md").write_text(text)
    show(results)
    return report.rows(results)


def public_series() -> list[report.Row]:
    about = "Public series with injected anomalies. Written by `python -m evaluation public`."
    results = compare.run(public.corpus())
    (PAGES / "results-public.md").write_text(report.series_page("Results: public series", about, results))
    show(results)
    return report.rows(results)


def recurring_series() -> list[report.Row]:
    about = "Made series with many events. Written by `python -m evaluation recurring`; [how](README.md#many-events)."
    return _collections([collections.made()], "recurring", "Results: series with many events", about)


def labelled_series(arguments: Sequence[str] = ()) -> list[report.Row]:
    """SystemExit without a folder of labelled series."""
    if len(arguments) != 1:
        raise SystemExit("labelled: expected the folder of the series, as in: python -m evaluation labelled FOLDER")
    try:
        found = collections.labelled(folders.recordings(Path(arguments[0])))
    except ConfigError as error:
        raise SystemExit(f"labelled: {error}") from error
    about = (
        "Series that others recorded and labelled. Written by `python -m evaluation labelled FOLDER`; "
        "[how](README.md#labelled-series)."
    )
    return _collections(found, "labelled", "Results: labelled series", about)


def _collections(found: Sequence[collections.Collection], name: str, title: str, about: str) -> list[report.Row]:
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        judged = [(each, collections.judge(each, pool)) for each in found]
        levels = common_level.curves(found, pool) if len(found) > 1 else {}
    text = collections_page.collections_page(title, about, judged, levels)
    (PAGES / f"results-{name}.md").write_text(text)
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
    return [_plain(row) for row in collections_page.rows(judged)]


def fault_campaigns() -> list[report.Row]:
    found = [_plain(row) for row in run.run(processes=os.cpu_count() or 1)]
    (PAGES / "results-campaigns.md").write_text(report.campaigns_page(found))
    return found


def campaign_baselines() -> list[report.Row]:
    found = [_plain(row) for row in baselines.run(processes=os.cpu_count() or 1)]
    (PAGES / "results-baselines.md").write_text(report.baselines_page(found))
    return found


def fault_families(options: families.Options = families.SMALL) -> list[report.Row]:
    """Prints what is known of the training families, or writes the page of those of the report and prints the targets.

    SystemExit where a family names what the simulator lacks.
    """
    try:
        outcomes = families.run(options, Console(stderr=True))
    except ConfigError as error:
        raise SystemExit(f"families: {error}") from error
    found = family_rows(outcomes)
    ran = list(dict.fromkeys(each.family for each in outcomes))
    text = page.families_page(found, options, read_families(), ran)
    if not options.train:
        (PAGES / "results-families.md").write_text(text)
        text = "\n\n".join(page.section("targets", TITLES["targets"], found))
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
    return [page.plain(row) for row in found]


def healthy_clusters(options: health.HealthOptions = health.TEN_NODE_DAYS) -> list[report.Row]:
    """SystemExit for a name that is no healthy family. The page is written after every cluster."""

    def keep(found: Sequence[ClusterOutcome]) -> None:
        if not options.train:
            text = health.health_page(health.health_rows(found), options, found)
            (PAGES / "results-health.md").write_text(text)

    try:
        kept = health.kept_outcomes(options, JSON.parent)
        outcomes = health.measure(options, Console(stderr=True), keep, kept)
    except ConfigError as error:
        raise SystemExit(f"health: {error}") from error
    found = health.health_rows(outcomes)
    if options.train:
        Console().print(health.health_page(found, options, outcomes), markup=False, highlight=False)
    return [page.plain(row) for row in found]


def pictures_of_a_day() -> list[report.Row]:
    found = pictures.draw(_ROOT / "docs" / "pictures")
    (PAGES / "results-pictures.md").write_text(pictures.page(found))
    return found


def collected_campaigns() -> list[report.Row]:
    """Runs the product's own processes on this machine, some of it in real time."""
    judged, found = [], []
    for each in collected.run(Console(stderr=True)):
        judged.append(each)
        found = collected_rows(judged)
        (PAGES / "results-collected.md").write_text(collected_page(found, collected.SPEED))
    return [page.plain(row) for row in found]


PARTS = {
    "series": synthetic_series,
    "campaigns": fault_campaigns,
    "families": fault_families,
    "health": healthy_clusters,
    "collected": collected_campaigns,
    "pictures": pictures_of_a_day,
    "public": public_series,
    "baselines": campaign_baselines,
    "recurring": recurring_series,
    "labelled": labelled_series,
}


def _keep(name: str, found: list[report.Row]) -> None:
    known = json.loads(JSON.read_text()) if JSON.exists() else {}
    JSON.parent.mkdir(parents=True, exist_ok=True)
    versions = {library: version(library) for library in _LIBRARIES}
    JSON.write_text(json.dumps({**known, "versions": versions, name: found}, indent=1, allow_nan=False) + "\n")


def show(results: Sequence[compare.MethodResult]) -> None:
    ours, others = report.split(results)
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(_drawn("Methods, one threshold for all series", report.METHODS, report.methods(results)))
    console.print(_drawn("By kind of series", report.KINDS, report.kinds(ours, others)))
    console.print(_drawn("By reason", report.REASONS, report.reasons([each.series for each in ours.outcomes])))
    names = ("anomaly", "fabricscope at 1.0", *(each.method for each in others))
    console.print(_drawn("Windows found by type of anomaly", names, report.anomalies(ours, others)))


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
