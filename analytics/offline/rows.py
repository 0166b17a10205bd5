"""One score for a row of many columns."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

# Chosen on labelled recordings of 19 columns: docs/evaluation/scoring.md. All columns at once: of the level for each
# e-fold of independent columns, and at most.
_LOWER, _LOWER_MAX = 0.05, 0.4
# The few highest, in two rows: how many, and how much higher their level is between independent columns and copies.
_FEW, _HIGHER = 3, 1.2
_MEASURED_FROM, _MEMORY = 300.0, 5000.0  # rows: until what columns have in common counts, and over which it is averaged
_NAMED_MAX = 5


class RowScores:
    """Scores rows by the scores of their columns, those of each series in the order given; 1.0 alerts.

    A row alerts for all of its columns or for a few:

    - All: one less than the geometric mean of one plus each score. Among many columns one at 1.0 is ordinary, several
      at once are not, and a mean of many is more rarely high: its level is 5 % lower for each e-fold of independent
      columns.
    - Of more than three columns the three highest: the mean of the lower of their last two scores, so that one moment
      is not enough. Independent columns seldom alert together, and copies of one do as often as that one: both have a
      level of 1.0. In between, each group of columns that move together is one more chance: the level is 1 and 1.2
      times ln(n) (1 - ln(n) / ln(columns)) for n independent columns.

    The number of independent columns is measured: the square of the sum of the standard deviations of the columns'
    logarithms by the variance of their sum (Brown 1975, A method for combining non-independent one-sided tests). In the
    first 300 rows the levels are those of independent columns, and the highest one of three.

    Memory: three numbers for each column of a series, and three more.
    """

    def __init__(self) -> None:
        # By series: of each column the logarithm in the row before (NaN at first), its mean, and its variance.
        self._columns = np.empty((0, 3, 0))
        self._sums = np.empty((0, 3))  # rows, mean and variance of the sum of all columns

    def score(self, scores: NDArray[np.float64], series: NDArray[np.int64]) -> NDArray[np.float64]:
        """float64[rows], 0 where no column is known. scores: float64[columns, rows], 0 or more; NaN: not known.

        series: int64[rows], from 0 on without large gaps. How the rows are divided into calls changes nothing.
        """
        columns, rows = scores.shape
        known, wanted = len(self._sums), int(series.max(initial=-1)) + 1
        if wanted > known:
            new = max(wanted, 2 * known) - known  # doubled, so that series one after the other do not each copy
            begin = np.zeros((new, 3, columns))
            begin[:, 0] = np.nan
            self._columns = np.concatenate([self._columns, begin]) if known else begin
            self._sums = np.concatenate([self._sums, np.zeros((new, 3))])
        found = np.empty(rows)
        _score_rows(np.ascontiguousarray(np.log1p(scores.T)), series, self._columns, self._sums, found)
        return found


def row_score(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """``RowScores`` of the rows of one series, from its beginning."""
    return RowScores().score(scores, np.zeros(scores.shape[1], np.int64))


@compiled
def _score_rows(
    logs: NDArray[np.float64],
    series: NDArray[np.int64],
    of_columns: NDArray[np.float64],
    of_sums: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """logs: float64[rows, columns]."""
    for row in range(series.size):
        columns, sums = of_columns[series[row]], of_sums[series[row]]
        found[row] = _score(logs[row], columns, sums)
        _learn(logs[row], columns, sums)


@compiled
def _score(logs: NDArray[np.float64], columns: NDArray[np.float64], sums: NDArray[np.float64]) -> float:
    known, total = 0, 0.0
    highest = np.zeros(_FEW)  # ascending
    for column in range(logs.size):
        if np.isnan(logs[column]):
            continue
        known += 1
        total += logs[column]
        if columns[0, column] > 0.0:  # not of NaN
            _put(highest, min(logs[column], columns[0, column]))
    if not known:
        return 0.0
    measured = sums[0] >= _MEASURED_FROM and sums[2] > 0.0
    most = np.log(known)
    independent = min(np.log(np.sum(np.sqrt(columns[2])) ** 2 / sums[2]), most) if measured else most
    score = float(np.expm1(total / known) / (1.0 - min(_LOWER * independent, _LOWER_MAX)))
    if known <= _FEW:
        return score
    independent = max(independent, 0.0) if measured else 0.5 * most
    few = float(np.expm1(highest.mean()) / (1.0 + _HIGHER * independent * (1.0 - independent / most)))
    return max(score, few)


@compiled
def _put(highest: NDArray[np.float64], value: float) -> None:
    """Keeps the highest values in ascending order."""
    if value <= highest[0]:
        return
    place = 0
    while place + 1 < highest.size and highest[place + 1] < value:
        highest[place] = highest[place + 1]
        place += 1
    highest[place] = value


@compiled
def _learn(logs: NDArray[np.float64], columns: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """A missing value is the mean of its column."""
    sums[0] += 1.0
    rate, total = max(1.0 / sums[0], 1.0 / _MEMORY), 0.0
    for column in range(logs.size):
        if np.isnan(logs[column]):
            total += columns[1, column]
            continue
        total += logs[column]
        error = logs[column] - columns[1, column]
        columns[0, column] = logs[column]
        columns[1, column] += rate * error
        columns[2, column] += rate * ((1.0 - rate) * error * error - columns[2, column])
    error = total - sums[1]
    sums[1] += rate * error
    sums[2] += rate * ((1.0 - rate) * error * error - sums[2])


def contributing(scores: NDArray[np.float64], names: Sequence[str]) -> str:
    """Names of the columns of one row that raise its score, as theirs are above its mean; the highest first, five at
    most. scores: float64[columns], NaN where not known.
    """
    known = np.nan_to_num(scores)
    mean = float(np.expm1(np.nanmean(np.log1p(scores))))
    above = [place for place in np.argsort(-known, kind="stable")[:_NAMED_MAX] if known[place] >= mean]
    return ", ".join(names[place] for place in above)
