"""Pages about collections of recordings: docs/evaluation/results-labelled.md and results-recurring.md."""

from collections.abc import Callable, Mapping, Sequence

from evaluation.report import Cells, Row, page, table
from evaluation.scores import common_level
from evaluation.scores.collections import Collection, Judged, events, experts
from evaluation.scores.events import FIRST
from evaluation.scores.methods import OURS

_METHODS = (
    *("method", "columns", "threshold", "F1 when chosen", "F1", "precision", "recall", "false per series and day"),
    "early score",
)
_TABLES = {"distance": "Points since the last event", "height": "Height", "direction": "Direction"}
_EXPERTS = ("reason", "events found", "false events")


def collections_page(
    title: str, about: str, found: Sequence[tuple[Collection, list[Judged]]], levels: common_level.Curves
) -> str:
    """A page of Markdown. levels: nothing where there is one collection alone."""
    parts = [part for collection, judged in found for part in _parts(collection, judged)]
    return page(title, about, *parts, *(common_level.section(levels) if levels else ()))


def _parts(collection: Collection, judged: list[Judged]) -> list[str]:
    ours, best = judged[0], best_baseline(judged)
    points = sum(each.points for each in ours.outcomes)
    parts = [
        f"## {collection.name.capitalize()}",
        f"Of {len(collection.report)} recordings with {points:,} points that count and {ours.report.windows} events; "
        f"thresholds were chosen on {len(collection.choosing)} others with {ours.chosen.windows} events.",
        table(_METHODS, [_cells(each) for each in judged]),
    ]
    for of, heading in _TABLES.items():
        headings = (heading.lower(), "events", "fabricscope at 1.0", f"{best.method}, the best baseline")
        parts.append(table(headings, _recalls(collection, (ours, best), of)))
    reasons = experts(collection)
    parts.append(table(_EXPERTS, [[name, str(hits), str(false)] for name, (hits, false) in reasons.items()]))
    return parts


def best_baseline(judged: Sequence[Judged]) -> Judged:
    """The one with the highest F1 in the report."""
    return max((each for each in judged if each.method != OURS), key=lambda each: each.report.f1)


def _cells(each: Judged) -> Cells:
    of = each.report
    return [
        each.method,
        each.columns,
        f"{each.threshold:.3g}",
        f"{each.chosen.f1:.2f}",
        *(f"{of.f1:.2f}", f"{of.precision:.2f}", f"{of.recall:.2f}", f"{of.false_per_day:.3f}", f"{of.early:.0f}"),
    ]


def _recalls(collection: Collection, judged: Sequence[Judged], of: str) -> list[Cells]:
    """Recall by class of events, a column for each method."""
    counts: dict[str, list[int]] = {}
    for at, each in enumerate(judged):
        for event, was_found in events(collection, each):
            row = counts.setdefault(event.classes()[of], [0] * (1 + len(judged)))
            row[0] += at == 0
            row[1 + at] += was_found
    return [
        [name, str(total), *(f"{hits / total:.2f}" for hits in found)]
        for name, (total, *found) in sorted(counts.items(), key=_order)
    ]


def _order(entry: tuple[str, list[int]]) -> tuple[int, int]:
    """First events first, then by the limit in the name."""
    digits = "".join(letter for letter in entry[0] if letter.isdigit())
    return (entry[0] != FIRST, int(digits or 0) + ("more" in entry[0]))


def rows(found: Sequence[tuple[Collection, list[Judged]]]) -> list[Row]:
    """For ``build/eval.json``."""
    names: Mapping[str, Callable[[Judged], object]] = {
        "collection": lambda each: each.collection,
        "name": lambda each: each.method,
        "columns": lambda each: each.columns,
        "threshold": lambda each: each.threshold,
        "f1_chosen": lambda each: each.chosen.f1,
        "f1": lambda each: each.report.f1,
        "precision": lambda each: each.report.precision,
        "recall": lambda each: each.report.recall,
        "false_per_day": lambda each: each.report.false_per_day,
    }
    return [{name: read(each) for name, read in names.items()} for _, judged in found for each in judged]
