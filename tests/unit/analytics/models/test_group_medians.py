"""Medians within groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

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


@given(
    arrays(np.int64, st.shared(st.integers(1, 80), key="n"), elements=st.integers(0, 3)),
    arrays(np.float64, st.shared(st.integers(1, 80), key="n"), elements=st.floats(-1e9, 1e9) | st.just(NAN)),
    st.booleans(),
)
def test_as_numpy_says_of_each_group(groups: NDArray[np.int64], values: NDArray[np.float64], in_order: bool) -> None:
    groups = np.sort(groups) if in_order else groups
    known = {group: values[(groups == group) & ~np.isnan(values)] for group in groups.tolist()}
    medians = {group: np.median(found) if found.size else NAN for group, found in known.items()}
    expected = np.array([medians[group] for group in groups.tolist()])
    assert np.array_equal(group_medians(groups, values), expected, equal_nan=True)
