"""Inputs made from others by small damage, the same ones for one seed."""

import random
from collections.abc import Callable, Iterator, Sequence

from tests.fuzz.targets import INPUT_BYTES_MAX

_TOKENS = (
    *(b"0 -1 1e999 -0 NaN 9223372036854775808 18446744073709551616 4294967295 65536 2026-13-01".split()),
    *(b'null true [] {} "" [[[[[[[[ {{{{{{{{ &a *a !!binary \\u0000 \\ud800'.split()),
    *(b"\0", b"\xff\xff\xff\xff", b"\x80", b"\xed\xa0\x80", b"\x7f\xff\xff\xff", b"\n", b"\r\n", b"\x1b["),
)


def mutations(inputs: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """For ever; each from one to four steps away from an input."""
    dice = random.Random(seed)
    while True:
        data = dice.choice(inputs)
        for _ in range(dice.randint(1, 4)):
            data = dice.choice(_STEPS)(data, dice, inputs)
        yield data[:INPUT_BYTES_MAX]


def _set_bytes(data: bytes, dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(min(dice.randint(1, 4), len(data))):
        changed[dice.randrange(len(data))] = dice.choice((0, 1, 127, 128, 255, dice.randrange(256)))
    return bytes(changed)


def _flip(data: bytes, dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def _insert(data: bytes, dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    at = dice.randint(0, len(data))
    return data[:at] + dice.choice(_TOKENS) + data[at:]


def _delete(data: bytes, dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    begin, end = _span(data, dice)
    return data[:begin] + data[end:]


def _repeat(data: bytes, dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    begin, end = _span(data, dice)
    return data[:begin] + data[begin:end] * dice.choice((2, 3, 60)) + data[end:]


def _splice(data: bytes, dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    other = dice.choice(inputs)
    return data[: dice.randint(0, len(data))] + other[dice.randint(0, len(other)) :]


def _number(data: bytes, dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    """Another number in place of a digit."""
    digits = [at for at, byte in enumerate(data) if 48 <= byte < 58]
    if not digits:
        return data
    at = dice.choice(digits)
    return data[:at] + dice.choice(_TOKENS[:9]) + data[at + 1 :]


def _span(data: bytes, dice: random.Random) -> tuple[int, int]:
    begin = dice.randint(0, len(data))
    return begin, min(len(data), begin + dice.choice((1, 2, 8, 64)))


_STEPS: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...]
_STEPS = (_set_bytes, _flip, _insert, _delete, _repeat, _splice, _number)
