"""Machine learning methods over sliding windows: isolation forest, half-space trees, matrix profile."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from river import anomaly, preprocessing
from sklearn.ensemble import IsolationForest

from common.jit import compiled
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats

_LAGS = 10


def features(series: Series) -> Floats:
    """float64[n, 8]: the last five values, distance from the mean of ten, the last difference, deviation of ten."""
    values = np.concatenate([np.full(_LAGS - 1, series.values[0]), series.values])
    lags = sliding_window_view(values, _LAGS)
    means = lags.mean(axis=1)
    return np.column_stack([lags[:, -5:], lags[:, -1] - means, lags[:, -1] - lags[:, -2], lags.std(axis=1)])


def isolation_forest(series: Series) -> Floats:
    """Score of windows by a forest; source: Liu, Ting and Zhou (2008), Isolation Forest."""
    return isolation_forest_of_rows([series])


def isolation_forest_of_rows(columns: Sequence[Series], every: int = 1000, memory: int = 3000) -> Floats:
    """The same for series with common times: one forest over the windows of all of them.

    60 trees, fitted to the first part and after ``every`` points to the last ``memory``.
    """
    rows = np.hstack([features(each) for each in columns])
    scores = np.zeros(rows.shape[0])
    first = max(columns[0].probation, 50)
    for at in range(first, rows.shape[0], every):
        forest = IsolationForest(n_estimators=60, random_state=0).fit(rows[max(0, at - memory) : at])
        scores[at : at + every] = -forest.score_samples(rows[at : at + every])
    return scores


def half_space_trees(series: Series) -> Floats:
    """River's HalfSpaceTrees with its defaults over the last three values and the mean and deviation of ten, scaled.

    Source: Tan, Ting and Liu (2011), Fast Anomaly Detection for Streaming Data.
    """
    of = features(series)
    rows = np.column_stack([of[:, 2:5], of[:, 4] - of[:, 5], of[:, 7]])
    model = preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=42)
    scores = np.zeros(rows.shape[0])
    for i, row in enumerate(rows.tolist()):
        point = dict(enumerate(row))
        scores[i] = model.score_one(point)
        model.learn_one(point)
    return scores


def left_discord(series: Series, length: int = 24, memory: int = 3000) -> Floats:
    """Distance of the last ``length`` points, z-normalised, to the nearest earlier window (left matrix profile).

    Source: Yeh et al. (2016), Matrix Profile I.
    """
    values = series.values - np.median(
        series.values[: series.probation]
    )  # large offsets would cost precision in the products
    return np.asarray(_nearest_before(values, length, memory))


@compiled
def _nearest_before(values: Floats, length: int, memory: int) -> Floats:
    count = values.size - length + 1
    scores = np.zeros(values.size)
    if count < 2:
        return scores
    means, sigmas = np.empty(count), np.empty(count)
    for i in range(count):
        means[i], sigmas[i] = values[i : i + length].mean(), values[i : i + length].std()
    floor = 0.05 * values[: max(length, count // 7)].std() + 1e-12
    best = np.full(count, -2.0)
    for lag in range(length, min(count, memory)):
        product = (values[lag : lag + length] * values[:length]).sum()
        for i in range(lag, count):
            if i > lag:
                gone, new = i - 1, i + length - 1
                product += values[new] * values[new - lag] - values[gone] * values[gone - lag]
            covariance = product / length - means[i] * means[i - lag]
            correlation = covariance / (max(sigmas[i], floor) * max(sigmas[i - lag], floor))
            best[i] = max(best[i], correlation)
    for i in range(length, count):
        if best[i] > -2.0:
            scores[i + length - 1] = np.sqrt(2 * length * max(0.0, 1 - best[i]))
    return scores
