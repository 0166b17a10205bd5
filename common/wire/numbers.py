"""Decimal numbers in text, for compiled code."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.decimals import scaled
from common.wire.protobuf import signed
from common.wire.spans import word_at

_MINUS, _PLUS, _DOT, _ZERO, _E = 0x2D, 0x2B, 0x2E, 0x30, 0x65
_INT_MAX = np.uint64(2**63 - 1)
_HIGH, _SIX, _THREES = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x0606060606060606), np.uint64(0x3333333333333333)
_DIGITS_MAX, _SCALE_MAX = 40, 250  # no double has more of either; what has is left to others


@compiled_uncounted
def _digits(buf: NDArray[np.uint8], at: int, end: int, before: np.uint64) -> tuple[np.uint64, int]:
    """The number of these digits appended to those of ``before``, and the offset after them."""
    place, size, found = np.uint64(at), np.uint64(end), before  # an unsigned index is never negative
    while place < size:
        digit = np.uint8(buf[place] - _ZERO)
        if digit > 9:
            break
        found = found * np.uint64(10) + np.uint64(digit)
        place += np.uint64(1)
    return found, signed(place)


@compiled_uncounted
def number(buf: NDArray[np.uint8], at: int, end: int) -> tuple[float, int, bool, bool]:
    """A decimal number, the offset after it (-1 for none), and whether it is whole, and exact.

    Whole is what has neither point nor exponent. What is not exact is a number that float() may round differently: of
    20 digits and more, or see ``scaled``.
    """
    negative = at < end and buf[at] == _MINUS
    if negative:
        at += 1
    begin = at
    mantissa, at = _digits(buf, at, end, np.uint64(0))
    digits, scale, is_whole = at - begin, 0, True
    if digits == 0:
        return 0.0, -1, False, False
    if at < end and buf[at] == _DOT:
        point = at + 1
        mantissa, at = _digits(buf, point, end, mantissa)
        scale, is_whole = point - at, False
        if scale == 0:
            return 0.0, -1, False, False
        digits -= scale
    if at < end and (buf[at] | 0x20) == _E:
        at += 1
        down = at < end and buf[at] == _MINUS
        if at < end and (buf[at] == _MINUS or buf[at] == _PLUS):
            at += 1
        exponent, start, is_whole = np.int64(0), at, False
        while at < end and np.uint8(buf[at] - _ZERO) < 10 and exponent < 1000:
            exponent = 10 * exponent + np.int64(buf[at] - _ZERO)
            at += 1
        if at == start:
            return 0.0, -1, False, False
        scale += int(-exponent if down else exponent)
    if digits > _DIGITS_MAX or scale > _SCALE_MAX or scale < -_SCALE_MAX:
        return 0.0, -1, False, False
    value, is_exact = scaled(mantissa, scale)
    return (-value if negative else value), at, is_whole, is_exact and digits <= 19


@compiled_uncounted
def _are_digits(word: np.uint64) -> bool:
    """Whether each byte is 0x30 to 0x39: it begins with 3, and does so with 6 added."""
    return bool((word & _HIGH) | (((word + _SIX) & _HIGH) >> np.uint64(4)) == _THREES)


@compiled_uncounted
def _eight_digits(word: np.uint64) -> np.uint64:
    """The number of eight digits, the first in the lowest byte: a product makes pairs, one fours, and one all."""
    word = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(10 * 2**8 + 1)) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(100 * 2**16 + 1)) >> np.uint64(16)
    return ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)


@compiled_uncounted
def natural(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """A number of digits alone, without zeros before it and below 2^63, and the offset after it; -1 for any other."""
    begin, found = at, np.uint64(0)
    while at + 8 <= end:
        word = word_at(buf, np.uint64(at))
        if not _are_digits(word):
            break
        found = found * np.uint64(10**8) + _eight_digits(word)
        at += 8
    found, at = _digits(buf, at, end, found)
    size = at - begin
    if size == 0 or size > 19 or (size > 1 and buf[begin] == _ZERO) or found > _INT_MAX:
        return 0, -1
    return signed(found), at
