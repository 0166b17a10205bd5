"""Numbers in text: what is read of them, and where they end."""

import random

import numpy as np
import pytest

from common.wire.numbers import natural

FAILED = (0, -1)
DICE = random.Random(1)


def read(text: bytes, end: int | None = None) -> tuple[int, int]:
    return natural(np.frombuffer(text, np.uint8), 0, len(text) if end is None else end)


@pytest.mark.parametrize("digits", range(1, 20))
def test_naturals_of_any_length_are_read(digits: int) -> None:
    for _ in range(50):
        number = min(DICE.randrange(10 ** (digits - 1), 10**digits), 2**63 - 1)
        for behind in (b"", b"}", b",1", b"}}2345678901234567"):
            assert read(b"%d" % number + behind) == (number, len(str(number)))


@pytest.mark.parametrize("text", [b"0", b"0}", b"0,12345678", b"10000000", b"9223372036854775807", b"99999999,"])
def test_naturals_at_their_bounds(text: bytes) -> None:
    number = text.rstrip(b"}").partition(b",")[0]
    assert read(text) == (int(number), len(number))


@pytest.mark.parametrize(
    "text", [b"", b"}", b"-1", b"00", b"0000000012", b"9223372036854775808", b"1" * 20, b"1" * 40, b"x12345678"]
)
def test_what_is_no_natural_is_left_to_others(text: bytes) -> None:
    assert read(text) == FAILED


@pytest.mark.parametrize("place", range(17))
def test_a_byte_that_is_no_digit_ends_a_number(place: int) -> None:
    for byte in {*range(256)} - {*b"0123456789"}:
        text = b"1" * place + bytes([byte]) + b"1" * 16
        assert read(text) == ((int(text[:place]), place) if place else FAILED)


def test_no_byte_behind_the_end_is_read() -> None:
    for end in range(1, 18):
        assert read(b"12345678901234567890", end) == (int("12345678901234567890"[:end]), end)
