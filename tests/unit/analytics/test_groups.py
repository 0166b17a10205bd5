"""Medians and robust scores within groups."""

import numpy as np
import pytest

from analytics.statistics.groups import group_medians, group_scores

NAN = np.nan


@pytest.mark.parametrize(
    ("groups", "values", "expected"),
    [
        ([], [], []),
        ([1, 1, 1], [3.0, 1.0, 2.0], [2.0, 2.0, 2.0]),
        ([1, 2, 1, 2], [1.0, 10.0, 3.0, 20.0], [2.0, 15.0, 2.0, 15.0]),
        ([5, 5, 5], [NAN, 1.0, 3.0], [2.0, 2.0, 2.0]),
        ([5], [NAN], [NAN]),
    ],
)
def test_medians(groups: list[int], values: list[float], expected: list[float]) -> None:
    found = group_medians(np.array(groups, np.int64), np.array(values, np.float64))
    assert np.array_equal(found, np.array(expected, np.float64), equal_nan=True)


def test_the_odd_one_out_has_the_highest_score() -> None:
    values = np.array([100.0, 101.0, 99.0, 100.5, 60.0])
    _, scores = group_scores(np.zeros(5, np.int64), values, 0.01)
    assert np.argmin(scores) == 4
    assert scores[4] < -10
    assert np.abs(scores[:4]).max() < 2


def test_equal_members_do_not_score() -> None:
    _, scores = group_scores(np.zeros(3, np.int64), np.zeros(3), 0.01)
    assert scores.tolist() == [0.0, 0.0, 0.0]
