"""The compiled comparison of a JSON document with its template, and the exact parsing of its numbers."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.protobuf import signed
from common.wire.spans import differ

_MINUS, _PLUS, _DOT, _ZERO, _E = 0x2D, 0x2B, 0x2E, 0x30, 0x65
_POWERS = 10.0 ** np.arange(23)
_EXACT = np.uint64(2**53)


@compiled
def match(
    body: NDArray[np.uint8],
    static: NDArray[np.uint8],
    ends: NDArray[np.int64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
) -> bool:
    """Compares a document with the static bytes of its template and reads the numbers between them.

    static, ends: the bytes, and where in them the piece before each number ends. indices: for each number, where in
    ``values`` it goes. False for a document of another shape, or with a number that is not rounded exactly here.
    """
    at, begin = 0, 0
    for part in range(ends.size):
        end = ends[part]
        if at + end - begin > body.size:
            return False
        if differ(body[at : at + end - begin], static[begin:end]):
            return False
        at += end - begin
        begin = end
        if part < indices.size:
            number, at = _number(body, at)
            if at < 0:
                return False
            values[indices[part]] = number
    return bool(at == body.size)


@compiled
def _digits(body: NDArray[np.uint8], at: int, before: np.uint64) -> tuple[np.uint64, int]:
    """The number of these digits appended to those of ``before``, and the offset after them."""
    place, size, number = np.uint64(at), np.uint64(body.size), before  # an unsigned index is never negative
    while place < size:
        digit = np.uint8(body[place] - _ZERO)
        if digit > 9:
            break
        number = number * np.uint64(10) + np.uint64(digit)
        place += np.uint64(1)
    return number, signed(place)


@compiled
def _number(body: NDArray[np.uint8], at: int) -> tuple[float, int]:
    """A decimal number and the offset after it; -1 for no number or one that float() may round differently.

    Integers of 19 digits are rounded by the hardware; below 2^53 a power of ten up to 22 rounds once (Clinger 1990).
    """
    size = body.size
    negative = at < size and body[at] == _MINUS
    if negative:
        at += 1
    begin = at
    mantissa, at = _digits(body, at, np.uint64(0))
    digits, scale = at - begin, 0
    if at < size and body[at] == _DOT:
        point = at + 1
        mantissa, at = _digits(body, point, mantissa)
        scale = point - at
        digits -= scale
    if digits == 0 or digits > 19:
        return 0.0, -1
    if at < size and (body[at] | 0x20) == _E:
        at += 1
        down = at < size and body[at] == _MINUS
        if at < size and (body[at] == _MINUS or body[at] == _PLUS):
            at += 1
        exponent, start = np.int64(0), at
        while at < size and np.uint8(body[at] - _ZERO) < 10 and exponent < 1000:
            exponent = 10 * exponent + np.int64(body[at] - _ZERO)
            at += 1
        if at == start:
            return 0.0, -1
        scale += int(-exponent if down else exponent)
    value = np.float64(mantissa)
    if scale != 0:
        if mantissa > _EXACT or scale > 22 or scale < -22:
            return 0.0, -1
        if scale > 0:
            value *= _POWERS[scale]
        else:
            value /= _POWERS[-scale]
    return (-value if negative else value), at


def warm_up() -> None:
    """Compiles the comparison, or loads it from the disk cache."""
    text, none = np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)  # read-only, as the bytes of messages are
    match(text, text, none, none, np.zeros(1))
