"""How the pictures look: SVG with text as text, white ground that is readable in light and dark, the same bytes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from evaluation.pictures.day import Floats

# Colours of Okabe and Ito, which people with any colour vision can distinguish.
BLACK, BLUE, SKY, GREEN, ORANGE, RED = "#222222", "#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00"
PUBLISHED = "#cc79a7"
BLOCK_BINS = 10


def panels(rows: int, columns: int, height: float, **more: Any) -> tuple[Figure, list[Axes]]:
    """A figure 10 inches wide, and its axes row by row."""
    figure = Figure(figsize=(10, height), layout="constrained", facecolor="white")
    axes = figure.subplots(rows, columns, squeeze=False, **more)
    for each in axes.flat:
        each.grid(color="#dddddd", lw=0.5)
        each.spines[["top", "right"]].set_visible(False)
    return figure, list(axes.flat)


def save(figure: Figure, path: Path) -> None:
    with mpl.rc_context({"svg.hashsalt": "fabricscope", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def quantiles(values: Floats, wanted: Sequence[float]) -> Floats:
    """[len(wanted), blocks] over the bins of each block of ten and all columns; values [B, P] may be NaN."""
    blocks = values.shape[0] // BLOCK_BINS
    grouped = values[: blocks * BLOCK_BINS].reshape(blocks, -1)
    found = np.full((len(wanted), blocks), np.nan)
    known = ~np.isnan(grouped).all(axis=1)
    found[:, known] = np.nanquantile(grouped[known], wanted, axis=1)
    return found


def hours_of(blocks: int, hours: float) -> Floats:
    """Middles of the blocks, in hours of the day."""
    return (np.arange(blocks) + 0.5) * hours / blocks


def hour_axis(axes: Axes, hours: float) -> None:
    axes.set_xlim(0, hours)
    axes.xaxis.set_major_locator(FixedLocator(list(np.linspace(0, hours, 7))))
    axes.set_xlabel("hour of the day, UTC")


def spread(axes: Axes, values: Floats, hours: float, colour: str, name: str) -> None:
    """Median as a line, 99th percentile dashed, over ten minutes of all columns."""
    middle, high = quantiles(values, (0.5, 0.99))
    at = hours_of(middle.size, hours)
    axes.plot(at, middle, color=colour, lw=1.3, label=f"{name}: median")
    axes.plot(at, high, color=colour, lw=0.9, ls="--", label="99th percentile")
