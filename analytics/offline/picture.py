"""A series with what was expected of it, and its scores below, as a PNG."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analytics.offline.explain import Episode, SeriesWindow, episodes
from analytics.offline.times import SECOND_NS, in_words

# Colours of Okabe and Ito, which people with any colour vision can distinguish.
_VALUE, _EXPECTED, _BAND, _ALERT = "#222222", "#0072b2", "#56b4e9", "#d55e00"
_PAPER = {"facecolor": "white", "alpha": 0.75, "lw": 0, "pad": 1.0}
_PIXELS = 1400
_REASON_PIXELS = 95  # width of a reason beside which the next one is readable
_REASON_ROWS = 3
_REASONS_MAX = 12  # reasons; others are weaker
_GAP_STEPS = 8  # usual steps that may pass without a value before the line is broken
_DOTS_MAX = 60  # rows of which each is seen
_LINEAR_SCORE_MAX = 12.0  # scores above this need a logarithm to leave the alert level visible

Moments = Callable[[pl.Series | list[int]], NDArray[np.float64]]  # places on the axis of nanoseconds


def draw(series: SeriesWindow, title: str, path: Path) -> None:
    """1600 by 900 pixels: above the values, the band and the alerts with their reasons, below the scores."""
    drawn = broken_at_gaps(per_pixel(series.rows, _PIXELS))
    found = episodes(series.rows)
    moments = _dates if not series.count else _counts
    figure = Figure(figsize=(16, 9), dpi=100, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.annotate(title, (0.0, 1.075), xycoords="axes fraction", fontsize=17, fontweight="bold")
    above.set_title(_summary(series, found), fontsize=12, loc="left", color="#444444")
    _values(above, drawn, series, moments)
    _scores(below, drawn, moments)
    for axes in (above, below):
        for episode in found:
            axes.axvspan(*moments([episode.first_ns, episode.last_ns]).tolist(), color=_ALERT, alpha=0.18, lw=0.8)
        axes.grid(color="#dddddd", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
        axes.tick_params(labelsize=11)
    _reasons(above, found, moments)
    if drawn.height == 1:
        centre = moments(drawn["time_ns"])[0]
        below.set_xlim(centre - 0.01, centre + 0.01)
    _time_axis(below, series.count)
    figure.savefig(path, format="png")


def _values(axes: Axes, drawn: pl.DataFrame, series: SeriesWindow, moments: Moments) -> None:
    times = moments(drawn["time_ns"])
    bounds = (drawn["lower"].to_numpy(), drawn["upper"].to_numpy())
    axes.fill_between(times, *bounds, color=_BAND, alpha=0.3, lw=0, label="lower to upper")
    axes.plot(times, drawn["expected"], color=_EXPECTED, lw=1.4, ls="--", label="expected")
    line_ns, values = line(drawn)
    dots = "." if drawn.height <= _DOTS_MAX else ""
    axes.plot(moments(line_ns), values, color=_VALUE, lw=1.0, marker=dots, label=series.column)
    alerts = series.rows.filter(pl.col("alert") == 1)
    axes.plot(moments(alerts["time_ns"]), alerts["value"], ".", color=_ALERT, ms=7, label="alert")
    axes.set_ylabel(series.column, fontsize=13)
    axes.yaxis.set_major_formatter("{x:,.10g}")
    low, high = _limits(drawn)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.2 * (high - low))
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, frameon=False, fontsize=12, borderaxespad=0.2)


def _limits(drawn: pl.DataFrame) -> tuple[float, float]:
    """All values, and the band but for its widest moments: at first it knows little."""
    low, high = drawn["least"].min(), drawn["greatest"].max()
    band = (drawn["lower"].quantile(0.05), drawn["upper"].quantile(0.95))
    lows = [float(number) for number in (low, band[0]) if isinstance(number, float)]
    highs = [float(number) for number in (high, band[1]) if isinstance(number, float)]
    least, greatest = min(lows, default=0.0), max(highs, default=1.0)
    return (least, greatest) if greatest > least else (least - 1.0, greatest + 1.0)


def _scores(axes: Axes, drawn: pl.DataFrame, moments: Moments) -> None:
    times, scores = moments(drawn["time_ns"]), drawn["score"].cast(pl.Float64).to_numpy()
    axes.plot(times, scores, color=_VALUE, lw=1.0)
    axes.fill_between(times, 1.0, scores, where=scores > 1.0, color=_ALERT, alpha=0.6, lw=0, interpolate=True)
    axes.axhline(1.0, color=_ALERT, lw=1.4, ls="--")
    axes.annotate("alert level", (1.0, 1.0), xycoords=("axes fraction", "data"), color=_ALERT, fontsize=11)
    highest = float(np.nanmax(scores, initial=0.0))
    if highest > _LINEAR_SCORE_MAX:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0, max(1.5, 1.15 * highest))
    axes.set_ylabel("score", fontsize=13)


def _reasons(axes: Axes, found: list[Episode], moments: Moments) -> None:
    """Beside the strongest episodes, as far as there is room for words."""
    first, last = axes.get_xlim()
    taken: list[tuple[int, float]] = []
    for episode in sorted(found, key=lambda episode: -episode.score)[:_REASONS_MAX]:
        centre = float(moments([episode.first_ns])[0])
        pixel = (centre - first) / (last - first) * _PIXELS
        for row in range(_REASON_ROWS):
            if all(row != other or abs(pixel - place) > _REASON_PIXELS for other, place in taken):
                taken.append((row, pixel))
                words = f"{episode.reason} {episode.score:.1f}"
                place = (centre, 0.985 - 0.045 * row)
                axes.annotate(
                    words, place, xycoords=("data", "axes fraction"), va="top", color=_ALERT, fontsize=11, bbox=_PAPER
                )
                break


def _time_axis(axes: Axes, count: str) -> None:
    if count:
        axes.set_xlabel(count, fontsize=13)
        return
    locator = AutoDateLocator(minticks=6, maxticks=14)  # type: ignore[no-untyped-call]  # matplotlib's own
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.set_xlabel("time (UTC)", fontsize=13)


def _summary(series: SeriesWindow, found: list[Episode]) -> str:
    rows = series.rows
    first, last = (in_words(int(rows["time_ns"][place])) for place in (0, -1))
    when = "" if series.count else f", {first} to {last} UTC"
    alerting = f"{int(rows['alert'].sum()):,} alert in {len(found):,} episode{'' if len(found) == 1 else 's'}"
    return f"{rows.height:,} row{'' if rows.height == 1 else 's'}{when}: {alerting if found else 'no alert'}"


def _dates(times_ns: pl.Series | list[int]) -> NDArray[np.float64]:
    """Days since 1970, as axes of dates count."""
    return np.asarray(times_ns, np.int64) / (86_400 * SECOND_NS)


def _counts(times_ns: pl.Series | list[int]) -> NDArray[np.float64]:
    return np.asarray(times_ns, np.int64) / SECOND_NS


def per_pixel(rows: pl.DataFrame, pixels: int) -> pl.DataFrame:
    """The rows of each of ``pixels`` equal spans of time as one: least and greatest value, the outermost band, mean
    expectation, highest score. Short series stay as they are.

    rows: by time; time_ns, value, score, alert, expected, lower, upper. Returns time_ns, least, greatest, and them.
    """
    span = max(int(rows["time_ns"][-1]) - int(rows["time_ns"][0]), 1)
    pixel = (
        ((pl.col("time_ns") - pl.col("time_ns").first()).cast(pl.Float64) * (pixels / span))
        .cast(pl.Int64)
        .clip(0, pixels - 1)
    )
    value = pl.col("value").fill_nan(None)
    columns = (
        pl.col("time_ns").min(),
        value.min().alias("least"),
        value.max().alias("greatest"),
        pl.col("lower").min(),
        pl.col("upper").max(),
        pl.col("expected").mean(),
        pl.col("score").max(),
        pl.col("alert").max(),
    )
    each = pixel if rows.height > 2 * pixels else pl.int_range(pl.len())
    return rows.group_by(each.alias("pixel"), maintain_order=True).agg(*columns).drop("pixel")


def line(drawn: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Times and values of a line through least and greatest of each column of pixels."""
    both = drawn.select("time_ns", pl.concat_list("least", "greatest").alias("value")).explode("value")
    return both["time_ns"], both["value"]


def broken_at_gaps(drawn: pl.DataFrame) -> pl.DataFrame:
    """With a row of nulls in each gap, where the line then ends."""
    steps = np.diff(drawn["time_ns"].to_numpy())
    if not steps.size:
        return drawn
    gaps = steps > _GAP_STEPS * np.median(steps)
    ends = drawn.filter(pl.Series(np.append(gaps, False))).select(pl.col("time_ns") + 1)
    return pl.concat([drawn, ends], how="diagonal").sort("time_ns", maintain_order=True)
