"""The score of a row: what several columns say together."""

import math

import numpy as np
import pytest

from analytics.offline.rows import row_score


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
