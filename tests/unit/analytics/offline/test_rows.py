"""The score of a row: what several columns say together."""

import math

import numpy as np
import pytest

from analytics.offline.rows import RowScores, row_score


@pytest.mark.parametrize(("columns", "level"), [(1, 1.0), (2, 1 - 0.05 * math.log(2)), (19, 0.8528), (100_000, 0.6)])
def test_columns_that_agree_have_their_own_score_and_many_a_lower_level(columns: int, level: float) -> None:
    np.testing.assert_allclose(row_score(np.full((columns, 2), [[1.0, 2.5]])), [1 / level, 2.5 / level], rtol=1e-4)


def test_one_of_many_columns_is_not_enough_and_several_are() -> None:
    scores = np.full((19, 1), 0.2)
    scores[0] = 3.0
    assert row_score(scores)[0] < 0.5
    scores[:9] = 3.0
    assert row_score(scores)[0] > 1.0


def test_what_is_not_known_is_left_out() -> None:
    scores = np.array([[1.5, np.nan, np.nan], [np.nan, 0.5, np.nan]])
    np.testing.assert_allclose(row_score(scores), [1.5, 0.5, 0.0])


def of_columns(columns: int, independent: int, rows: int = 2000) -> np.ndarray:
    """float64[columns, rows]: scores of so many independent columns, each with copies."""
    return np.tile(np.random.default_rng(1).exponential(0.1, (independent, rows)), (columns // independent, 1))


def level(scores: np.ndarray) -> float:
    """Of the last row and of one more, in both of which the first three columns are at 5.0 and the others at 0."""
    event = np.zeros((len(scores), 2))
    event[:3] = 5.0
    return float(5.0 / row_score(np.hstack([scores, event]))[-1])


@pytest.mark.parametrize(("independent", "expected"), [(1, 1.0), (20, 1.0), (4, 1.9), (10, 1.6)])
def test_the_level_of_a_few_columns_is_highest_between_copies_and_independent_columns(independent, expected):
    scores = of_columns(20, independent)
    assert level(scores) == pytest.approx(expected, abs=0.1)


def test_copies_of_a_column_have_its_score_whenever_it_is_as_high_twice():
    one = of_columns(1, 1)
    one[:, -2:] = 1.2
    np.testing.assert_allclose(row_score(np.repeat(one, 19, axis=0))[-1], 1.2, rtol=1e-3)


def test_a_few_of_many_columns_alert_in_the_second_of_two_rows():
    scores = of_columns(19, 19, 200)
    scores[:2, 100:102] = scores[:3, 120] = 3.0
    assert row_score(scores).max() < 1.0  # two columns, and one row of three
    scores[:3, 150:152] = 3.0
    assert np.flatnonzero(row_score(scores) >= 1.0).tolist() == [151]


def test_how_rows_are_divided_and_mixed_with_those_of_other_series_changes_nothing():
    scores = of_columns(6, 2)
    scores[1, ::7] = np.nan
    scores[:, 50] = np.nan
    expected = row_score(scores)
    series = np.arange(4000) % 2
    mixed, detector = np.repeat(scores, 2, axis=1), RowScores()
    mixed[:, series == 1] = mixed[::-1, series == 1]
    parts = [detector.score(mixed[:, part], series[part]) for part in (slice(0, 1), slice(1, 901), slice(901, 4000))]
    np.testing.assert_array_equal(np.concatenate(parts)[series == 0], expected)


def test_what_alerts_again_and_again_together_is_no_event():
    """Columns that move together, and are unusual together, as those of a host are."""
    rng = np.random.default_rng(2)
    group = rng.exponential(0.1, (6, 2000)) + 1.2 * (rng.random(2000) < 0.01)
    scores = np.vstack([group, rng.exponential(0.1, (13, 2000))])
    assert (scores.max(axis=0) >= 1.0).sum() > 10
    assert row_score(scores)[300:].max() < 1.0
