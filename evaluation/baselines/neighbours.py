"""Methods that compare the newest points with stretches of the past. As causal as the others."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from common.jit import compiled
from evaluation.series.signals import Floats
from evaluation.series.synthetic import Series


def knn_cad(series: Series, lags: int = 19, neighbours: int = 27) -> Floats:
    """Share of the last points that were less strange, 1 less the conformal p-value (lazy drifting conformal detector).

    Strange is the sum of Mahalanobis distances of the last ``lags`` values to the ``neighbours`` nearest stretches of
    the training set. The set is as long as the probation, and lies as far back; the points between calibrate. The
    matrix is fitted anew twice in that time. All points that are stranger than every one before have the same p-value;
    here they are told apart by the logarithm of how much stranger, in place of the silence behind an alarm with which
    the authors go on. That finds far more.

    Source: Burnaev and Ishimtsev (2016), Conformalized density- and distance-based anomaly detection in time-series
    data, with the parameters that they have on the Numenta Anomaly Benchmark.
    """
    scores = np.zeros(series.values.size)
    kept = max(series.probation - lags + 1, 2 * neighbours)
    if series.values.size > kept + lags:
        strangeness = _strangeness(sliding_window_view(series.values, lags), kept, neighbours)
        before = sliding_window_view(strangeness, kept)[:-1]
        new, most = strangeness[kept:], before.max(axis=1)
        beyond = np.log(np.maximum(new, 1e-9) / np.maximum(most, 1e-9))
        scores[kept + lags - 1 :] = np.mean(before < new[:, None], axis=1) + np.clip(beyond, 0, 1e6)
    return scores


def _strangeness(rows: Floats, kept: int, neighbours: int) -> Floats:
    """float64[n]: of each row; the first ``kept`` are measured among each other."""
    strangeness, whitening = np.zeros(rows.shape[0]), np.eye(rows.shape[1])
    for at in range(kept, rows.shape[0], kept // 2):
        first, end = max(at - 2 * kept, 0), at + kept // 2
        whitening = _whitening(rows[first : first + kept], whitening)
        white = (rows[first:end] - rows[first]) @ whitening
        if at == kept:
            strangeness[:kept] = _of_training(white[:kept], neighbours)
        strangeness[at:end] = _of_new(white, at - first, kept, neighbours)
    return strangeness


def _whitening(rows: Floats, before: Floats) -> Floats:
    """float64[k, k]: rows times it have Euclidean for Mahalanobis distances; as ``before`` where that is singular."""
    moments = rows.T @ rows
    if np.linalg.cond(moments) > 1e14:
        return before
    return np.asarray(np.linalg.inv(np.linalg.cholesky(moments)).T)


@compiled
def _of_training(white: Floats, neighbours: int) -> Floats:
    """Of each row among all others."""
    strangeness = np.empty(white.shape[0])
    for i in range(white.shape[0]):
        strangeness[i] = _sum_of_nearest(white, 0, white.shape[0], white[i], neighbours + 1)
    return strangeness


@compiled
def _of_new(white: Floats, at: int, kept: int, neighbours: int) -> Floats:
    """Of each row from ``at``, among the ``kept`` that lie ``kept`` before it, or the first ones."""
    strangeness = np.empty(white.shape[0] - at)
    for i in range(at, white.shape[0]):
        first = max(i - 2 * kept, 0)
        strangeness[i - at] = _sum_of_nearest(white, first, first + kept, white[i], neighbours)
    return strangeness


@compiled
def _sum_of_nearest(white: Floats, first: int, end: int, row: Floats, neighbours: int) -> float:
    squares = np.empty(end - first)
    for i in range(first, end):
        square = 0.0
        for lag in range(row.size):
            off = white[i, lag] - row[lag]
            square += off * off
        squares[i - first] = square
    return float(np.sqrt(np.partition(squares, neighbours)[:neighbours]).sum())
