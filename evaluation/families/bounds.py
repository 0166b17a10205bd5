"""Exact 95 % bounds of shares and of rates.

Shares: Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial.
Rates: Garwood (1936), Fiducial limits for the Poisson distribution. Both take events as independent; faults of one
cluster share its jobs and wiring, so the true bounds are somewhat wider.
"""

import math

from scipy.stats import beta, chi2

LEVEL = 0.95


def share_bounds(hits: int, of: int) -> tuple[float, float]:
    """Bounds of a share; (0, 1) of nothing. ValueError unless 0 <= hits <= of.

    >>> [round(bound, 4) for bound in share_bounds(0, 10)]
    [0.0, 0.3085]
    """
    if not 0 <= hits <= of:
        raise ValueError(f"{hits} of {of}: expected 0 <= hits <= of")
    tail = (1.0 - LEVEL) / 2
    low = float(beta.ppf(tail, hits, of - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, of - hits)) if hits < of else 1.0
    return low, high


def rate_bounds(events: int, exposure: float) -> tuple[float, float]:
    """Bounds of events per unit of exposure; (0, inf) where nothing was observed.

    Without an event the upper bound is the two-sided one, 3.69 events: a little stricter than the rule of three.

    >>> [round(bound, 2) for bound in rate_bounds(0, 1.0)]
    [0.0, 3.69]
    """
    if events < 0 or exposure < 0.0:
        raise ValueError(f"{events} events in {exposure}: expected neither below 0")
    if exposure == 0.0:
        return 0.0, math.inf
    tail = (1.0 - LEVEL) / 2
    low = float(chi2.ppf(tail, 2 * events)) / 2 if events else 0.0
    return low / exposure, float(chi2.ppf(1.0 - tail, 2 * (events + 1))) / 2 / exposure


def f1_bounds(true: int, wrong: int) -> tuple[float, float]:
    """Bounds of F1 with ``true`` hits and ``wrong`` misses and false ones together.

    F1 = 2 J / (1 + J) grows with the share J = true / (true + wrong), so the bounds of J give its bounds.
    """
    low, high = share_bounds(true, true + wrong)
    return 2 * low / (1 + low), 2 * high / (1 + high)
