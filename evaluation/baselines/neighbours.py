"""Methods that compare the newest points with windows of the past."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from common.jit import compiled
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats


def knn_cad(series: Series, lags: int = 19, neighbours: int = 27) -> Floats:
    """1 - conformal p-value: share of calibration points with less nonconformity (lazy drifting conformal detector).

    Nonconformity is the sum of Mahalanobis distances of the last ``lags`` values to the ``neighbours`` nearest windows
    of the training set. The set is as long as the probation, and as far back; the points in between calibrate. The
    matrix is fitted again twice in that time. All points beyond every calibration point have the same p-value; the
    logarithm of the ratio to the largest is added to order them. The authors suppress alarms after an alarm instead,
    which finds far less.

    Source: Burnaev and Ishimtsev (2016), Conformalized density- and distance-based anomaly detection in time-series
    data, with the parameters that they have on the Numenta Anomaly Benchmark.
    """
    scores = np.zeros(series.values.size)
    kept = max(series.probation - lags + 1, 2 * neighbours)
    if series.values.size > kept + lags:
        nonconformity = _nonconformity(sliding_window_view(series.values, lags), kept, neighbours)
        before = sliding_window_view(nonconformity, kept)[:-1]
        new, largest = nonconformity[kept:], before.max(axis=1)
        beyond = np.log(np.maximum(new, 1e-9) / np.maximum(largest, 1e-9))
        scores[kept + lags - 1 :] = np.mean(before < new[:, None], axis=1) + np.clip(beyond, 0, 1e6)
    return scores


def _nonconformity(rows: Floats, kept: int, neighbours: int) -> Floats:
    """float64[n]: of each row; the first ``kept`` against each other."""
    nonconformity, whitening = np.zeros(rows.shape[0]), np.eye(rows.shape[1])
    for at in range(kept, rows.shape[0], kept // 2):
        first, end = max(at - 2 * kept, 0), at + kept // 2
        whitening = _whitening(rows[first : first + kept], whitening)
        white = (rows[first:end] - rows[first]) @ whitening
        if at == kept:
            nonconformity[:kept] = _among_training(white[:kept], neighbours)
        nonconformity[at:end] = _to_training(white, at - first, kept, neighbours)
    return nonconformity


def _whitening(rows: Floats, before: Floats) -> Floats:
    """float64[k, k]: makes Mahalanobis distances of rows Euclidean; ``before`` where the moments are singular."""
    moments = rows.T @ rows
    if np.linalg.cond(moments) > 1e14:
        return before
    return np.asarray(np.linalg.inv(np.linalg.cholesky(moments)).T)


@compiled
def _among_training(white: Floats, neighbours: int) -> Floats:
    """Of each row against all others."""
    nonconformity = np.empty(white.shape[0])
    for i in range(white.shape[0]):
        nonconformity[i] = _sum_of_nearest(white, 0, white.shape[0], white[i], neighbours + 1)
    return nonconformity


@compiled
def _to_training(white: Floats, at: int, kept: int, neighbours: int) -> Floats:
    """Of each row from ``at`` against the ``kept`` rows that end ``kept`` before it, or the first ones."""
    nonconformity = np.empty(white.shape[0] - at)
    for i in range(at, white.shape[0]):
        first = max(i - 2 * kept, 0)
        nonconformity[i - at] = _sum_of_nearest(white, first, first + kept, white[i], neighbours)
    return nonconformity


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
