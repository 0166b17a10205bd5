"""The ellipse knows which inputs move together, and its contributions add up to the distance."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.multivariate.ellipse import Ellipse


def related(rows: int) -> NDArray[np.float64]:
    """Two inputs that move together, two that do not."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=rows)
    apart = rng.normal(size=(rows, 2))
    return np.column_stack([common + 0.1 * rng.normal(size=rows), common + 0.1 * rng.normal(size=rows), apart])


def test_breaking_a_relation_is_more_anomalous_than_moving_along_it() -> None:
    ellipse = Ellipse.fit(related(2000), seed=1)
    along, across = ellipse.score(np.array([[2.0, 2.0, 0.0, 0.0], [2.0, -2.0, 0.0, 0.0]]))
    assert across > 3.0 * along


def test_contributions_add_up_to_the_squared_distance() -> None:
    ellipse = Ellipse.fit(related(2000), seed=1)
    vectors = related(50)
    summed = ellipse.contributions(vectors).sum(axis=1)
    assert np.sqrt(summed / 4) == pytest.approx(ellipse.score(vectors))


@pytest.mark.parametrize("disturbed", [2, 3])
def test_the_disturbed_input_contributes_most(disturbed: int) -> None:
    vector = np.zeros((1, 4))
    vector[0, disturbed] = 5.0
    assert int(np.argmax(Ellipse.fit(related(2000), seed=1).contributions(vector)[0])) == disturbed


def test_an_input_that_was_constant_does_not_make_the_distance_infinite() -> None:
    vectors = related(500)
    vectors[:, 3] = 0.0
    assert np.isfinite(Ellipse.fit(vectors, seed=1).score(np.array([[0.0, 0.0, 0.0, 1.0]]))).all()
