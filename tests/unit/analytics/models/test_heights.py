"""How surprising a height is by how often it was reached, and what a run of such samples adds up to."""

import copy

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.heights import DRIFT, LIMIT, RUNGS, Heights, Samples, learn

EVERY_S, HORIZON_S, FOLLOW_S = 10.0, 1800.0, 1800.0
S = 1_000_000_000


def new_series() -> Heights:
    since, high, low, began = (np.zeros(1, np.int64) for _ in range(4))
    return Heights(since, high, low, began, np.zeros(1), np.zeros((1, RUNGS)), np.zeros((1, RUNGS)))


def fed(
    scores: list[float],
    heights: Heights | None = None,
    first: int = 0,
    weight: float = 1.0,
    reported: bool = False,
) -> NDArray[np.float64]:
    """The surprise after each sample; the first one comes ten seconds after ``first`` intervals."""
    state = heights or new_series()
    if not state.since_ns[0]:
        state.since_ns[0] = 10 * S
    found = []
    for at, score in enumerate(scores, start=first + 1):
        if score >= 1.0:
            row, at_ns, every_s = np.array([0]), np.array([10 * at * S]), np.array([EVERY_S])
            sample = Samples(row, at_ns, np.array([score]), every_s, np.array([reported]), weight)
            learn(state, sample, HORIZON_S, FOLLOW_S)
        else:
            state.low_ns[0] = 10 * at * S
        found.append(float(state.surprise[0]))
    return np.array(found)


def samples_until_found(scores: list[float], weight: float = 1.0) -> int | None:
    """How many samples it takes; None where they are too few."""
    at = np.flatnonzero(fed(scores, weight=weight) >= LIMIT)
    return int(at[0]) + 1 if at.size else None


@pytest.mark.parametrize(("score", "samples"), [(1.0, 2), (2.0, 2), (4.0, 2), (8.0, 1), (20.0, 1)])
def test_a_series_without_history_needs_two_samples_or_a_very_high_one(score: float, samples: int) -> None:
    assert samples_until_found([score] * 5) == samples


def test_one_sample_at_the_limit_is_never_enough_however_quiet_the_series_was() -> None:
    assert samples_until_found([0.0] * 1000 + [1.9]) is None


def test_after_a_quiet_time_one_sample_far_above_the_limit_is_enough() -> None:
    assert samples_until_found([0.0] * 100 + [4.0]) == 101


def test_samples_that_are_only_bounds_count_half() -> None:
    assert samples_until_found([1.0] * 9, weight=0.5) == 4


def test_the_surprise_of_the_first_sample_is_that_of_the_prior() -> None:
    assert fed([8.0])[0] == pytest.approx(-np.log(0.01 / 64) - DRIFT)


def bursts(every: int, samples: int, score: float = 2.0) -> list[float]:
    return [score if at % every == 0 else 0.0 for at in range(samples)]


def test_heights_that_come_again_and_again_are_no_finding_and_higher_ones_are() -> None:
    """One sample in five is high; then two in a row are as high, or four times as high."""
    state = new_series()
    assert (fed(bursts(5, 360), state)[60:] < LIMIT).all()
    kept = copy.deepcopy(state)
    assert (fed([2.0, 2.0], state, first=370) < LIMIT).all()
    assert (fed([16.0, 16.0], kept, first=370) >= LIMIT).any()


def test_what_lasts_is_a_finding_until_it_is_the_usual_height() -> None:
    found = fed([3.0] * 260) >= LIMIT
    assert found[1:180].all()
    assert not found[200:].any()


def test_a_run_is_not_learned_while_it_lasts() -> None:
    state = new_series()
    fed([3.0] * 100, state)
    assert not state.usual.any()
    assert state.run[0, 1] > 50.0


def test_the_onset_is_that_of_the_first_sample_of_the_run() -> None:
    state = new_series()
    fed([0.0, 0.0, 2.0, 2.0, 2.0], state)
    assert (state.began_ns[0], state.high_ns[0]) == (30 * S, 50 * S)
    fed([2.0, 2.0], state, first=60)
    assert state.began_ns[0] == 610 * S


def test_a_low_sample_halves_what_was_proved_and_a_missing_one_does_not() -> None:
    state = new_series()
    first = float(fed([2.0], state)[-1])
    missed = copy.deepcopy(state)
    after_low = float(fed([0.0, 2.0], state, first=1)[-1])
    after_missing = float(fed([2.0], missed, first=2)[-1])
    assert first < after_low < after_missing
    assert after_missing == pytest.approx(2 * first, rel=0.05)


def test_a_fault_is_not_learned_by_the_samples_that_are_lost_of_it() -> None:
    """A young series, and every fifth sample of a fault of ten minutes is lost."""
    state = new_series()
    fed([0.0] * 10, state)
    found = [fed([3.0] * 4, state, first=10 + 5 * lost)[-1] for lost in range(12)]
    assert min(found) >= LIMIT
    assert not state.usual.any()


def test_after_a_long_silence_a_run_begins_again() -> None:
    state = new_series()
    fed([3.0] * 5, state)
    fed([3.0] * 2, state, first=60)
    assert state.began_ns[0] == 610 * S
    assert state.usual[0, 0] > 1.0


def test_what_is_reported_is_a_finding_for_as_long_as_it_lasts() -> None:
    """An hour, in which a low sample comes now and then."""
    state = new_series()
    fed([0.0] * 100 + [3.0] * 2, state)
    found = fed(([3.0] * 9 + [0.0]) * 36, state, first=102, reported=True)
    assert (found[:-1] >= LIMIT / 2).all()
    assert (found[[at % 10 not in (9, 0, 1) for at in range(360)]] >= LIMIT).all()
    assert not state.usual.any()


def test_what_was_usual_before_a_finding_is_so_after_it() -> None:
    """Bursts that the port always has, an hour of a fault, the same bursts."""
    state = new_series()
    fed(bursts(5, 360), state)
    usual = state.usual[0, 0]
    fed([40.0] * 360, state, first=360, reported=True)
    assert state.usual[0, 0] >= usual
    assert (fed(bursts(5, 60), state, first=720, reported=True)[6:] < LIMIT).all()


def test_what_was_reported_is_learned_once_it_is_reported_no_more() -> None:
    state = new_series()
    fed([3.0] * 400, state, reported=True)
    assert (fed([3.0] * 300, state, first=400)[250:] < LIMIT).all()


@pytest.mark.parametrize("long", [30, 90, 360])
def test_what_comes_back_ten_minutes_after_it_was_reported_is_found_within_a_minute(long: int) -> None:
    state = new_series()
    fed([0.0] * 200, state)
    fed([3.0] * long, state, first=200, reported=True)
    fed([0.0] * 60, state, first=200 + long)
    assert (fed([3.0] * 6, state, first=260 + long) >= LIMIT).any()
