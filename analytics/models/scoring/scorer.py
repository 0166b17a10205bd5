"""Scores series as their values come: strictly causal, with one alert level for all of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.models.pace import Pace
from analytics.models.scoring import kernel
from analytics.models.scoring.kernel import REASONS as REASONS
from analytics.models.scoring.kernel import Rows, ScoreColumns, SeriesArrays
from analytics.models.scoring.layout import CORE, EXPERTS, MOMENT, POOL, SEARCHING, TAILS, USED, WEEK
from analytics.snapshot.stateful import State
from common.errors import BadInput

# The numbers, or bytes, that each array of records consists of, and a row of it.
_NUMBERS = {
    "core": (np.uint8, CORE),
    "tails": (np.uint8, TAILS),
    "season": (np.uint8, SEARCHING),
    "pools": (np.float64, np.dtype((POOL, EXPERTS))),
}


@dataclass(frozen=True, slots=True)
class Scores:
    """Columns, one row for each row given, in the order given.

    score: float64[n], 1.0 is the alert level of every series; 0.0 while there is too little history.
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
    """Scores each value against the earlier ones of its series, then learns it; a later call continues the series.

    memory: values over which levels and scales are averaged. warmup: values before the first score.
    follow: anomalous values in a row until they are the new normal.
    """

    _muted = 0  # ``kernel.MUTE_`` bits, for measurements

    def __init__(self, *, memory: int = 384, warmup: int = 30, follow: int = 60) -> None:
        self._pace = Pace(1.0 / memory, warmup, follow)
        self._series = 0
        self._core, self._tails, self._season = np.zeros(0, CORE), np.zeros(0, TAILS), np.zeros(0, SEARCHING)
        self._pools, self._moment = np.zeros((0, EXPERTS), POOL), np.zeros(1, MOMENT)
        no_kind = np.zeros(0, np.int64)
        self._one_row = Rows(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), no_kind)
        self._one_result = _score_columns(1)

    def score(
        self,
        times_ns: NDArray[np.int64],
        values: NDArray[np.float64],
        series: NDArray[np.int64] | None = None,
        kinds: NDArray[np.int64] | None = None,
        bands: bool = True,
    ) -> Scores:
        """times_ns: int64[n], ascending within a series. values: float64[n], NaN where missing.

        series: int64[n], number of the series of each row, from 0 on without large gaps; None: all are of series 0.
        kinds: int64[n], number of the kind (metric) of each row's series; None: series have nothing in common. A new
        series is calibrated by the older ones of its kind.
        A row that is not newer than the newest of its series is scored and not learned.
        bands: whether to compute expected, lower and upper; those columns are NaN otherwise.
        Raises BadInput for columns of unequal length and for negative numbers.
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
        out = _score_columns(n)
        self._score_rows(Rows(sids, times, given, of_kinds), bands, out)
        return Scores(out.score, out.score >= 1.0, out.expected, out.lower, out.upper, out.reason)

    def score_one(self, time_ns: int, value: float, series: int = 0) -> tuple[float, float, float, float, int]:
        """Score, expected, lower, upper and reason of one row, as ``score`` gives them, without the cost of columns."""
        if series >= self._series:
            self._grow(series + 1)
        row, out = self._one_row, self._one_result
        row.sids[0], row.times_ns[0], row.values[0] = series, time_ns, value
        self._score_rows(row, True, out)
        bands = out.expected.item(), out.lower.item(), out.upper.item()
        return out.score.item(), *bands, out.reason.item()

    def _score_rows(self, rows: Rows, bands: bool, out: ScoreColumns) -> None:
        kernel.score_rows(rows, self._arrays(), self._pace, self._muted, bands, out)

    def _arrays(self) -> SeriesArrays:
        weeks, used = self._core.view(WEEK), self._season.view(USED)
        return SeriesArrays(self._core, weeks, self._tails, used, self._season, self._pools, self._moment)

    def _grow(self, series: int) -> None:
        self._series = max(self._series, series)
        if series <= len(self._core):
            return
        rows = max(series, 2 * len(self._core))
        self._core, self._tails, self._season = (
            _grown(array, rows) for array in (self._core, self._tails, self._season)
        )

    def keep(self, series: NDArray[np.int64]) -> None:
        """Keeps only these series, renumbered in the order given, and frees the memory of the others."""
        self._core, self._tails, self._season = self._core[series], self._tails[series], self._season[series]
        self._series = len(series)

    def forget_kinds(self, kinds: NDArray[np.int64]) -> None:
        """New series of these kinds are calibrated by none."""
        self._pools[kinds[kinds < len(self._pools)]] = np.zeros((), POOL)

    def state(self) -> State:
        """All that was learned, as plain numbers: three arrays of one row a series, one of a row a kind."""
        used = self._series
        records = (self._core[:used], self._tails[:used], self._season[:used], self._pools)
        return State(None, {name: _plain(name, array) for name, array in zip(_NUMBERS, records, strict=True)})

    def restore(self, state: State) -> None:
        """Continues from a ``state``; keeps arrays that own their memory, copies the others.

        Raises BadInput when it is not a state.
        """
        core, tails, season, pools = (_records(name, state.arrays[name]) for name in _NUMBERS)
        if not len(core) == len(tails) == len(season):
            raise BadInput(f"arrays of {[len(core), len(tails), len(season)]} series: expected one length", "schema")
        self._pools = pools
        self._core, self._tails, self._season, self._series = core, tails, season, len(core)


def _score_columns(n: int) -> ScoreColumns:
    return ScoreColumns(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.uint8))


def _plain(name: str, records: NDArray[Any]) -> NDArray[Any]:
    """[rows, numbers of a record], in the same memory."""
    kind, row = _NUMBERS[name]
    return records.view(kind).reshape(len(records), row.itemsize // np.dtype(kind).itemsize)


def _records(name: str, plain: NDArray[Any]) -> NDArray[Any]:
    """The records that ``_plain`` has given as numbers."""
    kind, row = _NUMBERS[name]
    numbers = np.require(plain, kind, ["C", "W", "O"])
    wanted = len(numbers), row.itemsize // np.dtype(kind).itemsize
    if numbers.shape != wanted:
        raise BadInput(f"array {name} of {numbers.shape}: expected {wanted}", "schema")
    return numbers.view(row.base).reshape(len(numbers), *row.shape)


def _grown(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """The array with more rows, all zero; those take no memory until they are used."""
    grown = np.zeros((rows, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
