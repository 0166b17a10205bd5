"""Scores depend on the past of their series alone: not on later values, on portions or on other series."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from analytics.models.scoring.layout import CORE, STATE_BYTES
from analytics.models.scoring.scorer import REASONS, Scores, SeriesScorer
from analytics.snapshot.stateful import State
from common.errors import BadInput

START_NS = 1_700_000_000 * 10**9
Floats = NDArray[np.float64]


def times(n: int, step_s: int = 300) -> NDArray[np.int64]:
    return START_NS + np.arange(n, dtype=np.int64) * step_s * 10**9


def traffic(n: int, seed: int = 1) -> Floats:
    """A day and noise, 5 minutes apart, with a spike and a shift."""
    rng = np.random.default_rng(seed)
    values = 100 + 40 * np.sin(np.arange(n) * 2 * np.pi / 288) + rng.normal(0, 3, n)
    values[n // 2] += 80
    values[3 * n // 4 :] += 30
    return values


def same(left: Scores, right: Scores, rows: slice) -> None:
    for name in ("score", "alert", "expected", "lower", "upper", "reason"):
        assert np.array_equal(getattr(left, name)[rows], getattr(right, name), equal_nan=True)


@pytest.mark.parametrize("cut", [1, 29, 31, 700, 1999])
def test_later_values_change_no_score(cut: int) -> None:
    values = traffic(2000)
    whole = SeriesScorer().score(times(2000), values)
    same(whole, SeriesScorer().score(times(cut), values[:cut]), slice(0, cut))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 600), max_size=6))
def test_portions_do_not_matter(cuts: list[int]) -> None:
    values, scorer = traffic(600), SeriesScorer()
    parts = np.split(np.arange(600), sorted(cuts))
    scores = [scorer.score(times(600)[part], values[part]).score for part in parts]
    assert np.array_equal(np.concatenate(scores), SeriesScorer().score(times(600), values).score)


def test_series_side_by_side_score_as_if_alone() -> None:
    both = np.repeat(times(900), 2)
    rows = np.tile(np.array([4, 1]), 900)
    mixed = SeriesScorer().score(both, np.column_stack([traffic(900, 1), traffic(900, 2)]).ravel(), rows)
    same(mixed, SeriesScorer().score(times(900), traffic(900, 1)), slice(0, None, 2))
    same(mixed, SeriesScorer().score(times(900), traffic(900, 2)), slice(1, None, 2))


def test_a_restored_scorer_continues_where_the_other_ended() -> None:
    values, first, second = traffic(1200), SeriesScorer(), SeriesScorer()
    whole = SeriesScorer().score(times(1200), values)
    first.score(times(1200)[:800], values[:800])
    second.restore(first.state())
    same(whole, second.score(times(1200)[800:], values[800:]), slice(800, 1200))


def proved(scorer: SeriesScorer) -> bool:
    return bool(scorer.state().arrays["core"].view(CORE)[0, 0]["season_proved"])


def test_a_season_is_used_and_given_up_across_restarts_as_without_them() -> None:
    """Both ways of a season's memory, and the turns from one to the other."""
    rng = np.random.default_rng(1)
    values = np.concatenate([traffic(288 * 6), 100 + np.cumsum(rng.normal(0, 8, 288 * 9)), traffic(288 * 6)])
    at = times(values.size)
    whole, scorer, used = SeriesScorer().score(at, values), SeriesScorer(), []
    for start in range(0, values.size, 200):
        part = slice(start, start + 200)
        same(whole, scorer.score(at[part], values[part]), part)
        used.append(proved(scorer))
        restarted = SeriesScorer()
        restarted.restore(State(None, {name: array.copy() for name, array in scorer.state().arrays.items()}))
        scorer = restarted
    turns = [now for before, now in pairwise([False, *used]) if now != before]
    assert turns[:2] == [True, False]
    assert used[-1]


def test_forgotten_series_leave_the_others_as_they_were() -> None:
    scorer, values = SeriesScorer(), traffic(900)
    for number in range(3):
        scorer.score(times(800), values[:800] + number, np.full(800, number))
    scorer.keep(np.array([2]))
    alone = SeriesScorer().score(times(900), values + 2)
    same(alone, scorer.score(times(900)[800:], values[800:] + 2), slice(800, 900))


def test_old_rows_are_scored_and_not_learned() -> None:
    scorer, values = SeriesScorer(), traffic(500)[:240]
    scorer.score(times(240), values)
    before = {name: array.copy() for name, array in scorer.state().arrays.items()}
    late = scorer.score(times(240)[100:101], np.array([1000.0]))
    assert late.alert.all()
    assert all(np.array_equal(before[name], array, equal_nan=True) for name, array in scorer.state().arrays.items())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(st.floats(), st.sampled_from([0.0, 1.0, -1.0, 1e308, -1e308, 1e-300, np.inf, np.nan])), max_size=300
    )
)
def test_scores_are_finite_whatever_the_values(values: list[float]) -> None:
    array = np.array(values * 4, np.float64)
    found = SeriesScorer().score(times(array.size, 3600), array)
    assert np.isfinite(found.score).all()
    assert (found.score >= 0).all()
    assert np.array_equal(found.alert, found.score >= 1.0)
    assert not np.isinf(np.concatenate([found.expected, found.lower, found.upper])).any()


def test_missing_values_score_nothing_and_change_nothing() -> None:
    values = traffic(600)
    gaps = np.where(np.arange(600) % 7 == 3, np.nan, values)
    known = ~np.isnan(gaps)
    found = SeriesScorer().score(times(600), gaps)
    assert not found.score[~known].any()
    same(found, SeriesScorer().score(times(600)[known], values[known]), known)  # type: ignore[arg-type]


def test_a_short_history_is_the_reason_for_a_score_of_0() -> None:
    found = SeriesScorer(warmup=30).score(times(30), np.arange(30.0))
    assert not found.score.any()
    assert {REASONS[reason] for reason in found.reason} == {"not enough history"}


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(BadInput):
        SeriesScorer().score(times(3), np.zeros(4))
    with pytest.raises(BadInput):
        SeriesScorer().score(times(3), np.zeros(3), np.array([0, -1, 0]))


def test_a_series_takes_at_most_a_kibibyte_with_a_season_and_without() -> None:
    scorer = SeriesScorer()
    scorer.score(times(1), np.zeros(1))
    assert sum(array.nbytes for array in scorer.state().arrays.values()) == STATE_BYTES <= 1024
