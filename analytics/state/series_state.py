"""The state of every series: its newest value, its baseline, its anomaly score."""

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.models import baseline
from analytics.models.scoring.live import NO_SLOT, LiveScores
from analytics.snapshot.stateful import Joined, Stateful
from analytics.state import rates
from analytics.state.columns import Columns, SomeColumns
from analytics.state.registry import Registry
from analytics.state.tick import Tick

Layout = dict[str, tuple[str, float, int]]
_BASELINES: Layout = {"baseline": ("f8", 0.0, baseline.WIDTH), "score": ("f8", np.nan, 1)}
_SCORES: Layout = {"slot": ("i4", NO_SLOT, 1), "anomaly": ("f8", np.nan, 1)}
_GAPS = ("gaps_s",)
_RATES = tuple(name for name in rates.LAYOUT if name not in _GAPS)
LAYOUT: Layout = {**rates.LAYOUT, **_BASELINES, **_SCORES}


class SeriesState:
    """Columns by series number."""

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self.columns = Columns(LAYOUT)
        self._scores = LiveScores(config.baseline)

    def process(self, tick: Tick, registry: Registry, reported: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Rates, baselines and scores of one tick, in compiled passes over all its samples.

        reported: bool[series], those with findings. uint8[samples]: ``rates.Status`` of each.
        """
        values, status = np.empty(len(tick)), np.empty(len(tick), np.uint8)
        rules, series, metric_of = registry.rules, self.columns, registry.columns["metric"]
        rates.to_values(
            rates.Samples(tick.starts, tick.collected_ns, tick.sids, tick.times_ns, tick.values),
            rates.CounterRules(metric_of, rules.counter, rules.modulus, rules.refresh_ns),
            rates.RateColumns(*(series[name] for name in rates.LAYOUT)),
            values,
            status,
        )
        scores = np.empty(len(tick))
        pace = self._config.baseline
        with_findings = reported.take(tick.sids)
        baseline.score_and_learn(tick.sids, values, with_findings, series["baseline"], pace, scores, series["score"])
        rows = np.flatnonzero(rules.scored[metric_of[tick.sids]])
        if rows.size:
            sids, times_ns = tick.sids[rows], tick.times_ns[rows]
            self._scores.update(sids, times_ns, values[rows], metric_of, series["slot"], series["anomaly"])
        return status

    def keep(self, sids: NDArray[np.int64]) -> None:
        """Keeps only these series, renumbered in the order given."""
        self.columns.keep(sids)
        self._scores.keep(self.columns["slot"])

    def forget_scores(self, sids: NDArray[np.int64], metrics: NDArray[np.int64]) -> None:
        """Of these series, and what new series of these metrics would begin with."""
        self.columns["slot"][sids], self.columns["anomaly"][sids] = NO_SLOT, np.nan
        self._scores.keep(self.columns["slot"])
        self._scores.forget_kinds(metrics)

    @property
    def gaps(self) -> Stateful:
        """How often each series has a value."""
        return SomeColumns(self.columns, _GAPS)

    @property
    def parts(self) -> dict[str, Stateful]:
        """By name of their block; the rates come first, as they say how many series there are."""
        slots = SomeColumns(self.columns, tuple(_SCORES))
        return {
            "rates": SomeColumns(self.columns, _RATES),
            "baselines": SomeColumns(self.columns, tuple(_BASELINES)),
            "scores": Joined({"columns": slots, "records": self._scores}),
        }
