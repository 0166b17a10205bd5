"""F1 of the product at one alert level for all collections: what its own 1.0 loses beside the best common one."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

import numpy as np

from evaluation.report import table
from evaluation.scores.collections import Collection, row_scores
from evaluation.scores.figures import figures, outcome, prepared
from evaluation.scores.methods import OURS
from evaluation.series.folders import Recording
from evaluation.series.signals import Floats

LEVELS = np.arange(70, 141) / 100
_SHOWN_EVERY, _OWN = 5, int(np.searchsorted(LEVELS, 1.0))
_HALVES = ("for choosing", "of the report")

Curves = Mapping[str, tuple[Floats, Floats]]


def curves(collections: Sequence[Collection], pool: Executor) -> dict[str, tuple[Floats, Floats]]:
    """By name of the collection: F1 at each of ``LEVELS``, of the half for choosing and of the report."""
    return {each.name: (_curve(each.choosing, pool), _curve(each.report, pool)) for each in collections}


def _curve(recordings: Sequence[Recording], pool: Executor) -> Floats:
    scores = [next(iter(each.values())) for each in pool.map(row_scores, [OURS] * len(recordings), recordings)]
    parts = [prepared(each.columns[0]) for each in recordings]
    at_levels = [[outcome(part, each >= level) for part, each in zip(parts, scores, strict=True)] for level in LEVELS]
    f1: Floats = np.nan_to_num([figures(each).f1 for each in at_levels])
    return f1


def section(found: Curves) -> list[str]:
    """Of a page of Markdown."""
    headings, columns, means = ["level"], [LEVELS], []
    for half, name in enumerate(_HALVES):
        of_half = [curves_of_one[half] for curves_of_one in found.values()]
        means.append(np.mean(of_half, axis=0))
        headings += [f"{each}, {name}" for each in (*found, "mean")]
        columns += [*of_half, means[-1]]
    rows = [[f"{value:.2f}" for value in row] for row in np.array(columns).T[::_SHOWN_EVERY]]
    return [
        "## One level for all",
        f"F1 of the product at one level for all collections. {' '.join(map(_best, _HALVES, means))}",
        table(headings, rows),
    ]


def _best(half: str, mean: Floats) -> str:
    best = int(mean.argmax())
    return (
        f"Best on the halves {half} is {LEVELS[best]:.2f} with a mean of {mean[best]:.3f}, "
        f"{mean[best] - mean[_OWN]:.3f} more than at 1.0."
    )
