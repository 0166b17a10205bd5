"""The baseline: no score before its warm-up, no learning from anomalies, a lasting change is followed."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models import baseline
from analytics.models.baseline import COUNT, LEVEL, SCALE, WIDTH
from analytics.models.pace import WARMUP, Pace

RNG = np.random.default_rng(7)


Floats = NDArray[np.float64]


def learn(
    given: Sequence[float] | Floats,
    state: Floats | None = None,
    follow: int = 20,
    alpha: float = 0.1,
    reported: bool = False,
) -> tuple[Floats, Floats]:
    state = np.zeros((1, WIDTH)) if state is None else state
    values = np.asarray(given, np.float64)
    score, newest = np.empty(values.size), np.full(1, np.nan)
    sids, with_finding = np.zeros(values.size, np.int64), np.full(values.size, reported)
    pace = Pace(alpha, WARMUP, follow)
    baseline.score_and_learn(sids, values, with_finding, state, pace, score, newest)
    return score, state


def test_there_is_no_score_before_the_warmup_is_over() -> None:
    score, _ = learn([10.0] * WARMUP + [10.0])
    assert np.isnan(score[:WARMUP]).all()
    assert score[WARMUP] == 0.0


def test_level_and_scale_are_those_of_the_noise() -> None:
    _, state = learn(RNG.normal(100.0, 5.0, 2000), alpha=0.02)
    assert state[0, LEVEL] == pytest.approx(100.0, abs=2.0)
    assert state[0, SCALE] * 1.2533 == pytest.approx(5.0, rel=0.25)


def test_an_anomaly_is_scored_and_not_learned() -> None:
    _, state = learn(RNG.normal(100.0, 5.0, 500))
    level = state[0, LEVEL]
    score, state = learn([300.0] * 10, state)
    assert (score > 20).all()
    assert state[0, LEVEL] == level


def test_a_lasting_change_becomes_the_new_normal() -> None:
    _, state = learn(RNG.normal(100.0, 5.0, 500))
    score, state = learn(RNG.normal(300.0, 5.0, 60), state, follow=20)
    assert score[0] > 20
    assert abs(score[-1]) < 4
    assert state[0, LEVEL] == pytest.approx(300.0, rel=0.02)


def test_a_change_that_is_reported_becomes_no_normal_until_it_is_reported_no_more() -> None:
    _, state = learn(RNG.normal(100.0, 5.0, 500))
    level = state[0, LEVEL]
    score, state = learn(RNG.normal(300.0, 5.0, 400), state, follow=20, reported=True)
    assert (score > 20).all()
    assert state[0, LEVEL] == level
    score, state = learn(RNG.normal(300.0, 5.0, 20), state, follow=20)
    assert abs(score[-1]) < 4


def test_one_wild_value_moves_the_level_little() -> None:
    _, state = learn(RNG.normal(100.0, 5.0, 500))
    before = state[0, LEVEL]
    _, state = learn([before + 25.0], state)
    assert abs(state[0, LEVEL] - before) < 2.5


def test_a_series_that_never_changed_has_a_bounded_score() -> None:
    score, _ = learn([0.0] * 50 + [1.0])
    assert score[-1] == 1e6


def test_missing_values_change_nothing() -> None:
    _, state = learn([10.0, 11.0])
    score, after = learn([np.nan], state.copy())
    assert np.isnan(score[0])
    assert (after == state).all()
    assert after[0, COUNT] == 2.0


def test_many_series_are_independent() -> None:
    state = np.zeros((3, WIDTH))
    sids = np.tile(np.array([2, 0, 1]), 30)
    values = np.tile(np.array([20.0, 0.0, 10.0]), 30)
    no_finding = np.zeros(90, bool)
    baseline.score_and_learn(sids, values, no_finding, state, Pace(0.1, WARMUP, 20), np.empty(90), np.empty(3))
    assert state[:, LEVEL].tolist() == [0.0, 10.0, 20.0]
