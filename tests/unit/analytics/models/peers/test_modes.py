"""One kind of members or two."""

import numpy as np
import pytest

from analytics.models.peers.modes import boundary, kind_medians

FLOOR, APART = 0.01, 0.05


def bell(centre: float, size: int, seed: int = 1, sigma: float = 0.01) -> list[float]:
    found: list[float] = np.random.default_rng(seed).normal(centre, sigma, size).tolist()
    return found


@pytest.mark.parametrize(
    "values",
    [
        bell(0.5, 40),
        bell(0.5, 40, sigma=0.2),
        np.random.default_rng(2).uniform(0.2, 0.8, 40).tolist(),
        [*bell(0.5, 27), *bell(0.9, 13)],  # a third may be faulty
        [*bell(0.5, 3), *bell(0.9, 3)],  # too few
        [*bell(0.50, 20), *bell(0.53, 20)],  # not apart
    ],
)
def test_one_kind(values: list[float]) -> None:
    assert boundary(np.array(values), FLOOR, APART) == np.inf


@pytest.mark.parametrize("values", [[*bell(0.2, 4), *bell(0.5, 4)], [*bell(0.2, 40), *bell(0.5, 60), 3.0, 4.0]])
def test_two_kinds(values: list[float]) -> None:
    assert 0.25 < boundary(np.array(values), FLOOR, APART) < 0.45


def test_medians_by_group_and_kind() -> None:
    groups = np.array([7] * 8 + [3] * 4 + [9])
    values = np.array([0.2, 0.2, 0.2, 0.21, 0.5, 0.5, 0.5, np.nan, 1.0, 2.0, 3.0, np.nan, np.nan])
    found = kind_medians(groups, values, FLOOR, APART)
    assert found[8:11].tolist() == [2.0] * 3
    assert np.isnan(found[[7, 11, 12]]).all()
    assert found[:7].tolist() == [0.21] * 7, "three are not enough for a kind of their own"
    values[7] = 0.5
    assert kind_medians(groups, values, FLOOR, APART)[:8].tolist() == [0.2] * 4 + [0.5] * 4
