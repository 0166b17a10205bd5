"""A pass over OTLP's JSON that takes out the numbers which differ from request to request: times and values."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.numbers import natural, number

_QUOTE, _ESCAPE, _COLON, _MINUS, _ZERO, _NINE = 0x22, 0x5C, 0x3A, 0x2D, 0x30, 0x39
_COMMA, _END_OBJECT, _END_ARRAY = 0x2C, 0x7D, 0x5D
HOLE = 1
"""In place of a number. No JSON has this byte, neither in a text nor outside of one."""


class Kind(IntEnum):
    """Of a number: what protobuf writes it as."""

    WHOLE = 0  # timeUnixNano, asInt
    DOUBLE = 1  # asDouble
    ROUNDED = 2  # asDouble, of which float() has to make the double


_WHOLE, _EXACT, _ROUNDED = (int(kind) for kind in Kind)
_KEYS = np.frombuffer(b"timeUnixNanoasDoubleasInt", np.uint8)
_TIME, _DOUBLE, _INT, _OTHER = 0, 1, 2, 3
_BEGINS, _SIZES = (0, 12, 20), (12, 8, 5)


@compiled_uncounted
def split(
    text: NDArray[np.uint8],
    frame: NDArray[np.uint8],
    kinds: NDArray[np.int8],
    spans: NDArray[np.int64],
    doubles: NDArray[np.float64],
    words: NDArray[np.int64],
) -> tuple[int, int]:
    """The size of the frame, which is the text with holes, and how many numbers there are; -1 for what it leaves alone.

    Texts with the same frame are the same JSON but for these numbers, or are none for the same reason. frame:
    uint8[>= text]. Of each number: kinds, ``Kind``; spans, int64[:, 2], begin and end in the text; its value, in
    doubles or as an integer in words, which is the same memory.
    """
    at, used, found, end = 0, 0, 0, text.size
    while at < end:
        if text[at] != _QUOTE:
            frame[used] = text[at]
            used += 1
            at += 1
            continue
        begin = at + 1
        at = _close(text, begin, end)
        if at < 0:
            return -1, 0
        for place in range(begin - 1, at + 1):
            frame[used] = text[place]
            used += 1
        key = _key(text, begin, at)
        at += 1
        if key == _OTHER:
            continue
        colon = _behind_blanks(text, at, end)
        if colon >= end or text[colon] != _COLON:
            continue  # a text that is no key
        if found == kinds.size:
            return -1, 0
        at = _value(text, _behind_blanks(text, colon + 1, end), end, key, found, kinds, spans, doubles, words)
        if at < 0:
            return -1, 0
        frame[used], frame[used + 1] = _COLON, HOLE
        used += 2
        found += 1
    return used, found


@compiled_uncounted
def _value(
    text: NDArray[np.uint8],
    at: int,
    end: int,
    key: int,
    row: int,
    kinds: NDArray[np.int8],
    spans: NDArray[np.int64],
    doubles: NDArray[np.float64],
    words: NDArray[np.int64],
) -> int:
    """Reads a number, with or without quotes, and returns the offset after it; -1 for what is none."""
    is_quoted = at < end and text[at] == _QUOTE
    begin = at + is_quoted
    is_negative = begin < end and text[begin] == _MINUS
    digits = begin + is_negative
    if digits + 1 < end and text[digits] == _ZERO and _ZERO <= text[digits + 1] <= _NINE:
        return -1
    if key == _DOUBLE:
        doubles[row], after, _, is_exact = number(text, begin, end)
        kinds[row] = _EXACT if is_exact else _ROUNDED
    else:
        if is_negative and key == _TIME:
            return -1
        whole, after = natural(text, digits, end)
        words[row] = -whole if is_negative else whole
        kinds[row] = _WHOLE
    if after < 0 or after >= end:
        return -1
    spans[row, 0], spans[row, 1] = begin, after
    if is_quoted:
        return after + 1 if text[after] == _QUOTE else -1
    byte = text[after]
    return after if byte <= 0x20 or byte in (_COMMA, _END_OBJECT, _END_ARRAY) else -1


@compiled_uncounted
def _close(text: NDArray[np.uint8], at: int, end: int) -> int:
    """The quote that ends a text; -1 without one."""
    while at < end:
        if text[at] == _QUOTE:
            return at
        at += 2 if text[at] == _ESCAPE else 1
    return -1


@compiled_uncounted
def _key(text: NDArray[np.uint8], begin: int, end: int) -> int:
    for key in range(3):
        if end - begin == _SIZES[key]:
            place = _BEGINS[key]
            while begin < end and text[begin] == _KEYS[place]:
                begin += 1
                place += 1
            return key if begin == end else _OTHER
    return _OTHER


@compiled_uncounted
def _behind_blanks(text: NDArray[np.uint8], at: int, end: int) -> int:
    while at < end and (text[at] == 0x20 or text[at] == 0x0A or text[at] == 0x0D or text[at] == 0x09):
        at += 1
    return at
