"""Tails of statistics: probabilities against the formulas of the Pareto tail, and what a tail learns from a value."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import DRIFT_UP, EXCESS, EXPERTS, LEVEL_UP, PHASE_UP, RUNGS, STRETCH
from tests.unit.analytics.models.scoring import records

E = LEVEL_UP


@pytest.mark.parametrize(("expert", "threshold", "excess"), [(LEVEL_UP, 2.3, 0.55), (DRIFT_UP, 3.0, 0.9)])
def test_a_new_tail_is_exponential(expert: int, threshold: float, excess: float) -> None:
    tails = records.tails()
    assert tails.threshold[expert] == np.float32(threshold)
    assert tail.shape_of(tails, expert) == 0.0
    # One mean excess further is e times rarer; 3 % are beyond the threshold.
    far = tail.surprise(tails, expert, threshold + 5.0 * excess)
    assert far == pytest.approx(-math.log(0.03) + 5.0, abs=1e-3)
    assert tail.surprise(tails, expert, threshold - 0.1) == 0.0


@pytest.mark.parametrize(
    ("excess", "square", "excesses", "shape"),
    [
        (1.0, 2.0, 120.0, 0.0),  # of an exponential tail the variance is the square of the mean
        (1.0, 1.5, 120.0, 0.0),  # no tail that is lighter
        (1.0, 3.0, 90.0, 0.25 * 0.9),  # (1 - mean² / variance) / 2, shrunk by 90 / (90 + 10)
        (2.0, 20.0, 30.0, 0.375 * 0.75),
        (1.0, 3.0, 0.0, 0.0),
        (0.0, 3.0, 90.0, 0.0),
    ],
)
def test_the_shape_follows_from_the_moments(excess: float, square: float, excesses: float, shape: float) -> None:
    tails = records.tails()
    tails.excess[E], tails.square[E], tails.excesses[E] = excess, square, EXCESS * excesses
    assert tail.shape_of(tails, E) == pytest.approx(shape, rel=1e-6)


def test_surprise_of_a_pareto_tail() -> None:
    """-ln(0.03 (1 + ξ y / σ)^(-1 / ξ)), where σ is the mean times 1 - ξ (Hosking and Wallis 1987)."""
    tails = records.tails()
    tails.threshold[E], tails.excess[E], tails.square[E], tails.excesses[E] = 2.0, 1.0, 3.0, EXCESS * 90.0
    shape = 0.225
    probability = 0.03 * (1.0 + shape * 4.0 / (1.0 - shape)) ** (-1.0 / shape)
    assert tail.surprise(tails, E, 6.0) == pytest.approx(-math.log(probability), abs=1e-3)


@pytest.mark.parametrize("square", [2.0, 3.0, 30.0])
@pytest.mark.parametrize("nats", [4.0, 8.8, 20.0])
def test_the_limit_is_the_value_of_that_surprise(square: float, nats: float) -> None:
    tails = records.tails()
    tails.square[E], tails.excess[E], tails.excesses[E] = square, 1.0, EXCESS * 90.0
    assert tail.surprise(tails, E, tail.limit(tails, E, nats)) == pytest.approx(nats, rel=1e-6)


def test_a_value_below_the_threshold_lowers_it_by_the_share_of_a_step() -> None:
    tails = records.tails()
    tails.threshold[E], tails.excess[E] = 2.0, 0.5
    tail.learn(tails, E, 1.0, 0.4, 0.25, 0.15)
    assert tails.threshold[E] == pytest.approx(2.0 - 0.03 * 0.5 * 0.4 * 0.25)
    assert tails.excess[E] == 0.5


def test_a_value_beyond_the_threshold_raises_it_and_teaches_the_moments() -> None:
    tails = records.tails()
    tails.threshold[E], tails.excess[E], tails.square[E], tails.excesses[E] = 2.0, 0.5, 0.6, EXCESS * 10.0
    tail.learn(tails, E, 3.0, 0.4, 1.0, 0.15)
    assert tails.threshold[E] == pytest.approx(2.0 + 0.97 * 0.5 * 0.4)
    assert tails.excess[E] == pytest.approx(0.5 + (1.0 - 0.5) / 20.0)
    assert tails.square[E] == pytest.approx(0.6 + (1.0 - 0.6) / 20.0)
    assert tails.excesses[E] == EXCESS * 11.0


def test_one_value_counts_for_twelve_mean_excesses_at_most() -> None:
    tails = records.tails()
    tails.threshold[E], tails.excess[E], tails.square[E], tails.excesses[E] = 2.0, 0.5, 0.5, EXCESS * 119.5
    tail.learn(tails, E, 1e6, 0.4, 1.0, 0.15)
    assert tails.excess[E] == pytest.approx(0.5 + (6.0 - 0.5) / 129.5)
    assert tails.excesses[E] == EXCESS * 120.0, "old excesses are forgotten"


def test_the_mean_excess_has_a_lower_limit() -> None:
    tails = records.tails()
    tails.threshold[E], tails.excess[E], tails.excesses[E] = 2.0, 0.15, 0.0
    tail.learn(tails, E, 2.01, 0.4, 1.0, 0.15)
    assert tails.excess[E] == np.float32(0.15)


def test_the_threshold_settles_where_three_per_cent_are_beyond() -> None:
    tails, rng = records.tails(), np.random.default_rng(1)
    for value in rng.uniform(0.0, 10.0, 40_000):
        tail.learn(tails, E, value, 0.15, 1.0, 0.15)
    assert tails.threshold[E] == pytest.approx(9.7, abs=0.1)


@pytest.mark.parametrize(("count", "expected"), [(0.0, 2.0), (100.0, 0.5), (1000.0, 0.15)])
def test_thresholds_move_fast_in_the_beginning(count: float, expected: float) -> None:
    assert tail.pace(count) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "rungs"), [(2.9, 0), (3.0, 1), (4.7, 1), (4.9, 2), (7.6, 2), (7.7, 3), (70.0, 7), (81.0, 8), (1e9, 8)]
)
def test_heights_are_a_ladder_of_factors_of_1_6(value: float, rungs: int) -> None:
    assert tail.rung(value) == rungs


def stretches(tails: Any) -> NDArray[np.float64]:
    """How many stretches reached each rung."""
    counts: NDArray[np.float64] = tails.ladder[:, E] / STRETCH
    return counts


def test_heights_are_forgotten_before_a_ladder_is_full() -> None:
    tails, most, count = records.tails(), 0.0, 1.0
    while count < 40_000.0:
        tail.learn_height(tails, E, 1e9, count)
        most, count = max(most, stretches(tails).max()), count + np.floor(tail.stretch(count)) + 1.0
    assert 10.0 < most < 255.0 / STRETCH


def test_a_stretch_of_values_counts_once_on_each_rung_that_it_reaches() -> None:
    tails = records.tails()
    for count, value in ((4000.0, 5.0), (4001.0, 8.0), (4300.0, 3.5), (4600.0, 5.0)):
        tail.learn_height(tails, E, value, count)
    assert stretches(tails).tolist() == [1.0, 1.0, 1.0, *[0.0] * (RUNGS - 3)]
    tail.learn_height(tails, E, 5.0, 4601.0)
    kept = round(STRETCH * math.exp(-601.0 / 5000.0)) / STRETCH
    assert stretches(tails)[:4].tolist() == pytest.approx([kept + 1.0, kept + 1.0, kept, 0.0])
    assert tails.ladder[:, E + 1].tolist() == [0.0] * RUNGS


def test_a_height_is_known_once_three_stretches_have_reached_it() -> None:
    tails = records.tails()
    for count in (500.0, 1000.0):
        tail.learn_height(tails, E, 5.0, count)
    assert tail.known_height(tails, E, 5.0, 1500.0, 1.0) == math.inf
    tail.learn_height(tails, E, 5.0, 1500.0)
    events = stretches(tails)[1]
    assert 2.5 < events < 3.0
    assert tail.known_height(tails, E, 5.0, 2800.0, 1.0) == pytest.approx(2.0 + math.log(2800.0 / events))
    assert tail.known_height(tails, E, 5.0, 1e6, 1.0) == pytest.approx(2.0 + math.log(5000.0 / events))
    assert tail.known_height(tails, E, 8.0, 2800.0, 1.0) == math.inf, "none was as high as that"
    assert tail.known_height(tails, E, 7.4, 2800.0, 1.5) < math.inf, "up to half more is not new"
    assert tail.known_height(tails, E, 2.0, 2800.0, 1.0) == math.inf


def test_the_stretch_that_lasts_does_not_count_for_its_own_height() -> None:
    tails = records.tails()
    for count in (3000.0, 3700.0, 4400.0):
        tail.learn_height(tails, E, 5.0, count)
    assert tail.known_height(tails, E, 5.0, 5000.0, 1.0) == math.inf
    assert tail.known_height(tails, E, 5.0, 5001.0, 1.0) < math.inf


def test_many_events_in_one_stretch_make_no_height_known() -> None:
    tails = records.tails()
    for count in np.arange(4000.0, 4590.0, 20.0):
        tail.learn_height(tails, E, 5.0, count)
    assert tail.known_height(tails, E, 5.0, 6000.0, 1.0) == math.inf


@pytest.mark.parametrize(
    ("count", "values"), [(10.0, 12.0), (60.0, 12.0), (600.0, 120.0), (3000.0, 600.0), (1e6, 600.0)]
)
def test_a_stretch_is_a_fifth_of_the_values_so_far(count: float, values: float) -> None:
    assert tail.stretch(count) == pytest.approx(values)


@pytest.mark.parametrize("experts", [PHASE_UP, EXPERTS])
def test_lowering_all_at_once_is_learning_one_after_the_other(experts: int) -> None:
    together, alone = records.tails(), records.tails()
    for tails in (together, alone):
        rng = np.random.default_rng(1)
        tails.threshold[:], tails.excess[:] = rng.uniform(0.5, 40.0, EXPERTS), rng.uniform(0.2, 5.0, EXPERTS)
    before, statistics = together.threshold.copy(), np.full(EXPERTS, -1.0)
    assert not tail.any_beyond(together, statistics, experts)
    tail.lower(together, 0.7 * 0.25, experts)
    for expert in range(experts):
        tail.learn(alone, expert, -1.0, 0.7, 0.25, 0.15)
    np.testing.assert_allclose(together.threshold, alone.threshold, rtol=1e-6)
    assert (together.threshold[:experts] < before[:experts]).all()
    assert (together.threshold[experts:] == before[experts:]).all()


@pytest.mark.parametrize("expert", range(PHASE_UP))
def test_one_beyond_its_threshold_is_noticed(expert: int) -> None:
    tails, statistics = records.tails(), np.zeros(EXPERTS)
    statistics[PHASE_UP] = 99.0  # of an expert that is left out
    assert not tail.any_beyond(tails, statistics, PHASE_UP)
    statistics[expert] = 3.1
    assert tail.any_beyond(tails, statistics, PHASE_UP)
