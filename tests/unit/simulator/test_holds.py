"""What several faults hold in one element: combined while they last, as before when the last one ends."""

import math
from itertools import permutations

import numpy as np
import pytest

from simulator.holds import Combine, Holds


@pytest.mark.parametrize(
    ("combine", "own", "values", "together"),
    [
        (min, 1.0, (0.55, 0.7), 0.55),
        (max, 0.0, (0.2, 1.0), 1.0),
        (sum, 1.0, (0.1, 0.2), 1.3),
        (math.prod, 1.0, (0.3, 0.5), 0.15),
    ],
)
def test_faults_of_one_element_are_combined_and_end_in_any_order(
    combine: Combine, own: float, values: tuple[float, float], together: float
) -> None:
    for first, second in permutations(range(2)):
        holds, array = Holds(), np.array([own, own])
        for owner, value in enumerate(values):
            holds.set(owner, array, 1, value, combine)
        assert array[1] == pytest.approx(together)
        holds.release(first)
        assert array[1] == combine((own, values[second]))
        holds.release(second)
        assert array.tolist() == [own, own], "exactly, without a rounding error"


def test_a_fault_replaces_its_own_value() -> None:
    holds, array = Holds(), np.zeros(1)
    for value in (1.0, 2.0, 3.0):
        holds.set("dirt", array, 0, value, sum)
    assert array[0] == 3.0


def test_what_changed_between_two_faults_is_kept() -> None:
    holds, array = Holds(), np.ones(1)
    holds.set("one", array, 0, 0.5, min)
    holds.release("one")
    array[0] = 0.9
    holds.set("other", array, 0, 0.7, min)
    holds.release("other")
    assert array[0] == 0.9
