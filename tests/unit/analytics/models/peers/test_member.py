"""The steps of one member, by hand: its sum, its effect, its usual offset and its noise."""

import math
from typing import Any

import numpy as np
import pytest

from analytics.models.peers.member import MEMBER, Bounds, add_sample, join, learn, own_sigma

BOUNDS = Bounds(limit=9.0, alarm=4.0)


def member(**fields: float) -> Any:
    record = np.zeros(1, MEMBER).view(np.recarray)[0]
    for name, value in fields.items():
        setattr(record, name, value)
    return record


def test_a_member_of_another_group_starts_from_zero() -> None:
    here = member(group=7.0, **dict.fromkeys(("usual", "noise", "count", "cusum", "effect", "run", "ewma"), 30.0))
    join(here, 7)
    assert here.count == 30.0, "it was only away"
    join(here, 8)
    assert here == member(group=8.0)


@pytest.mark.parametrize(
    ("noise", "own", "fourth", "sigma"),
    [
        (1.0, 0.1, 0.0, 1.0),
        (1.0, 2.0, 0.0, 0.75 * 1.2533 * 2.0),  # from a mean absolute deviation
        (1.0, 0.1, 16.0, 0.75 * 2.0),  # from a mean fourth power: autocorrelated noise
    ],
)
def test_the_largest_of_three_standard_deviations_counts(noise: float, own: float, fourth: float, sigma: float) -> None:
    assert own_sigma(member(noise=own, ewma_fourth=fourth), noise) == pytest.approx(sigma)


@pytest.mark.parametrize(
    ("cusum", "residual", "common", "expected"),
    [
        (0.0, 2.0, 0.0, 2.0 / math.sqrt(1.04) - 1.25),  # the error of the usual offset widens the noise: 1 + 4 / 100
        (1.0, 0.5, 0.0, 1.0 + 0.5 / math.sqrt(1.04) - 1.25),
        (0.5, 0.0, 0.0, 0.0),
        (0.0, 50.0, 0.0, 0.55 * 4.0),  # one sample adds half an alarm
        (0.0, 50.0, 24.0, 0.55 * 4.0),
        (0.0, 50.0, 26.0, 0.4 * 4.0),  # … less where at least half of it shows on the whole host
        (7.0, 50.0, 0.0, 8.0),  # two alarms at most
        (7.0, -50.0, 0.0, 0.0),
    ],
)
def test_residuals_beyond_the_slack_add_up(cusum: float, residual: float, common: float, expected: float) -> None:
    one = member(cusum=cusum, count=100.0)
    add_sample(one, residual, 0.0, 1.0, common, True, BOUNDS)
    assert one.cusum == pytest.approx(expected, rel=1e-6)


def test_nothing_adds_up_during_the_warm_up() -> None:
    one = member(count=5.0)
    add_sample(one, 50.0, 0.0, 1.0, 0.0, False, BOUNDS)
    assert one.cusum == 0.0
    assert one.run == 1.0, "it is beyond the limit"


def test_the_effect_is_the_mean_of_a_run_with_a_weight_of_a_half() -> None:
    one = member(count=100.0)
    add_sample(one, 3.0, 0.0, 1.0, 0.0, True, BOUNDS)
    assert (one.effect, one.run) == (3.0, 1.0)
    add_sample(one, 5.0, 0.0, 1.0, 0.0, True, BOUNDS)
    assert (one.effect, one.run) == (4.0, 2.0)


@pytest.mark.parametrize(("offset", "run"), [(8.9, 3.0), (8.7, 0.0)])
def test_a_run_lasts_while_the_member_is_beyond_the_limit(offset: float, run: float) -> None:
    one = member(count=100.0, run=2.0)
    add_sample(one, 0.2, offset, 1.0, 0.0, True, BOUNDS)
    assert one.run == run


@pytest.mark.parametrize(
    ("count", "at", "usual"),
    [
        (0.0, 3.0, 3.0),  # the first sample
        (3.0, 3.0, 1.0 + (3.0 - 1.0) / 4.0),  # the mean of four
        (3.0, 99.0, 1.0 + (2.0 + 9.0 - 1.0) / 4.0),  # no further from the kind than the limit
        (3.0, -99.0, 1.0 + (2.0 - 9.0 - 1.0) / 4.0),
    ],
)
def test_the_warm_up_learns_the_mean_offset(count: float, at: float, usual: float) -> None:
    one = member(count=count, usual=1.0)
    learn(one, at, 2.0, 0.0, 1.0, 0.01, BOUNDS)
    assert one.usual == pytest.approx(usual)
    assert one.count == count + 1.0


@pytest.mark.parametrize(
    ("cusum", "residual", "usual"),
    [
        (0.9, 2.0, 1.0 + 0.01 * 2.0),
        (0.9, 50.0, 1.0 + 0.01 * 3.0),  # clipped at three standard deviations
        (0.9, -50.0, 1.0 - 0.01 * 3.0),
        (1.1, 2.0, 1.0),  # above a quarter of the alarm it may be a fault
    ],
)
def test_the_usual_offset_follows_residuals_that_are_no_fault(cusum: float, residual: float, usual: float) -> None:
    one = member(count=500.0, usual=1.0, cusum=cusum)
    learn(one, 77.0, 2.0, residual, 1.0, 0.01, BOUNDS)
    assert one.usual == pytest.approx(usual)


def test_the_usual_offset_stays_within_the_limit_of_its_kind() -> None:
    one = member(count=500.0, usual=30.0)
    learn(one, 30.0, 2.0, 0.0, 1.0, 0.01, BOUNDS)
    assert one.usual == 11.0


@pytest.mark.parametrize(("cusum", "learns"), [(1.9, True), (2.1, False)])
def test_noise_is_learned_below_half_of_the_alarm(cusum: float, learns: bool) -> None:
    one = member(count=500.0, noise=1.0, ewma=0.5, ewma_fourth=1.0, cusum=cusum)
    learn(one, 0.0, 0.0, 2.0, 1.0, 0.01, BOUNDS)
    ewma = 0.5 + 0.2 * (2.0 - 0.5)
    assert one.ewma == pytest.approx(ewma)
    fourth = (3.0 * ewma) ** 4 / 3.0
    assert one.noise == pytest.approx(1.0 + 0.01 * (2.0 - 1.0) if learns else 1.0)
    assert one.ewma_fourth == pytest.approx(1.0 + 0.01 * (fourth - 1.0) if learns else 1.0)


def test_noise_is_clipped_and_its_tails_are_bounded() -> None:
    one = member(count=500.0, noise=1.0, ewma=100.0)
    learn(one, 0.0, 0.0, 50.0, 1.0, 0.01, BOUNDS)
    assert one.noise == pytest.approx(1.0 + 0.01 * (3.0 - 1.0))
    assert one.ewma_fourth == pytest.approx(0.01 * 8.0**4 / 3.0)


def test_the_running_mean_of_normal_noise_has_its_variance() -> None:
    """(mean fourth power / 3) ** (1 / 4) is a standard deviation; 1 here, where samples are independent."""
    one, rng = member(count=20.0), np.random.default_rng(1)
    for residual in rng.normal(size=40_000):
        learn(one, residual, 0.0, residual, 1.0, 1e-3, BOUNDS)
    assert one.ewma_fourth**0.25 == pytest.approx(1.0, abs=0.06)
    assert one.noise * 1.2533 == pytest.approx(1.0, abs=0.05)


def test_one_sample_has_no_noise() -> None:
    one = member()
    learn(one, 5.0, 0.0, 4.0, 1.0, 0.01, BOUNDS)
    assert (one.noise, one.ewma) == (0.0, 0.0)
