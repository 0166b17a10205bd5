"""Exact bounds, against published values and against the definition."""

import math

import numpy as np
import pytest

from evaluation.families.bounds import (
    clustered_rate_bounds,
    clustered_share_bounds,
    f1_of_share,
    quantile_bounds,
    rate_bounds,
    share_bounds,
)


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


def test_f1_grows_with_its_share() -> None:
    assert f1_of_share(8 / 10) == pytest.approx(2 * 8 / (2 * 8 + 2))
    assert [f1_of_share(share) for share in (0.0, 1.0)] == [0.0, 1.0]


def test_campaigns_that_do_not_differ_have_the_bounds_of_independent_faults() -> None:
    assert clustered_share_bounds([(4, 4)] * 5) == share_bounds(20, 20)
    assert clustered_share_bounds([(0, 0), (4, 4)]) == (0.0, 1.0)  # only one has faults


def test_bounds_by_campaign_hold_where_faults_of_one_campaign_share_their_fate() -> None:
    """Ten campaigns of four faults that all hit, or none of which does: bounds of forty faults hold too seldom."""
    rng = np.random.default_rng(2)
    drawn = [[(4 * int(hit), 4) for hit in rng.random(10) < 0.7] for _ in range(1000)]
    alone = [share_bounds(sum(hits for hits, _ in counts), 40) for counts in drawn]
    together = [clustered_share_bounds(counts) for counts in drawn]
    assert np.mean([low <= 0.7 <= high for low, high in alone]) < 0.9
    assert np.mean([low <= 0.7 <= high for low, high in together]) >= 0.95


def test_rates_by_campaign_are_never_narrower_and_wider_where_one_campaign_has_all_events() -> None:
    even, uneven = [(5, 1.0)] * 4, [(20, 1.0), (0, 1.0), (0, 1.0), (0, 1.0)]
    assert clustered_rate_bounds(even)[1] >= rate_bounds(20, 4.0)[1]
    assert clustered_rate_bounds(uneven)[1] > 1.5 * rate_bounds(20, 4.0)[1]
    assert clustered_rate_bounds([(0, 1.0)] * 4) == rate_bounds(0, 4.0)
    assert clustered_rate_bounds([(3, 1.0)]) == (0.0, math.inf)


def test_quantiles_hold_at_least_as_often_as_they_say_and_a_small_sample_has_no_upper_bound() -> None:
    rng = np.random.default_rng(3)
    drawn = [quantile_bounds(rng.random(60).tolist(), 0.5) for _ in range(1000)]
    assert np.mean([low <= 0.5 <= high for low, high in drawn]) >= 0.95
    assert quantile_bounds([1.0, 2.0, 3.0], 0.95)[1] == math.inf


@pytest.mark.parametrize(("hits", "of"), [(-1, 5), (6, 5)])
def test_more_hits_than_trials_are_refused(hits: int, of: int) -> None:
    with pytest.raises(ValueError, match="expected 0 <= hits <= of"):
        share_bounds(hits, of)
