"""Exact bounds, against published values and against the definition."""

import math

import numpy as np
import pytest

from evaluation.families.bounds import f1_bounds, rate_bounds, share_bounds


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.3085), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1.0), (81, 263, 0.2527, 0.3676), (0, 0, 0.0, 1.0)],
)
def test_shares_have_the_bounds_of_clopper_and_pearson(hits: int, of: int, low: float, high: float) -> None:
    assert share_bounds(hits, of) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("events", "low", "high"), [(0, 0.0, 3.6889), (1, 0.0253, 5.5716), (5, 1.6235, 11.6683), (10, 4.7954, 18.3904)]
)
def test_rates_have_the_bounds_of_garwood(events: int, low: float, high: float) -> None:
    assert rate_bounds(events, 1.0) == pytest.approx((low, high), abs=1e-4)
    assert rate_bounds(events, 0.5) == pytest.approx((2 * low, 2 * high), abs=2e-4)


def test_nothing_observed_proves_nothing() -> None:
    assert rate_bounds(0, 0.0) == (0.0, math.inf)


def test_the_bounds_hold_the_true_share_at_least_as_often_as_they_say() -> None:
    drawn = np.random.default_rng(1).binomial(40, 0.9, 2000)
    held = [low <= 0.9 <= high for low, high in (share_bounds(int(hits), 40) for hits in drawn)]
    assert np.mean(held) >= 0.95


def test_f1_has_the_bounds_of_its_share() -> None:
    low, high = f1_bounds(8, 2)
    jaccard_low, jaccard_high = share_bounds(8, 10)
    assert (low, high) == pytest.approx((2 * jaccard_low / (1 + jaccard_low), 2 * jaccard_high / (1 + jaccard_high)))
    assert low < 2 * 8 / (2 * 8 + 2) < high


@pytest.mark.parametrize(("hits", "of"), [(-1, 5), (6, 5)])
def test_more_hits_than_trials_are_refused(hits: int, of: int) -> None:
    with pytest.raises(ValueError, match="expected 0 <= hits <= of"):
        share_bounds(hits, of)
