"""Methods that remove a daily season first."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.units import NS_PER_S
from evaluation.baselines.tails import surprise, with_peak
from evaluation.series.labelled import Series
from evaluation.series.signals import DAY_S, WEEK_S, Floats

Ints = NDArray[np.int64]
_ETA = 1e-5  # keeps the weights of absolute deviations finite


class Trend(NamedTuple):
    """Kalman filters of the trend, one an iteration; of trend and slope the mean and the row of the covariance matrix.

    states, after: float64[iterations, 2, 3], before and after the newest value. penalty: of changes of the trend.
    """

    states: Floats
    after: Floats
    penalty: float


def season_of(series: Series) -> tuple[int, int]:
    """Nanoseconds and points of a day; of a week where the points of the first part are a day or more apart."""
    step_ns = float(np.median(np.diff(series.times_ns[: max(series.probation, 2)])))
    season_ns = (DAY_S if step_ns < DAY_S * NS_PER_S else WEEK_S) * NS_PER_S
    return season_ns, max(round(season_ns / step_ns), 1)


def seasons_ago(series: Series, seasons: int) -> Ints:
    """int64[seasons, n]: for each point, the last one that is at least 1, 2, … seasons older; -1 for none."""
    back_ns = np.arange(1, seasons + 1)[:, None] * season_of(series)[0]
    return np.searchsorted(series.times_ns, series.times_ns - back_ns, side="right") - 1


def fluxev(series: Series, window: int = 10, seasons: int = 4, drift: int = 2, risk: float = 1e-3) -> Floats:
    """-ln of the probability of such a fluctuation: peaks over threshold, the tail fitted by moments.

    A fluctuation is what a point adds to the standard deviation of the last ``window`` errors of an exponentially
    weighted forecast, beyond what was added in the last ``seasons`` at most ``drift`` points from the same time.
    Fluctuations rarer than ``risk`` are not learned.

    Source: Li et al. (2021), FluxEV: a fast and effective unsupervised framework for time-series anomaly detection.
    """
    fluctuations = _fluctuations(series.values, window, 0.2)
    return np.asarray(_rarity(fluctuations, seasons_ago(series, seasons), drift, risk, max(series.probation, 60)))


@compiled
def _fluctuations(values: Floats, window: int, alpha: float) -> Floats:
    """float64[n]: by how much each error increases the standard deviation of those before (first smoothing)."""
    errors, added = np.zeros(values.size), np.zeros(values.size)
    for i in range(window, values.size):
        forecast = values[i - window]
        for past in values[i - window + 1 : i]:
            forecast += alpha * (past - forecast)
        errors[i] = values[i] - forecast
        if i >= 2 * window:
            added[i] = max(errors[i - window : i + 1].std() - errors[i - window : i].std(), 0.0)
    return added


@compiled
def _rarity(added: Floats, ago: Ints, drift: int, risk: float, first: int) -> Floats:
    scores, beyond = np.zeros(added.size), np.zeros(added.size)
    threshold, seen, peaks, mean, square = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(added.size):
        beyond[i] = max(added[i] - _expected(added, ago[:, i], drift, i), 0.0)
        if i == first:
            threshold = np.quantile(beyond[:first], 0.98)
            for past in beyond[:first]:
                seen += 1.0
                if past > threshold:
                    peaks, mean, square = with_peak(peaks, mean, square, past - threshold)
        if i >= first:
            if beyond[i] > threshold and peaks > 0.0:
                scores[i] = surprise(beyond[i] - threshold, peaks / seen, mean, square)
            if scores[i] > -math.log(risk):
                added[i] = 0.0
                continue
            seen += 1.0
            if beyond[i] > threshold:
                peaks, mean, square = with_peak(peaks, mean, square, beyond[i] - threshold)
    return scores


@compiled
def _expected(added: Floats, ago: Ints, drift: int, now: int) -> float:
    """The largest within ``drift`` points of these (second smoothing); 0 where there is none."""
    largest = 0.0
    for at in ago:
        if at >= 0:
            largest = max(largest, added[max(at - drift, 0) : min(at + drift + 1, now)].max())
    return largest


def one_shot_stl(series: Series, penalty: float = 100.0, iterations: int = 8, shift: int = 20) -> Floats:
    """Distance of the residual (neither trend nor season) from its mean so far, in standard deviations.

    Trend and season minimise the squared residuals, the squared differences of the season from one and two seasons
    before, and ``penalty`` times the sum of absolute first and second differences of the trend, by ``iterations`` of
    reweighted least squares at the newest point. As all but the trend is quadratic, each is a Kalman filter of the
    trend. Where the residual is beyond 5 sigmas, the season may be up to ``shift`` points early or late. ``penalty`` is
    one of those among which the authors choose on the first part of a series.

    Source: He et al. (2023), OneShotSTL: one-shot seasonal-trend decomposition for online time series anomaly detection
    and forecasting.
    """
    first = series.values[: max(series.probation, 30)]
    values = (series.values - first.mean()) / (first.std() + 1e-9 * (1 + abs(first.mean())))
    begun, shift = _first_season(series, values), min(shift, season_of(series)[1])
    return np.asarray(_one_shot_stl(values, seasons_ago(series, 2), begun, penalty, iterations, shift))


def _first_season(series: Series, values: Floats) -> Floats:
    """float64[]: the season of the first part: means by phase less the moving mean; empty without two seasons."""
    since_ns, (season_ns, period) = series.times_ns[: series.probation] - series.times_ns[0], season_of(series)
    if not since_ns.size or since_ns[-1] < 2 * season_ns:
        return np.empty(0)
    trend = np.convolve(np.pad(values[: since_ns.size], period, mode="edge"), np.full(period, 1 / period), "same")
    detrended = values[: since_ns.size] - trend[period:-period]
    slots = since_ns % season_ns * period // season_ns
    by_phase = np.bincount(slots, detrended, period) / np.maximum(np.bincount(slots, minlength=period), 1)
    return np.asarray((by_phase - by_phase.mean())[slots])


@compiled
def _one_shot_stl(values: Floats, ago: Ints, begun: Floats, penalty: float, iterations: int, shift: int) -> Floats:
    """Scores of the residuals; without ``begun``, the first season is half of what the trend leaves."""
    scores, season = np.zeros(values.size), np.zeros(values.size)
    season[: begun.size] = begun
    states = np.zeros((iterations, 2, 3))
    states[:, 0, 0] = values[0] - season[0]
    states[:, 0, 1] = states[:, 1, 2] = 1e3
    trend = Trend(states, states.copy(), penalty)
    mean, square = 0.0, 0.0
    for i in range(values.size):
        sigma = math.sqrt(max(square - mean * mean, 0.0)) + 1e-6
        seasonal = season[i] if i < begun.size else _season(season, ago[:, i], 0, i)
        residual = _residual(values[i], seasonal, trend)
        if i >= 30 and abs(residual - mean) > 5.0 * sigma and ago[0, i] >= 0:
            seasonal = _best_shifted_season(values[i], season, ago[:, i], i, shift, trend)
            residual = _residual(values[i], seasonal, trend)
        trend.states[:] = trend.after
        season[i] = seasonal + residual
        if i >= 30:
            scores[i] = min(abs(residual - mean) / sigma, 1e6)
        mean += (residual - mean) / (i + 1.0)
        square += (residual * residual - square) / (i + 1.0)
    return scores


@compiled
def _season(season: Floats, ago: Ints, shift: int, now: int) -> float:
    """Mean of the season one and two seasons ago, ``shift`` points later; of one while there is no second, or 0."""
    if ago[0] < 0:
        return 0.0
    first = season[min(max(ago[0] + shift, 0), now - 1)]
    second = season[min(max(ago[1] + shift, 0), now - 1)] if ago[1] >= 0 else first
    return float(0.5 * (first + second))


@compiled
def _best_shifted_season(value: float, season: Floats, ago: Ints, now: int, shift: int, trend: Trend) -> float:
    """The season at the shift with the smallest residual."""
    best, least = 0.0, np.inf
    for late in range(-shift, shift + 1):
        seasonal = _season(season, ago, late, now)
        residual = abs(_residual(value, seasonal, trend))
        if residual < least:
            best, least = seasonal, residual
    return best


@compiled
def _residual(value: float, seasonal: float, trend: Trend) -> float:
    """The residual of ``value``; the same amount goes to the season. Sets ``trend.after``."""
    states, after, penalty = trend.states, trend.after, trend.penalty
    first, second = 1.0, 1.0
    for k in range(states.shape[0]):
        slope, bend = _update(value - seasonal, penalty * first, penalty * second, states[k], after[k])
        first, second = 0.5 / (abs(slope) + _ETA), 0.5 / (abs(bend) + _ETA)
    return float(0.5 * (value - seasonal - after[-1, 0, 0]))


@compiled
def _update(target: float, first: float, second: float, state: Floats, after: Floats) -> tuple[float, float]:
    """First and second difference of the trend at the newest point; ``first``, ``second``: their weights.

    Unknown are the trend and slope before and the second difference; observed are a first difference of zero, and
    the ``target`` with weight 1/2, as the season has the other half.
    """
    mean, covariance = np.zeros(3), np.zeros((3, 3))
    mean[:2] = state[:, 0]
    covariance[:2, :2] = state[:, 1:]
    covariance[2, 2] = 1.0 / second
    _observe(0.0, 1.0 / first, 1, mean, covariance)
    _observe(target, 2.0, 0, mean, covariance)
    slope = mean[1] + mean[2]
    onto = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    after[0, 0], after[1, 0] = mean[0] + slope, slope
    after[:, 1:] = onto @ covariance @ onto.T
    return slope, mean[2]


@compiled
def _observe(value: float, variance: float, start: int, mean: Floats, covariance: Floats) -> None:
    """Kalman update with a measurement of the sum of the elements from ``start``."""
    with_sum = covariance[:, start:].sum(axis=1)
    gain = with_sum / (with_sum[start:].sum() + variance)
    mean += gain * (value - mean[start:].sum())
    covariance -= np.outer(gain, with_sum)
