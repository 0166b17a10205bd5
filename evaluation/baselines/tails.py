"""Methods that estimate how rare an error is from the tail of earlier errors."""

import numpy as np

from common.jit import compiled
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats


def dspot(series: Series, depth: int = 20, level: float = 0.98, risk: float = 1e-4) -> Floats:
    """-ln of the probability of such a distance from the mean of the last ``depth`` points: peaks over threshold.

    The threshold is the ``level`` quantile of the first part; the generalised Pareto tail beyond it is fitted by
    moments to all peaks so far. Points rarer than ``risk`` are not learned.

    Source: Siffer et al. (2017), SPOT with drift.
    """
    return np.asarray(_dspot(series.values, depth, level, risk, max(series.probation, 60)))


@compiled
def _dspot(values: Floats, depth: int, level: float, risk: float, first: int) -> Floats:
    scores, window = np.zeros(values.size), values[:depth].copy()
    errors = np.zeros(min(first, values.size))
    threshold, peaks, mean, square = 0.0, 0.0, 0.0, 0.0
    seen = 0.0
    for i in range(depth, values.size):
        error = abs(values[i] - window.mean())
        if i < first:
            errors[i] = error
        elif i == first:
            threshold = np.quantile(errors[depth:first], level)
            for past in errors[depth:first]:
                seen += 1.0
                if past > threshold:
                    peaks, mean, square = with_peak(peaks, mean, square, past - threshold)
        if i >= first:
            if error > threshold and peaks > 0.0:
                scores[i] = surprise(error - threshold, peaks / seen, mean, square)
            if scores[i] > -np.log(risk):
                continue
            seen += 1.0
            if error > threshold:
                peaks, mean, square = with_peak(peaks, mean, square, error - threshold)
        window[i % depth] = values[i]
    return scores


@compiled
def with_peak(peaks: float, mean: float, square: float, excess: float) -> tuple[float, float, float]:
    """Number, mean and mean square of the excesses over a threshold after one more."""
    peaks += 1.0
    return peaks, mean + (excess - mean) / peaks, square + (excess * excess - square) / peaks


@compiled
def surprise(excess: float, share: float, mean: float, square: float) -> float:
    """-ln of the probability of such an excess, of a generalised Pareto tail by moments (Hosking and Wallis 1987).

    Exponential rather than bounded: beyond the end of a bounded tail all values would score the same.
    """
    ratio = mean * mean / max(square - mean * mean, 1e-12 * square + 1e-300)
    shape = max(0.5 * (1.0 - ratio), 0.0)
    scale = max(mean * (1.0 - shape), 1e-300)
    if shape < 1e-3:
        return float(min(excess / scale - np.log(share), 1e6))
    return float(min(np.log1p(shape * excess / scale) / shape - np.log(share), 1e6))


def level_and_jump(series: Series, alpha: float = 0.01, level: float = 0.97) -> Floats:
    """Mean of two surprises, -ln of a probability each: about the distance from a slow mean, and about the last step.

    Both distances are in their mean absolute deviations so far; the tail of each is that of ``dspot``, and learns all
    values. No source: the plainest calibrated score with more than one expert.
    """
    return np.asarray(_level_and_jump(series.values, alpha, level, max(series.probation, 60)))


@compiled
def _level_and_jump(values: Floats, alpha: float, level: float, first: int) -> Floats:
    n = values.size
    distances, scores = np.zeros((2, n)), np.zeros(n)
    mean, scales = values[0], np.full(2, 1e-12)
    for i in range(1, n):
        errors = np.array([abs(values[i] - mean), abs(values[i] - values[i - 1])])
        rate = max(alpha, 1.0 / (i + 1.0))
        for of in range(2):
            distances[of, i] = errors[of] / scales[of]
            scales[of] += rate * (min(errors[of], 10.0 * scales[of] if i > 30 else errors[of]) - scales[of])
            scales[of] = max(scales[of], 1e-12)
        mean += rate * (values[i] - mean)
    for of in range(2):
        threshold = np.quantile(distances[of, : min(first, n)], level)
        seen, peaks, peak_mean, square = 1.0, 0.0, 0.0, 0.0
        for i in range(n):
            excess = distances[of, i] - threshold
            if i >= first and excess > 0.0 and peaks > 0.0:
                scores[i] += 0.5 * surprise(excess, peaks / seen, peak_mean, square)
            seen += 1.0
            if excess > 0.0:
                peaks, peak_mean, square = with_peak(peaks, peak_mean, square, excess)
    return scores


def anomaly_likelihood(series: Series, alpha: float = 0.2, long: int = 2000, short: int = 10) -> Floats:
    """How far the mean of the last ``short`` errors is above that of ``long`` before, in standard deviations of those.

    The likelihood is a monotonic function of it. The error is that of an exponentially weighted forecast instead of a
    neural network's.

    Source: Ahmad et al. (2017), Unsupervised real-time anomaly detection for streaming data.
    """
    forecast, errors = float(series.values[0]), np.zeros(series.values.size)
    for i, value in enumerate(series.values.tolist()):
        errors[i] = abs(value - forecast)
        forecast += alpha * (value - forecast)
    sums, squares = np.concatenate([[0.0], np.cumsum(errors)]), np.concatenate([[0.0], np.cumsum(errors**2)])
    at = np.arange(100, errors.size)
    recent, past = at + 1 - short, np.maximum(at + 1 - short - long, 0)
    mean = (sums[recent] - sums[past]) / (recent - past)
    variance = np.maximum((squares[recent] - squares[past]) / (recent - past) - mean**2, 0.0)
    z = ((sums[at + 1] - sums[recent]) / short - mean) / (np.sqrt(variance) + 1e-9 * (1 + mean))
    scores = np.zeros(errors.size)
    scores[100:] = np.clip(z, 0, 1e6)
    return scores
