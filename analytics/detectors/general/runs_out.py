"""Runs out: what will reach its limit within the horizon, by a significant forecast."""

from dataclasses import dataclass

import numpy as np

from analytics.config import DetectionConfig
from analytics.detectors.spec import Detector, EvidenceColumns, Verdicts, computed_evidence
from analytics.models.trend import forecast
from analytics.models.trend.limits import LIMITS
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

_RECENT_TIMES = 2.0  # the newest part of the history must show the trend too, if not as steep
_FAR_SCORE = 0.99


@dataclass(frozen=True, kw_only=True)
class RunsOut(Detector):
    """Judges each object by its series that reaches a limit first. Only at ticks with new forecasts.

    horizon_days: a limit reached sooner is a finding. history_days: least history of a finding.
    """

    horizon_days: float
    history_days: float
    fire_immediately_score: float = 1.0
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        known = view.derived.forecasts
        if not known.sids.size:
            return []
        mine = np.array([limited.kind is self.kind for limited in LIMITS])[known.limited]
        rows = np.flatnonzero(mine & (known.sids >= 0))
        values = known.values[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.nan_to_num(self.horizon_days / np.maximum(values[:, forecast.DAYS], 0.1))
        later = values[:, forecast.RECENT_DAYS] > _RECENT_TIMES * self.horizon_days
        short = values[:, forecast.SPAN_DAYS] < self.history_days
        score = np.where(later | short, np.minimum(score, _FAR_SCORE), score)
        objects = view.index.columns["object"][known.sids[rows]]
        worst = worst_of_each(objects, score)
        rows, values, score, objects = rows[worst], values[worst], score[worst], objects[worst]
        names = [known.names[row] for row in rows.tolist()]
        evidence = (
            EvidenceColumns(
                known.sids[rows], values[:, forecast.VALUE], known.limits[rows], label=lambda row: names[row]
            ),
            computed_evidence(
                values[:, forecast.DAYS], self.horizon_days, "days", lambda row: f"days_to_limit({names[row]})"
            ),
        )
        times_ns = np.full(rows.size, view.end_ns)
        return [Verdicts(objects, times_ns, score >= 1.0, score, evidence, 0.9)]


def runs_out(config: DetectionConfig) -> tuple[RunsOut, ...]:
    """The detectors of both kinds, with the site's limits."""
    return tuple(
        RunsOut(
            name=str(kind),
            kind=kind,
            metrics=tuple(sorted({limited.metric for limited in LIMITS if limited.kind is kind})),
            horizon_days=config.trend_horizon_days,
            history_days=config.trend_history_days,
        )
        for kind in (FindingKind.CAPACITY, FindingKind.WEAR)
    )
