"""Decimal numbers rounded to the nearest double, for compiled code: what ``float()`` makes of the same digits.

Up to 2^53 times or over a power of ten up to 22, which is itself exact, the hardware rounds once (Clinger 1990, How to
read floating point numbers accurately). Else the product with a power of ten of 128 bits says which double is nearest,
unless it lies too close to the middle of two (Lemire 2021, Number parsing at a gigabyte per second). Programs in Go
print the shortest digits that are the double again: 17 of them now and then.
"""

import math
from fractions import Fraction

import numpy as np

from common.jit import compiled_uncounted

SCALE_MAX = 64  # larger powers are left to others
_CLINGER_SCALE, _CLINGER_MANTISSA = 22, np.uint64(2**53)
_POWERS = 10.0 ** np.arange(_CLINGER_SCALE + 1)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_BELOW = np.uint64(2**9 - 1)  # bits of the upper half below the 54 that a double and its rounding need, or one more
_ONE, _MIDDLE = np.uint64(1), np.uint64(3)


def _binary_exponent(scale: int) -> int:
    """Of the largest power of two that is not above ``10**scale``."""
    return math.floor(scale * math.log2(10))


def _upper_bits(scale: int) -> tuple[int, int]:
    """The first 128 bits of ``10**scale``, cut off, in two halves."""
    bits = math.floor(Fraction(10) ** scale * Fraction(2) ** (127 - _binary_exponent(scale)))
    return bits >> 64, bits & (2**64 - 1)


_SCALES = range(-SCALE_MAX, SCALE_MAX + 1)
_BITS = np.array([_upper_bits(scale) for scale in _SCALES], dtype=np.uint64)
_EXPONENTS = np.array([_binary_exponent(scale) for scale in _SCALES], dtype=np.int64)


@compiled_uncounted
def _product(one: np.uint64, other: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Both halves of the product of 128 bits."""
    a, b, c, d = one >> _HALF, one & _LOW, other >> _HALF, other & _LOW
    low, left, right = b * d, a * d, b * c
    middle = (low >> _HALF) + (left & _LOW) + (right & _LOW)
    high = a * c + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF)
    return high, (middle << _HALF) | (low & _LOW)


@compiled_uncounted
def _nearest(mantissa: np.uint64, scale: int) -> tuple[float, bool]:
    """As ``scaled``, of a mantissa that is not 0, by the upper bits of the power."""
    shift = 0
    while mantissa >> np.uint64(63) == 0:
        mantissa <<= _ONE
        shift += 1
    high, low = _product(mantissa, _BITS[scale + SCALE_MAX, 0])
    if high & _BELOW == _BELOW and low + mantissa < mantissa:  # the bits that are cut off may carry as far as that
        more, below = _product(mantissa, _BITS[scale + SCALE_MAX, 1])
        low += more
        if low < more:
            high += _ONE
        if high & _BELOW == _BELOW and low + _ONE == 0 and below + mantissa < mantissa:
            return 0.0, False
    first = high >> np.uint64(63)
    bits = high >> (first + np.uint64(9))  # 54 of them: the last one says which way to round
    if low == 0 and high & _BELOW == 0 and bits & _MIDDLE == _ONE:
        return 0.0, False  # the middle of two doubles, as far as these bits say
    bits = (bits + (bits & _ONE)) >> _ONE
    exponent = _EXPONENTS[scale + SCALE_MAX] + np.int64(first) + 11 - shift
    return math.ldexp(np.float64(bits), exponent), True


@compiled_uncounted
def scaled(mantissa: np.uint64, scale: int) -> tuple[float, bool]:
    """``mantissa * 10**scale``, and whether that is the nearest double, the even one of two."""
    value = np.float64(mantissa)
    if scale == 0 or mantissa == 0:
        return value, True
    if mantissa <= _CLINGER_MANTISSA and -_CLINGER_SCALE <= scale <= _CLINGER_SCALE:
        return (value * _POWERS[scale] if scale > 0 else value / _POWERS[-scale]), True
    if scale < -SCALE_MAX or scale > SCALE_MAX:
        return value, False
    return _nearest(mantissa, scale)
