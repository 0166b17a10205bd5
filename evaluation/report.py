"""The figures as rows for ``build/eval.json``, as tables for a terminal, and as pages for the documentation."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evaluation.campaigns import baselines
from evaluation.campaigns.run import REPORT, TUNE
from evaluation.campaigns.tables import TITLES
from evaluation.scores import ablation
from evaluation.scores.compare import MethodResult, by_anomaly, by_kind, by_reason
from evaluation.scores.figures import Figures
from evaluation.scores.methods import OURS
from evaluation.series.labelled import Series

Row = dict[str, Any]
Cells = list[str]
METHODS = (
    "method",
    "threshold",
    "precision",
    "recall",
    "F1 (90 %)",
    "false per day",
    "false / 1000 points",
    "delay, points",
    "delay, windows",
    "recall at equal false events",
    "average precision",
    "early score",
)
REASONS = ("reason", "windows found", "false events")
ABLATION = ("without", "found", "false / 1000 points", "precision", "recall", "F1", "windows no longer found")
KINDS = ("kind", "found", "false per day", "best baseline: found", "false per day", "which")


def rows(results: Iterable[MethodResult]) -> list[Row]:
    """One row a method and threshold, with its figures by kind of series and type of anomaly."""
    return [
        {
            "name": each.method,
            "threshold": each.threshold,
            "average_precision": each.area,
            "f1_range": each.f1_range,
            "recall_at_equal_false": each.recall_at_equal_false,
            **_named(each.figures),
            "by_kind": {kind: _named(found) for kind, found in by_kind(each.outcomes).items()},
            "by_anomaly": by_anomaly(each.outcomes),
        }
        for each in results
    ]


def _named(found: Figures) -> Row:
    return {name: _rounded(getattr(found, name)) for name in Figures.__slots__}


def _rounded(value: float) -> float | None:
    """What JSON can hold: NaN is null."""
    return None if value != value else round(value, 4)


def methods(results: Iterable[MethodResult]) -> list[Cells]:
    return [
        [
            each.method,
            f"{each.threshold:.3g}",
            f"{each.figures.precision:.2f}",
            f"{each.figures.recall:.2f}",
            f"{each.figures.f1:.2f} ({each.f1_range[0]:.2f} to {each.f1_range[1]:.2f})",
            f"{each.figures.false_per_day:.3f}",
            f"{each.figures.false_per_1000:.2f}",
            f"{each.figures.delay_points:.0f}",
            f"{each.figures.delay_share:.2f}",
            f"{each.recall_at_equal_false:.2f}",
            f"{each.area:.2f}",
            f"{each.figures.early:.0f}",
        ]
        for each in results
    ]


def kinds(ours: MethodResult, baselines: Sequence[MethodResult]) -> list[Cells]:
    """The product by kind of series, beside the best baseline of that kind: windows found, false events per day."""
    others = [by_kind(each.outcomes) for each in baselines]
    cells = []
    for kind, found in by_kind(ours.outcomes).items():
        ranks = [-1.0 if math.isnan(other[kind].f1) else other[kind].f1 for other in others]
        best = ranks.index(max(ranks))
        cells.append([kind, *_hits(found), *_hits(others[best][kind]), baselines[best].method])
    return cells


def anomalies(ours: MethodResult, baselines: Sequence[MethodResult]) -> list[Cells]:
    """Windows found by type of anomaly: by the product and by each baseline."""
    others = [by_anomaly(each.outcomes) for each in baselines]
    return [
        [anomaly, f"{hits} of {count}", *(str(other[anomaly][0]) for other in others)]
        for anomaly, (hits, count) in by_anomaly(ours.outcomes).items()
    ]


def reasons(series: Sequence[Series]) -> list[Cells]:
    return [[reason, str(hits), str(false)] for reason, (hits, false) in by_reason(series).items()]


def without(series: Sequence[Series]) -> list[Cells]:
    """The figures at 1.0 without one part."""
    return [
        [
            each.part,
            str(each.figures.found),
            f"{each.figures.false_per_1000:.2f}",
            f"{each.figures.precision:.2f}",
            f"{each.figures.recall:.2f}",
            f"{each.figures.f1:.3f}",
            ", ".join(f"{count} {anomaly}" for anomaly, count in each.missed.items()),
        ]
        for each in ablation.run(series)
    ]


def _hits(found: Figures) -> Cells:
    return [f"{found.found} of {found.windows}", f"{found.false_per_day:.3f}"]


def split(results: Sequence[MethodResult]) -> tuple[MethodResult, list[MethodResult]]:
    """The product at its own threshold, and the baselines."""
    return results[0], [each for each in results if each.method != OURS]


def series_page(title: str, about: str, results: Sequence[MethodResult]) -> str:
    """docs/evaluation/results-series.md and results-public.md. about: where the series come from."""
    ours, others = split(results)
    series = [each.series for each in ours.outcomes]
    points = sum(each.points for each in ours.outcomes)
    names = [each.method for each in others]
    return page(
        title,
        f"{about} What the columns mean: [README.md](README.md#figures).",
        f"{len(ours.outcomes)} series, {points:,} points that count, {ours.figures.windows} windows to find, "
        "on other seeds than those that thresholds were chosen on. The first row is the product with its own alert "
        "level, 1.0.",
        table(METHODS, methods(results)),
        "## By kind of series",
        "Windows found and false events per day: the product at 1.0, and the baseline with the best F1 on that kind.",
        table(KINDS, kinds(ours, others)),
        "## By type of anomaly",
        "Windows found, each method at its one threshold.",
        table(("anomaly", "fabricscope at 1.0", *names), anomalies(ours, others)),
        "## By reason",
        "The product's reason at the first alert of a window or of a false event.",
        table(REASONS, reasons(series)),
        "## Ablation",
        "The product at 1.0 with one part left out in turn. The last column is net, by type of anomaly.",
        table(ABLATION, without(series)),
    )


def campaigns_page(found: Sequence[Row]) -> str:
    """docs/evaluation/results-campaigns.md."""
    about = (
        "Written by `make eval`. How campaigns are run and judged, and what the columns mean: "
        "[campaigns.md](campaigns.md)."
    )
    seeds = f"Seeds {_numbers(REPORT)}, on which nothing was tuned; detectors were tuned on seeds {_numbers(TUNE)}."
    kind = (
        "**These tables flatter.** Other seeds are not other clusters, and the judge is kind: one incident with the "
        "wrong root counts as exactly one; the newest root counts and not the first; severity is ignored; a pause on "
        "any port is true during a fault of the fabric; leaves, host cables and storage servers are never drawn. The "
        "stricter judge, on clusters left out: [results-families.md](results-families.md)."
    )
    return page("Results: fault campaigns", about, seeds, kind, *_campaigns(found, TITLES))


def baselines_page(found: Sequence[Row]) -> str:
    """docs/evaluation/results-baselines.md."""
    about = (
        "Written by `python -m evaluation baselines`. What is compared, and how: "
        "[campaigns.md](campaigns.md#baselines)."
    )
    seeds = f"Seeds {_numbers(REPORT)}; thresholds are those of the best F1 on seed {TUNE[0]}."
    return page("Results: fault campaigns, baselines", about, seeds, *_campaigns(found, baselines.TITLES))


def page(title: str, *parts: str) -> str:
    """A page of Markdown."""
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def _campaigns(found: Sequence[Row], titles: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys(row["table"] for row in found):
        yield from (f"## {name.replace('_', ' ').capitalize()}", f"{titles[name]}.", _campaign(name, found))


def _numbers(seeds: Sequence[int]) -> str:
    return " and ".join([", ".join(map(str, seeds[:-1])), str(seeds[-1])])


def _campaign(name: str, campaign: Sequence[Row]) -> str:
    found = [{key: value for key, value in row.items() if key != "table"} for row in campaign if row["table"] == name]
    headings = tuple(dict.fromkeys(key for row in found for key in row))
    return table(tuple(heading.replace("_", " ") for heading in headings), [_cells(row, headings) for row in found])


def _cells(row: Row, headings: Sequence[str]) -> Cells:
    values = [row.get(heading) for heading in headings]
    return ["" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value) for value in values]


def table(headings: Sequence[str], cells: Sequence[Cells]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (headings, ["---"] * len(headings), *cells)]
    return "\n".join(lines)
