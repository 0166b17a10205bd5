"""Groups with one mode or two."""

import numpy as np
import pytest

from analytics.models.peers.modes import boundary, kind_medians, mad_scale, median_of_sorted

FLOOR, APART = 0.01, 0.05


def normal(centre: float, size: int, seed: int = 1, sigma: float = 0.01) -> list[float]:
    found: list[float] = np.random.default_rng(seed).normal(centre, sigma, size).tolist()
    return found


@pytest.mark.parametrize(
    "values",
    [
        normal(0.5, 40),
        normal(0.5, 40, sigma=0.2),
        np.random.default_rng(2).uniform(0.2, 0.8, 40).tolist(),
        [*normal(0.5, 27), *normal(0.9, 13)],  # a third may be faulty
        [*normal(0.5, 3), *normal(0.9, 3)],  # too few
        [*normal(0.50, 20), *normal(0.53, 20)],  # not apart
    ],
)
def test_one_mode(values: list[float]) -> None:
    assert boundary(np.array(values), FLOOR, APART) == np.inf


@pytest.mark.parametrize("values", [[*normal(0.2, 4), *normal(0.5, 4)], [*normal(0.2, 40), *normal(0.5, 60), 3.0, 4.0]])
def test_two_modes(values: list[float]) -> None:
    assert 0.25 < boundary(np.array(values), FLOOR, APART) < 0.45


def test_medians_by_group_and_mode() -> None:
    groups = np.array([7] * 8 + [3] * 4 + [9])
    values = np.array([0.2, 0.2, 0.2, 0.21, 0.5, 0.5, 0.5, np.nan, 1.0, 2.0, 3.0, np.nan, np.nan])
    found = kind_medians(groups, values, FLOOR, APART)
    assert found[8:11].tolist() == [2.0] * 3
    assert np.isnan(found[[7, 11, 12]]).all()
    assert found[:7].tolist() == [0.21] * 7, "three are not enough for a kind of their own"
    values[7] = 0.5
    assert kind_medians(groups, values, FLOOR, APART)[:8].tolist() == [0.2] * 4 + [0.5] * 4


@pytest.mark.parametrize(("values", "median"), [([3.0], 3.0), ([1.0, 2.0, 9.0], 2.0), ([1.0, 2.0, 4.0, 9.0], 3.0)])
def test_the_median_of_sorted_values(values: list[float], median: float) -> None:
    assert median_of_sorted(np.array(values)) == median


def test_the_mad_scale_is_the_standard_deviation_of_normal_noise() -> None:
    assert mad_scale(np.array([-4.0, 1.0, 2.0])) == pytest.approx(1.4826 * 2.0)
    assert mad_scale(np.random.default_rng(1).normal(0.0, 3.0, 100_000)) == pytest.approx(3.0, rel=0.01)


LOW, HIGH = [0.0] * 10, [1.0] * 10


@pytest.mark.parametrize(
    ("values", "floor", "apart_min", "expected"),
    [
        (LOW + HIGH, 0.01, 0.05, 0.5),  # half way between the neighbours of the split
        (LOW + HIGH, 0.01, 1.0, 0.5),
        (LOW + HIGH, 0.01, 1.01, np.inf),  # closer than the smallest distance
        (LOW + HIGH, 0.16, 0.05, 0.5),
        (LOW + HIGH, 0.17, 0.05, np.inf),  # less than six standard deviations
        ([0.0] * 12 + [1.0] * 8, 0.01, 0.05, 0.5),  # 40 % are a mode
        ([0.0] * 13 + [1.0] * 7, 0.01, 0.05, np.inf),  # 35 % are not
        ([0.0] * 3 + [1.0] * 4, 0.01, 0.05, np.inf),  # fewer than eight members
        ([*LOW, 0.5, 0.5, *HIGH], 0.01, 0.05, 0.25),  # a tenth of a mode may be between
    ],
)
def test_two_modes_are_large_far_apart_and_have_a_gap(
    values: list[float], floor: float, apart_min: float, expected: float
) -> None:
    assert boundary(np.array(values), floor, apart_min) == expected


@pytest.mark.parametrize(("inner", "expected"), [(0.3, 0.5), (0.45, np.inf)])
def test_the_gap_between_two_modes_is_three_tenths_of_their_distance(inner: float, expected: float) -> None:
    """A quarter of each mode is further in than its median: between them, 0.4 or 0.1 of the distance is empty."""
    values = [*LOW, *[0.0] * 5, *[inner] * 5, *[1.0 - inner] * 5, *[1.0] * 5, *HIGH]
    assert boundary(np.array(values), 0.01, 0.05) == expected
