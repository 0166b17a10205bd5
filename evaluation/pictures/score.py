"""The pictures of docs/scoring.md, drawn of made series: ``python -m evaluation.pictures.score``."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from analytics.models.scoring.scorer import Scores
from analytics.offline.episodes import Episodes
from evaluation.pictures.day import Floats
from evaluation.pictures.score_series import STEP_S, Example, jumps, port, reasons, scored
from evaluation.pictures.style import BLACK, BLUE, RED, SKY, panels, save

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
_HOUR = 3600 // STEP_S


def main(folder: Path = FOLDER) -> None:
    band(folder / "score-band.svg")
    same_jump(folder / "score-jump.svg")
    by_reason(folder / "score-reasons.svg")


def band(path: Path) -> None:
    """A series with its band, and the score below."""
    example = port()
    scores = scored(example.values)
    figure, (above, below) = panels(2, 1, 5.0, sharex=True, height_ratios=(3, 1))
    hours = _series(above, example, scores)
    above.set_ylabel("throughput, Gbit/s")
    above.legend(loc="lower left", ncols=4, frameon=False)
    _score(below, example, scores, hours)
    starts = Episodes().starts(scores.alert, np.zeros(scores.alert.size, np.int64))[example.first :]
    begins = hours[starts]
    for axes in (above, below):
        for begin in begins:
            axes.axvline(begin, color=RED, lw=0.8, ls=":")
    place = (float(begins[0]), 0.97)
    above.annotate("alert_start ", place, xycoords=("data", "axes fraction"), ha="right", va="top", color=RED)
    below.xaxis.set_major_locator(MultipleLocator(6))
    below.set_xlabel("hours")
    save(figure, path)


def same_jump(path: Path) -> None:
    """The same jump in two series: the scores differ, the alert level does not."""
    figure, axes = panels(2, 2, 4.5, sharex=True, sharey="row", height_ratios=(3, 1))
    for column, example in enumerate(jumps()):
        scores = scored(example.values)
        above, below = axes[column], axes[column + 2]
        hours = _series(above, example, scores)
        above.set_title(
            f"{example.title}: to 70 scores {scores.score[example.event].max():.1f}", loc="left", fontsize=11
        )
        _score(below, example, scores, hours)
        below.set_xlabel("hours")
    save(figure, path)


def by_reason(path: Path) -> None:
    """A small picture for each reason, its alerts marked."""
    figure, axes = panels(2, 3, 5.0)
    for place, example in zip(axes, reasons(), strict=True):
        _series(place, example, scored(example.values))
        place.set_title(f"{example.reason}: {example.title}", loc="left", fontsize=11)
        place.set_xlabel("hours")
    save(figure, path)


def _series(axes: Axes, example: Example, scores: Scores) -> Floats:
    """Draws values, expectation, band and alerts; gives the hours of the rows that are drawn."""
    rows = slice(example.first, None)
    hours = np.arange(example.values.size - example.first) / _HOUR
    values, alert = example.values[rows], scores.alert[rows]
    axes.fill_between(hours, scores.lower[rows], scores.upper[rows], color=SKY, alpha=0.3, lw=0, label="lower to upper")
    axes.plot(hours, scores.expected[rows], color=BLUE, lw=1.2, ls="--", label="expected")
    axes.plot(hours, values, color=BLACK, lw=0.9, label="value")
    axes.plot(hours[alert], values[alert], ".", color=RED, ms=7, label="alert")
    low, high = values.min(), values.max()
    axes.set_ylim(low - 0.25 * (high - low), high + 0.25 * (high - low))
    axes.margins(x=0.01)
    return hours


def _score(axes: Axes, example: Example, scores: Scores, hours: Floats) -> None:
    score = scores.score[example.first :]
    axes.plot(hours, score, color=BLACK, lw=0.9)
    axes.fill_between(hours, 1.0, score, where=score > 1.0, color=RED, alpha=0.5, lw=0)
    axes.axhline(1.0, color=RED, lw=1.2, ls="--")
    axes.set_ylim(0, None)
    axes.set_ylabel("score")


if __name__ == "__main__":
    main()
