"""Digits times a power of ten are the double that ``float()`` makes of them, or are said not to be known."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.wire.decimals import SCALE_MAX, scaled

MANTISSAS = st.integers(0, 10**19 - 1) | st.integers(0, 63).flatmap(lambda bits: st.integers(0, 2**bits))


def checked(mantissa: int, scale: int) -> bool:
    """Whether the nearest double was found; it is the right one where it was."""
    value, is_nearest = scaled(np.uint64(mantissa), scale)
    assert not is_nearest or value == float(f"{mantissa}e{scale}"), (mantissa, scale)
    return is_nearest


@given(MANTISSAS, st.integers(-SCALE_MAX - 3, SCALE_MAX + 3))
@example(0, -SCALE_MAX)
@example(2**53, 22)
@example(2**53 + 1, 0)
@example(2**53 + 1, -1)
@example(10**19 - 1, SCALE_MAX)
@example(1, -SCALE_MAX)
def test_it_is_the_nearest_double_where_it_says_so(mantissa: int, scale: int) -> None:
    checked(mantissa, scale)


@given(st.floats(1e-40, 1e40))
@example(0.10400000000000001)
@example(9653.880000000001)
def test_the_shortest_digits_of_a_double_are_known(value: float) -> None:
    digits, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = digits.removesuffix(".0").partition(".")
    assert checked(int(whole + fraction), int(exponent or "0") - len(fraction))


def beside_middles() -> Iterator[tuple[int, int]]:
    """The first 19 digits of numbers half way between two doubles, and those one more and less."""
    rng = np.random.default_rng(1)
    for bits, power in zip(rng.integers(2**52, 2**53, 20_000), rng.integers(-60, 120, 20_000), strict=True):
        middle = (2 * int(bits) + 1) * Fraction(2) ** int(power)
        scale = len(str(int(middle))) - 19 if middle >= 1 else -18 - len(str(int(1 / middle)))
        digits = int(middle / Fraction(10) ** scale)
        yield from ((digits + near, scale) for near in (-1, 0, 1))


def test_what_lies_beside_the_middle_of_two_doubles_is_rounded_to_the_nearer_one() -> None:
    known = [checked(*each) for each in beside_middles() if abs(each[1]) <= SCALE_MAX and each[0] < 10**19]
    assert sum(known) > 50_000


@pytest.mark.parametrize(("mantissa", "scale"), [(2**54 + 2, 0), (9007199254740993, 0), (9007199254740993, 1)])
def test_the_middle_of_two_doubles_is_the_even_one_or_not_known(mantissa: int, scale: int) -> None:
    checked(mantissa, scale)


def test_larger_powers_are_left_to_others() -> None:
    assert not checked(3, SCALE_MAX + 1)
    assert not checked(3, -SCALE_MAX - 1)
