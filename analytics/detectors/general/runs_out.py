"""Runs out: what will reach its limit within the horizon, by a forecast that is proved."""

from dataclasses import dataclass

import numpy as np

from analytics.config import DetectionConfig
from analytics.detectors.spec import Evidence, Verdicts
from analytics.models.trend import forecast
from analytics.models.trend.history import TrendBook
from analytics.models.trend.limits import LIMITS
from analytics.state.view import View, worst_of_each
from telemetry.findings import FindingKind

_RECENT_TIMES = 2.0  # the newest part of the history must say so too, if not as soon
_FAR_SCORE = 0.99


@dataclass(frozen=True)
class RunsOut:
    """Judges each object by its series that comes first. Only at ticks with new forecasts.

    horizon_days: from which on it is a finding. history_days: what a finding rests on at least.
    """

    kind: FindingKind
    book: TrendBook
    horizon_days: float
    history_days: float
    persist: int = 1
    sure: float = 1.0
    clear_intervals: float = 0.0

    @property
    def name(self) -> str:
        return str(self.kind)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(sorted({limited.metric for limited in LIMITS if limited.kind is self.kind}))

    def judge(self, view: View) -> list[Verdicts]:
        book = self.book
        if not book.judged.size:
            return []
        mine = np.array([limited.kind is self.kind for limited in LIMITS])[book.columns["limited"]]
        rows = np.flatnonzero(mine & (book.sids >= 0))
        told = book.columns["told"][rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.nan_to_num(self.horizon_days / np.maximum(told[:, forecast.DAYS], 0.1))
        later = told[:, forecast.RECENT_DAYS] > _RECENT_TIMES * self.horizon_days
        short = told[:, forecast.SPAN_DAYS] < self.history_days
        score = np.where(later | short, np.minimum(score, _FAR_SCORE), score)
        objects = view.registry.columns["object"][book.sids[rows]]
        worst = worst_of_each(objects, score)
        rows, told, score, objects = rows[worst], told[worst], score[worst], objects[worst]
        sids = book.sids[rows]
        evidence = (
            Evidence(
                sids, told[:, forecast.VALUE], book.limits(rows), label=lambda row: book.series_of(int(rows[row]))
            ),
            Evidence(
                np.full(rows.size, -1),
                told[:, forecast.DAYS],
                np.full(rows.size, self.horizon_days),
                "days",
                lambda row: f"days_to_limit({book.series_of(int(rows[row]))})",
            ),
        )
        times_ns = np.full(rows.size, view.end_ns)
        return [Verdicts(objects, times_ns, score >= 1.0, score, evidence, 0.9)]


def runs_out(book: TrendBook, config: DetectionConfig) -> tuple[RunsOut, ...]:
    """The detectors of both kinds, with the site's limits."""
    kinds = (FindingKind.CAPACITY, FindingKind.WEAR)
    return tuple(RunsOut(kind, book, config.trend_horizon_days, config.trend_history_days) for kind in kinds)
