"""Scores series as they come: strictly causal, one meaning of the score for all of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import kernel
from analytics.models.scoring.kernel import REASONS as REASONS
from analytics.models.scoring.kernel import Rows, ScoreColumns, SeriesArrays
from analytics.models.scoring.layout import CORE_WIDTH, EXPERTS, SEASON_WIDTH, TAIL_WIDTH, LearningPace
from analytics.models.scoring.pooled import POOL_WIDTH
from analytics.snapshot.stateful import State
from common.errors import BadInput


@dataclass(frozen=True, slots=True)
class Scores:
    """Columns, one row for each row given, in the order given.

    score: float64[n]: 1.0 is the alert level, the same meaning for every series; 0.0 while there is too little history.
    alert: bool[n], score >= 1.0. expected, lower, upper: float64[n], NaN while unknown.
    reason: uint8[n], index into ``REASONS``.
    """

    score: NDArray[np.float64]
    alert: NDArray[np.bool_]
    expected: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    reason: NDArray[np.uint8]


class SeriesScorer:
    """Scores each value against what came before it in its series, then learns it; goes on where it ended.

    memory: values over which levels and spreads are averaged. warmup: values before the first score.
    follow: anomalous values in a row until they are the new normal.
    """

    _muted = 0  # experts that are left out, for measurements

    def __init__(self, *, memory: int = 384, warmup: int = 30, follow: int = 60) -> None:
        self._pace = LearningPace(1.0 / memory, float(warmup), float(follow))
        self._series = 0
        self._core = np.zeros((0, CORE_WIDTH))
        self._tails = np.zeros((0, TAIL_WIDTH, EXPERTS), np.float32)
        self._season = np.zeros((0, SEASON_WIDTH), np.int16)
        self._pools = np.zeros((0, EXPERTS, POOL_WIDTH))

    def score(
        self,
        times_ns: NDArray[np.int64],
        values: NDArray[np.float64],
        series: NDArray[np.int64] | None = None,
        kinds: NDArray[np.int64] | None = None,
        bands: bool = True,
    ) -> Scores:
        """times_ns: int64[n], ascending within a series. values: float64[n], NaN where missing.

        series: int64[n], number of the series of each row, from 0 on without great holes; None: all are of series 0.
        kinds: int64[n], number of the kind (metric) of each row's series; None: series have nothing in common. A new
        series is calibrated by what older ones of its kind have learned.
        A row that is not newer than the newest of its series is scored and not learned.
        bands: whether to work out what was expected; those columns are NaN otherwise.
        """
        times = np.ascontiguousarray(times_ns, np.int64)
        given = np.ascontiguousarray(values, np.float64)
        sids = np.zeros(given.size, np.int64) if series is None else np.ascontiguousarray(series, np.int64)
        of_kinds = sids[:0] if kinds is None else np.ascontiguousarray(kinds, np.int64)
        shapes = {times.shape, given.shape, sids.shape, given.shape if kinds is None else of_kinds.shape}
        if len(shapes) > 1 or given.ndim != 1:
            raise BadInput(f"columns of {sorted(shapes)}: expected one length", "schema")
        for name, numbers in (("series", sids), ("kind", of_kinds)):
            if numbers.size and numbers.min() < 0:
                raise BadInput(f"{name} {numbers.min()}: expected 0 or more", "schema")
        if sids.size:
            self._grow(int(sids.max()) + 1)
        if of_kinds.size and of_kinds.max() >= len(self._pools):
            self._pools = _grown(self._pools, int(of_kinds.max()) + 1)
        n = given.size
        out = ScoreColumns(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.uint8))
        state = SeriesArrays(self._core, self._tails, self._season, self._pools)
        kernel.score_rows(Rows(sids, times, given, of_kinds), state, self._pace, self._muted, bands, out)
        return Scores(out.score, out.score >= 1.0, out.expected, out.lower, out.upper, out.reason)

    def _grow(self, series: int) -> None:
        self._series = max(self._series, series)
        if series <= len(self._core):
            return
        rows = max(series, 2 * len(self._core))
        self._core, self._tails, self._season = (
            _grown(array, rows) for array in (self._core, self._tails, self._season)
        )

    def keep(self, series: NDArray[np.int64]) -> None:
        """Only these series, renumbered in the order given; the memory of the others is given back."""
        self._core, self._tails, self._season = self._core[series], self._tails[series], self._season[series]
        self._series = len(series)

    def state(self) -> State:
        """All that was learned: three arrays of one row a series, one of a row a kind."""
        used = self._series
        arrays: dict[str, NDArray[Any]] = {
            "core": self._core[:used],
            "tails": self._tails[:used],
            "season": self._season[:used],
            "pools": self._pools,
        }
        return State(None, arrays)

    def restore(self, state: State) -> None:
        """Goes on from a ``state``; keeps arrays that own their memory, copies the others.

        Raises BadInput when it is not a state.
        """
        core, tails, season, pools = (
            np.require(state.arrays[name], kind, ["C", "W", "O"])
            for name, kind in (("core", np.float64), ("tails", np.float32), ("season", np.int16), ("pools", np.float64))
        )
        n = len(core)
        wanted = (n, CORE_WIDTH), (n, TAIL_WIDTH, EXPERTS), (n, SEASON_WIDTH), (len(pools), EXPERTS, POOL_WIDTH)
        found = core.shape, tails.shape, season.shape, pools.shape
        if found != wanted:
            raise BadInput(f"arrays of {found}: expected {wanted}", "schema")
        self._pools = pools
        self._core, self._tails, self._season, self._series = core, tails, season, n


def _grown(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """The array with more rows, all zero; those take no memory until they are used."""
    grown = np.zeros((rows, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
