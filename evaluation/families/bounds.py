"""95 % bounds of shares, of rates and of quantiles.

Events as independent: Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case of
the binomial; Garwood (1936), Fiducial limits for the Poisson distribution; quantiles by order statistics (Conover,
Practical Nonparametric Statistics, section 3.2).

Campaigns as independent, and what happens in one of them not: the same with the variance between campaigns. Shares:
Korn and Graubard (1998), Confidence intervals for proportions with small expected number of positive counts estimated
from survey data, Survey Methodology 24. Rates: Fay and Feuer (1997), Confidence intervals for directly standardized
rates, Statistics in Medicine 16. The variance is that of a ratio of sums over the campaigns.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import beta, binom, chi2, t

LEVEL = 0.95
TAIL = (1.0 - LEVEL) / 2


def share_bounds(hits: int, of: int) -> tuple[float, float]:
    """Bounds of a share; (0, 1) of nothing. ValueError unless 0 <= hits <= of.

    >>> [round(bound, 4) for bound in share_bounds(0, 10)]
    [0.0, 0.3085]
    """
    if not 0 <= hits <= of:
        raise ValueError(f"{hits} of {of}: expected 0 <= hits <= of")
    return _clopper_pearson(hits, of)


def _clopper_pearson(hits: float, of: float) -> tuple[float, float]:
    """hits, of: whole numbers, or effective ones."""
    low = float(beta.ppf(TAIL, hits, of - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - TAIL, hits + 1, of - hits)) if hits < of else 1.0
    return low, high


def clustered_share_bounds(counts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Bounds of a share from (hits, of) by campaign; (0, 1) of fewer than two campaigns, which show no variance.

    Nothing differs between campaigns where all hit, or none: then the events are as good as independent.

    >>> [round(bound, 2) for bound in clustered_share_bounds([(5, 5), (0, 5)])], share_bounds(5, 10)[0] > 0.18
    ([0.0, 1.0], True)
    """
    known = [(hits, of) for hits, of in counts if of]
    hits, of = sum(hit for hit, _ in known), sum(each for _, each in known)
    if len(known) < 2:
        return 0.0, 1.0
    share = hits / of
    variance = _ratio_variance(known, share)
    effective = float(of)
    if variance > 0.0:
        degrees = (t.ppf(1.0 - TAIL, of - 1) / t.ppf(1.0 - TAIL, len(known) - 1)) ** 2
        effective = min(effective, share * (1.0 - share) / variance * float(degrees))
    return _clopper_pearson(share * effective, effective)


def _ratio_variance(counts: Sequence[tuple[float, float]], ratio: float) -> float:
    """Variance of the sum of the first ones over the sum of the second ones, by linearisation."""
    apart = np.array([first - ratio * second for first, second in counts])
    total = sum(second for _, second in counts)
    return float(np.square(apart).sum()) * len(counts) / (len(counts) - 1) / total**2


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
    low = float(chi2.ppf(TAIL, 2 * events)) / 2 if events else 0.0
    return low / exposure, float(chi2.ppf(1.0 - TAIL, 2 * (events + 1))) / 2 / exposure


def clustered_rate_bounds(counts: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Bounds of a rate from (events, exposure) by campaign; (0, inf) of fewer than two. Never inside ``rate_bounds``.

    >>> [round(bound, 2) for bound in clustered_rate_bounds([(0, 1.0), (0, 1.0)])]
    [0.0, 1.84]
    """
    events, exposure = sum(each for each, _ in counts), sum(each for _, each in counts)
    if len(counts) < 2:
        return 0.0, math.inf
    rate, weight = events / exposure, 1.0 / exposure
    low, high = rate_bounds(events, exposure)
    variance = max(_ratio_variance(counts, rate), events * weight**2)
    if not events:
        return low, high
    fay_low = variance / (2 * rate) * float(chi2.ppf(TAIL, 2 * rate**2 / variance))
    more_rate, more = rate + weight, variance + weight**2
    fay_high = more / (2 * more_rate) * float(chi2.ppf(1.0 - TAIL, 2 * more_rate**2 / more))
    return min(low, fay_low), max(high, fay_high)


def quantile_bounds(values: Sequence[float], quantile: float) -> tuple[float, float]:
    """Bounds of a quantile by order statistics; -inf and inf where the sample is too small for one.

    >>> quantile_bounds(range(1, 101), 0.5)
    (40.0, 61.0)
    """
    ordered = [-math.inf, *sorted(values), math.inf]
    low, high = binom.ppf((TAIL, 1.0 - TAIL), len(values), quantile)
    return float(ordered[int(low)]), float(ordered[int(high) + 1])


def f1_of_share(share: float) -> float:
    """F1 = 2 J / (1 + J) grows with the share J of the true ones among true, missed and false ones."""
    return 2 * share / (1 + share)
