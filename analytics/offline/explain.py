"""What ``fabricscope explain`` draws: one series of a file with its scores, between two times, and its episodes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.offline.columns import Choice, TimeColumns
from analytics.offline.score import ScoredRows, SeriesNumbers, TableScorer, score_columns
from analytics.offline.tables import open_table
from analytics.offline.times import SAMPLE_ROWS, TIME_NS_MAX, TIME_NS_MIN, expected, in_words, time_format, to_ns
from analytics.offline.zones import UTC_ZONE, checked
from common.errors import BadInput

_DATES_NS = 10**17  # numbers before 1973 count steps, and are no dates
_NAMED_MAX = 10


@dataclass(frozen=True, slots=True)
class Window:
    """first_ns to last_ns, both within; nanoseconds since the epoch."""

    first_ns: int = TIME_NS_MIN
    last_ns: int = TIME_NS_MAX

    def of(self, times_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (times_ns >= self.first_ns) & (times_ns <= self.last_ns)


@dataclass(frozen=True, slots=True)
class SeriesWindow:
    """name: labels of the series; column: of its values. rows: by time; time_ns, value, and ``RESULTS``.

    count: what their times count when they are no dates: rows, or the unit in the file.
    """

    name: str
    column: str
    rows: pl.DataFrame
    count: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """Alerts that belong together: first to last; rows: how many alert; reason: of the highest score."""

    first_ns: int
    last_ns: int
    rows: int
    score: float
    reason: str


def moment(text: str, zone: str = UTC_ZONE) -> int:
    """A time that a person typed, as files write them. zone: whose clocks show it if it has none. Raises BadInput."""
    typed = pl.Series([text])
    form = time_format(typed, lenient=True)
    if form is None:
        raise BadInput(f"{text!r}: expected a time such as '2024-01-31 12:00' or seconds since 1970", "time")
    form = replace(form, zone=checked(zone))
    time_ns = to_ns(typed, form)[0]
    if time_ns is None:
        raise BadInput(f"{text!r}: expected {expected(typed, form)}", "time")
    return int(time_ns)


def series_window(path: str, choice: Choice, window: Window, labels: str, note: Callable[[str], None]) -> SeriesWindow:
    """The series with ``labels``; without, the one with the highest score in the window.

    The whole file is scored, what comes before the window too. Memory: the rows of the one series in the window.
    note: receives a line about rows that are damaged and left out.
    Raises BadInput when there is no such series, more than one, or no row in the window.
    """
    highest = None if labels else _highest(path, choice, window)
    with open_table(path, SAMPLE_ROWS) as table:
        scorer = TableScorer(table, choice)
        column = next(iter(scorer.roles.values))
        kept: list[pl.DataFrame] = []
        known = (TIME_NS_MAX, TIME_NS_MIN)
        for part in scorer.scored():
            known = (int(part.times_ns.min(initial=known[0])), int(part.times_ns.max(initial=known[1])))
            fit = _fitting(scorer.series, labels) if highest is None else [highest]
            if len(fit) > 1:
                break
            mine = window.of(part.times_ns) & np.isin(part.series, fit)
            if mine.any():
                kept.append(_drawn_columns(part, column).filter(pl.Series(mine)))
        if len(fit) != 1:
            raise BadInput(f"{labels!r} fits {len(fit)} series: expected one of {_some(scorer.series, fit)}", "series")
        if table.left_out.rows:
            note(f"{table.name}: {table.left_out.in_words()}")
        if not kept:
            span = " to ".join(map(in_words, known))
            raise BadInput(f"no rows from --from to --to: {span} UTC is what it has", "window")
        rows = pl.concat(kept).sort("time_ns", maintain_order=True)
        return SeriesWindow(scorer.series.in_words(fit[0]), column, rows, _count(scorer.roles.time, rows["time_ns"]))


def episodes(rows: pl.DataFrame) -> list[Episode]:
    """rows: by time; time_ns, score, alert, alert_start, reason. The first may have started before them."""
    alerting = rows.filter(pl.col("alert") == 1)
    parts = alerting.group_by(pl.col("alert_start").cum_sum().alias("episode"), maintain_order=True)
    return [_episode(part) for _, part in parts]


def _episode(rows: pl.DataFrame) -> Episode:
    highest = int(rows["score"].arg_max() or 0)
    first_ns, last_ns = int(rows["time_ns"][0]), int(rows["time_ns"][-1])
    return Episode(first_ns, last_ns, rows.height, float(rows["score"][highest]), rows["reason"][highest] or "")


def _count(time: TimeColumns, times_ns: pl.Series) -> str:
    if not time.names:
        return "row"
    small = time.form.unit_ns and np.abs(times_ns.to_numpy()).max() < _DATES_NS
    return time.names[0] if small else ""


def _drawn_columns(part: ScoredRows, column: str) -> pl.DataFrame:
    values = part.values[column]
    given = pl.DataFrame({"time_ns": part.times_ns, "value": values})
    return given.hstack(score_columns(part.scores[column], part.starts[column], values))


def _highest(path: str, choice: Choice, window: Window) -> int:
    """Number of the series with the highest score in the window, the first of equals; a pass over the whole file."""
    with open_table(path, SAMPLE_ROWS) as table:
        scorer = TableScorer(table, choice)
        if not scorer.roles.labels:
            return 0
        highest: dict[int, float] = {}
        for part in scorer.scored():
            within = window.of(part.times_ns)
            score = part.scores[next(iter(scorer.roles.values))].score[within]
            scores = pl.DataFrame({"series": part.series[within], "score": score})
            for number, top in scores.group_by("series").max().iter_rows():
                highest[number] = max(highest.get(number, 0.0), top)
        return min(highest, key=lambda number: (-highest[number], number), default=0)


def _fitting(series: SeriesNumbers, labels: str) -> list[int]:
    """The series whose labels hold all that is asked: ``host=node1,gpu=3``, or labels without their columns."""
    asked = [part.strip().rpartition("=")[::2] for part in labels.split(",") if part.strip()]

    def fits(name: tuple[str, ...]) -> bool:
        named = dict(zip(series.columns, name, strict=True))
        return all(named.get(column) == label if column else label in name for column, label in asked)

    return [number for number, name in enumerate(series.names) if fits(name)]


def _some(series: SeriesNumbers, fit: list[int]) -> str:
    numbers = fit or range(len(series.names))
    shown = "; ".join(series.in_words(number) for number in numbers[:_NAMED_MAX])
    return f"{shown}; …" if len(numbers) > _NAMED_MAX else shown
