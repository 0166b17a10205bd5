"""Medians within groups."""

import numpy as np
import pytest

from analytics.models.group_medians import group_medians

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
