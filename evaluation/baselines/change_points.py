"""Methods that detect a change of level or scale."""

import math

import numpy as np

from common.jit import compiled
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats


def cusum(series: Series, allowance: float = 0.5, limit: float = 5.0) -> Floats:
    """The larger of the sums of standardised residuals up and down, each less ``allowance`` and never below zero.

    Both restart at zero after a sum above ``limit`` (Page). Residuals are those of an exponentially weighted forecast,
    since the values are correlated; sigma is that of some hundred residuals.

    Source: Page (1954), Continuous inspection schemes; usual allowance and limit, Montgomery (2009).
    """
    return np.asarray(_cusum(forecast_errors(series.values, 0.2), allowance, limit, 0.003))


@compiled
def forecast_errors(values: Floats, alpha: float) -> Floats:
    """float64[n]: distance of each value from the exponentially weighted mean of those before."""
    errors, mean = np.zeros(values.size), values[0]
    for i in range(values.size):
        errors[i] = values[i] - mean
        mean += alpha * errors[i]
    return errors


@compiled
def _cusum(errors: Floats, allowance: float, limit: float, alpha: float) -> Floats:
    scores = np.zeros(errors.size)
    mean, variance, up, down = 0.0, 0.0, 0.0, 0.0
    for i in range(errors.size):
        off = errors[i] - mean
        if i >= 30 and variance > 0.0:
            z = off / math.sqrt(variance)
            up, down = max(0.0, up + z - allowance), max(0.0, down - z - allowance)
            scores[i] = min(max(up, down), 1e6)
            if scores[i] > limit:
                up, down = 0.0, 0.0
        mean += alpha * off
        variance = (1.0 - alpha) * (variance + alpha * off * off)
    return scores


def bayesian_change(series: Series, run: float = 250.0, longest: int = 2000) -> Floats:
    """Logarithm of the factor by which the newest point shortens the expected run length (time since the last change).

    Differences of neighbours are normal with unknown mean and variance, which change once in ``run`` points. The prior
    has the weight of one point with the mean and variance of the first part. Run lengths are capped at ``longest``.

    Source: Adams and MacKay (2007), Bayesian online changepoint detection. Like them for prices, it uses differences;
    of the values themselves, which are correlated, it does worse.
    """
    steps = np.diff(series.values, prepend=series.values[0])
    first = steps[: max(series.probation, 30)]
    scaled = (steps - first.mean()) / (first.std() + 1e-9 * (1 + np.abs(series.values[: first.size]).mean()))
    runs = _expected_runs(np.clip(scaled, -1e6, 1e6), 1.0 / run, longest)
    return np.maximum(-np.diff(np.log1p(runs), prepend=0.0), 0.0)


@compiled
def _expected_runs(values: Floats, hazard: float, longest: int) -> Floats:
    """float64[n]: expected run length after each point."""
    expected, lengths, constants = np.zeros(values.size), np.arange(longest + 1.0), _constants(longest + 1)
    chances, means, betas = np.zeros(longest + 1), np.zeros(longest + 1), np.ones(longest + 1)
    chances[0], runs = 1.0, 1
    for i in range(values.size):
        _update(values[i], chances[:runs], means, betas, constants)
        _grow(values[i], chances, means, betas, runs, hazard)
        runs = min(runs + 1, longest + 1)
        expected[i] = (lengths[:runs] * chances[:runs]).sum()
    return expected


@compiled
def _constants(runs: int) -> Floats:
    """float64[runs]: log normalisation of Student's t with 2 alpha degrees of freedom, alpha = 1 + r / 2."""
    constants = np.empty(runs)
    for r in range(runs):
        alpha = 1.0 + 0.5 * r
        constants[r] = math.lgamma(alpha + 0.5) - math.lgamma(alpha) - 0.5 * math.log(2.0 * math.pi)
    return constants


@compiled
def _update(value: float, chances: Floats, means: Floats, betas: Floats, constants: Floats) -> None:
    """Posterior of each run length after ``value``: times its predictive density, normalised."""
    logs = np.empty(chances.size)
    for r in range(chances.size):
        alpha, kappa = 1.0 + 0.5 * r, 1.0 + r
        width, off = betas[r] * (kappa + 1.0) / kappa, value - means[r]
        logs[r] = constants[r] - 0.5 * math.log(width) - (alpha + 0.5) * math.log1p(off * off / (2.0 * width))
    top = logs.max()
    for r in range(chances.size):
        chances[r] = max(chances[r], 1e-300) * math.exp(logs[r] - top)
    chances /= chances.sum()


@compiled
def _grow(value: float, chances: Floats, means: Floats, betas: Floats, runs: int, hazard: float) -> None:
    """Every run grows by one point, and a new one begins after ``value``; the last holds all longer ones."""
    last = chances.size - 1
    beyond = chances[last] if runs > last else 0.0
    for r in range(min(runs, last), 0, -1):
        kappa, off = float(r), value - means[r - 1]
        chances[r] = (1.0 - hazard) * chances[r - 1]
        means[r] = means[r - 1] + off / (kappa + 1.0)
        betas[r] = betas[r - 1] + 0.5 * off * off * kappa / (kappa + 1.0)
    chances[last] += (1.0 - hazard) * beyond
    chances[0], means[0], betas[0] = hazard, 0.0, 1.0
