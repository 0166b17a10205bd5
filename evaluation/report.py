"""The figures as rows for ``build/eval.json``, as tables for a terminal, and as pages for the documentation."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evaluation.campaigns import baselines
from evaluation.campaigns.run import REPORT, TUNE
from evaluation.campaigns.tables import TITLES
from evaluation.series import ablation
from evaluation.series.evaluate import OURS, Verdict, by_anomaly, by_kind, by_reason
from evaluation.series.events import Figures
from evaluation.series.synthetic import Series

Row = dict[str, Any]
Cells = list[str]
METHODS = (
    "method",
    "threshold",
    "precision",
    "recall",
    "F1 (90 %)",
    "false a day",
    "false / 1000 points",
    "delay, points",
    "delay, windows",
    "recall if as calm",
    "average precision",
    "early score",
)
REASONS = ("reason", "windows noticed first", "false events begun")
ABLATION = ("without", "found", "false / 1000 points", "precision", "recall", "F1", "windows no longer found")
KINDS = ("kind", "found", "false a day", "best other: found", "false a day", "which")


def rows(verdicts: Iterable[Verdict]) -> list[Row]:
    """One row a method and threshold, with its figures by kind of series and by anomaly."""
    return [
        {
            "name": each.method,
            "threshold": each.threshold,
            "average_precision": each.area,
            "f1_range": each.f1_range,
            "recall_as_calm": each.recall_as_calm,
            **_named(each.figures),
            "by_kind": {kind: _named(found) for kind, found in by_kind(each.outcomes).items()},
            "by_anomaly": by_anomaly(each.outcomes),
        }
        for each in verdicts
    ]


def _named(found: Figures) -> Row:
    return {name: _rounded(getattr(found, name)) for name in Figures.__slots__}


def _rounded(value: float) -> float | None:
    """What JSON can hold: NaN is null."""
    return None if value != value else round(value, 4)


def methods(verdicts: Iterable[Verdict]) -> list[Cells]:
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
            f"{each.recall_as_calm:.2f}",
            f"{each.area:.2f}",
            f"{each.figures.early:.0f}",
        ]
        for each in verdicts
    ]


def kinds(ours: Verdict, rivals: Sequence[Verdict]) -> list[Cells]:
    """Ours by kind of series, beside the best rival of that kind: hits of windows, and false events a day."""
    others = [by_kind(each.outcomes) for each in rivals]
    drawn = []
    for kind, found in by_kind(ours.outcomes).items():
        ranks = [-1.0 if math.isnan(other[kind].f1) else other[kind].f1 for other in others]
        best = ranks.index(max(ranks))
        drawn.append([kind, *_hits(found), *_hits(others[best][kind]), rivals[best].method])
    return drawn


def anomalies(ours: Verdict, rivals: Sequence[Verdict]) -> list[Cells]:
    """Windows found of each sort: by ours and by each rival."""
    others = [by_anomaly(each.outcomes) for each in rivals]
    return [
        [anomaly, f"{hits} of {count}", *(str(other[anomaly][0]) for other in others)]
        for anomaly, (hits, count) in by_anomaly(ours.outcomes).items()
    ]


def reasons(of: Sequence[Series]) -> list[Cells]:
    return [[reason, str(hits), str(false)] for reason, (hits, false) in by_reason(of).items()]


def without(of: Sequence[Series]) -> list[Cells]:
    """What is left at 1.0 when one part is left out."""
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
        for each in ablation.run(of)
    ]


def _hits(found: Figures) -> Cells:
    return [f"{found.found} of {found.windows}", f"{found.false_per_day:.3f}"]


def split(verdicts: Sequence[Verdict]) -> tuple[Verdict, list[Verdict]]:
    """Ours at its own threshold, and the rivals."""
    return verdicts[0], [each for each in verdicts if each.method != OURS]


def series_page(title: str, about: str, verdicts: Sequence[Verdict]) -> str:
    """docs/evaluation-results.md and docs/evaluation-public.md. about: where the series come from."""
    ours, others = split(verdicts)
    of = [each.series for each in ours.outcomes]
    points = sum(each.points for each in ours.outcomes)
    names = [each.method for each in others]
    parts = [
        f"# {title}",
        f"{about} What the columns mean is in [evaluation.md](evaluation.md).",
        f"{len(ours.outcomes)} series, {points:,} points that count, {ours.figures.windows} windows to find, "
        "on seeds that no threshold was chosen on. The first row is the product as it comes: alert at a score of 1.0.",
        _table(METHODS, methods(verdicts)),
        "## By kind of series",
        "Windows found and false events a day: ours at 1.0, and of the others the one with the best F1 on that kind.",
        _table(KINDS, kinds(ours, others)),
        "## By sort of anomaly",
        "Windows found, each method at its one threshold.",
        _table(("anomaly", "ours at 1.0", *names), anomalies(ours, others)),
        "## By reason",
        "What ours says at the first alert of a window or of a false event.",
        _table(REASONS, reasons(of)),
        "## What each part is worth",
        "Ours at 1.0 with one part left out in turn. The last column is net, by sort of anomaly.",
        _table(ABLATION, without(of)),
    ]
    return "\n\n".join(parts) + "\n"


def campaigns_page(found: Sequence[Row]) -> str:
    """docs/evaluation-campaigns.md."""
    parts = [
        "# Evaluation: campaigns of faults",
        "Written by `make eval`; what is played and what the columns mean is in [campaigns.md](campaigns.md).",
        f"Seeds {_numbers(REPORT)}, on which nothing was tuned; detectors were worked on with seeds {_numbers(TUNE)}.",
        *_campaigns(found, TITLES),
    ]
    return "\n\n".join(parts) + "\n"


def rivals_page(found: Sequence[Row]) -> str:
    """docs/evaluation-rivals.md."""
    parts = [
        "# Evaluation: campaigns of faults, beside other methods",
        "Written by `python -m evaluation rivals`; what is compared, and how, is in "
        "[campaigns.md](campaigns.md#beside-other-methods).",
        f"Seeds {_numbers(REPORT)}; thresholds are those of the best F1 on seed {TUNE[0]}.",
        *_campaigns(found, baselines.TITLES),
    ]
    return "\n\n".join(parts) + "\n"


def _campaigns(found: Sequence[Row], titles: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys(row["table"] for row in found):
        yield from (f"## {name.capitalize()}", f"{titles[name]}.", _campaign(name, found))


def _numbers(seeds: Sequence[int]) -> str:
    return " and ".join([", ".join(map(str, seeds[:-1])), str(seeds[-1])])


def _campaign(name: str, campaign: Sequence[Row]) -> str:
    found = [{key: value for key, value in row.items() if key != "table"} for row in campaign if row["table"] == name]
    headings = tuple(dict.fromkeys(key for row in found for key in row))
    return _table(tuple(heading.replace("_", " ") for heading in headings), [_cells(row, headings) for row in found])


def _cells(row: Row, headings: Sequence[str]) -> Cells:
    values = [row.get(heading) for heading in headings]
    return ["" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value) for value in values]


def _table(headings: Sequence[str], cells: Sequence[Cells]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (headings, ["---"] * len(headings), *cells)]
    return "\n".join(lines)
