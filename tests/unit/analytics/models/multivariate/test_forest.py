"""The flattened forest is scikit-learn's, and names the input that makes a vector anomalous."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from analytics.models.multivariate.forest import Forest, flatten


def healthy(rows: int, width: int, seed: int = 1) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(rows, width))


@pytest.mark.parametrize(("rows", "width", "sample"), [(1000, 24, 256), (300, 3, 300), (40, 5, 17), (2, 2, 2)])
def test_scores_are_those_of_scikit_learn(rows: int, width: int, sample: int) -> None:
    trained = IsolationForest(n_estimators=30, max_samples=sample, random_state=3).fit(healthy(rows, width))
    vectors = 3.0 * healthy(500, width, seed=2)
    assert flatten(trained).score(vectors) == pytest.approx(-trained.score_samples(vectors), abs=1e-12)


def test_scores_agree_where_rows_are_equal_and_trees_end_early() -> None:
    vectors = np.repeat(healthy(6, 4), 50, axis=0)
    trained = IsolationForest(n_estimators=20, max_samples=100, random_state=0).fit(vectors)
    assert flatten(trained).score(vectors) == pytest.approx(-trained.score_samples(vectors), abs=1e-12)


def test_the_same_history_and_seed_give_the_same_forest() -> None:
    one, other = (Forest.fit(healthy(700, 6), seed=1) for _ in range(2))
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))


@pytest.mark.parametrize("disturbed", range(6))
def test_the_disturbed_input_contributes_most(disturbed: int) -> None:
    forest = Forest.fit(healthy(700, 6), seed=1)
    vector = 0.1 * healthy(1, 6)
    vector[0, disturbed] = 6.0
    assert int(np.argmax(forest.contributions(vector)[0])) == disturbed
