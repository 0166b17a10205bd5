"""The state of every series: its newest value, its baseline, its anomaly score."""

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.models import baseline
from analytics.models.scoring.live import NO_SLOT, LiveScores
from analytics.snapshot.stateful import State, joined, restore_joined
from analytics.state import rates
from analytics.state.columns import Columns
from analytics.state.registry import Registry
from analytics.state.tick import Tick

LAYOUT: dict[str, tuple[str, float, int]] = {
    **rates.LAYOUT,
    "baseline": ("f8", 0.0, baseline.WIDTH),
    "score": ("f8", np.nan, 1),
    "slot": ("i4", NO_SLOT, 1),
    "anomaly": ("f8", np.nan, 1),
}


class SeriesState:
    """Columns by series number."""

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self.columns = Columns(LAYOUT)
        self._scores = LiveScores(config.baseline)

    def process(self, tick: Tick, registry: Registry) -> NDArray[np.uint8]:
        """Rates, baselines and scores of one tick, in compiled passes over all its samples.

        uint8[samples]: ``rates.Status`` of each.
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
        baseline.score_and_learn(tick.sids, values, series["baseline"], pace, scores, series["score"])
        rows = np.flatnonzero(rules.scored[metric_of[tick.sids]])
        if rows.size:
            sids, times_ns = tick.sids[rows], tick.times_ns[rows]
            self._scores.update(sids, times_ns, values[rows], metric_of, series["slot"], series["anomaly"])
        return status

    def keep(self, sids: NDArray[np.int64]) -> None:
        """Keeps only these series, renumbered in the order given."""
        self.columns.keep(sids)
        self._scores.keep(self.columns["slot"])

    def state(self) -> State:
        return joined({"columns": self.columns, "scores": self._scores})

    def restore(self, state: State) -> None:
        restore_joined({"columns": self.columns, "scores": self._scores}, state)
