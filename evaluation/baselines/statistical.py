"""Statistical baselines: robust z-score, EWMA, seasonal naive, spectral residual."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from common.units import NS_PER_S
from evaluation.series.labelled import Series
from evaluation.series.signals import DAY_S, WEEK_S, Floats

_MAD_TO_SIGMA = 1.4826


def robust_z(series: Series, window: int = 288) -> Floats:
    """Distance from the median of the last ``window`` points, in their median absolute deviations (as sigmas)."""
    return _robust(series.values, window)


def ewma(series: Series, alpha: float = 0.03) -> Floats:
    """Distance from an exponentially weighted mean, in weighted standard deviations. Source: Finch (2009)."""
    mean, variance = float(series.values[0]), 0.0
    scores = np.zeros(series.values.size)
    for i, value in enumerate(series.values.tolist()):
        off = value - mean
        scores[i] = abs(off) / np.sqrt(variance) if variance > 0 and i >= 30 else 0.0
        mean += alpha * off
        variance = (1 - alpha) * (variance + alpha * off * off)
    return scores


def ewma_of_steps(series: Series) -> Floats:
    """EWMA of the differences between neighbours: jumps at any level."""
    steps = np.diff(series.values, prepend=series.values[0])
    return ewma(Series(series.kind, series.seed, series.times_ns, steps, series.windows, series.probation))


def naive_day(series: Series) -> Floats:
    """Distance from the value a day ago, in robust sigmas of the last two days' distances."""
    return _naive(series, DAY_S)


def naive_week(series: Series) -> Floats:
    """Distance from the value a week ago, and from that a day ago while there is no week."""
    return _naive(series, WEEK_S)


def _naive(series: Series, season_s: int) -> Floats:
    times_ns, values = series.times_ns, series.values
    ago = np.searchsorted(times_ns, times_ns - season_s * NS_PER_S, side="right") - 1
    if season_s > DAY_S:
        day_ago = np.searchsorted(times_ns, times_ns - DAY_S * NS_PER_S, side="right") - 1
        ago = np.where(ago >= 0, ago, day_ago)
    first = int(np.argmax(ago >= 0))
    step_s = float(np.median(np.diff(times_ns))) / NS_PER_S
    scores = np.zeros(values.size)
    if ago[-1] >= 0:
        scores[first:] = _robust(values[first:] - values[ago[first:]], int(np.clip(2 * DAY_S / step_s, 48, 576)))
    return scores


def _robust(values: Floats, window: int) -> Floats:
    """float64[n]: |value - median| / sigma over the window before; 0 for the first 30 points.

    Sigma is at least a tenth of the standard deviation; else a series of mostly one value would alert at every other.
    """
    scores = np.zeros(values.size)
    for i in range(30, min(window, values.size)):
        scores[i] = distances(values[None, :i], values[i : i + 1])[0]
    if values.size > window:
        before = sliding_window_view(values, window)[:-1]
        for at in range(0, before.shape[0], 2000):
            part = before[at : at + 2000]
            scores[window + at : window + at + part.shape[0]] = distances(part, values[window + at :][: part.shape[0]])
    return scores


def distances(before: Floats, values: Floats) -> Floats:
    """float64[n]: robust z-scores of ``values``, float64[n], against ``before``, float64[n, window]."""
    median = np.median(before, axis=1)
    sigma = _MAD_TO_SIGMA * np.median(np.abs(before - median[:, None]), axis=1)
    sigma = np.maximum(sigma, 0.1 * before.std(axis=1)) + 1e-9 * (1 + np.abs(median))
    return np.asarray(np.minimum(np.abs(values - median) / sigma, 1e6))


def spectral_residual(series: Series, window: int = 128) -> Floats:
    """Saliency of the newest point among the last ``window``. Source: Ren et al. (2019), Time-Series Anomaly Detection
    Service at Microsoft; five extrapolated points are appended to the window, as there."""
    values, ahead, smooth = series.values, 5, 21
    scores = np.zeros(values.size)
    if values.size <= window:
        return scores
    kept = sliding_window_view(values, window)
    slope = np.mean((kept[:, -1:] - kept[:, -6:-1]) / np.arange(5, 0, -1), axis=1)
    extrapolated = kept[:, -5] + slope * 5
    extended = np.concatenate([kept, np.repeat(extrapolated[:, None], ahead, axis=1)], axis=1)
    spectrum = np.fft.rfft(extended, axis=1)
    size = np.maximum(np.abs(spectrum), 1e-12)
    logs = np.log(size)
    padded = np.pad(logs, ((0, 0), (3, 0)), mode="edge")
    residual = np.exp(logs - sliding_window_view(padded, 4, axis=1).mean(axis=2))
    saliency = np.abs(np.fft.irfft(spectrum * residual / size, extended.shape[1], axis=1))
    usual = saliency[:, window - smooth - 1 : window - 1].mean(axis=1)
    scores[window - 1 :] = (saliency[:, window - 1] - usual) / np.maximum(usual, 1e-12)
    return np.clip(scores, 0, 1e6)
