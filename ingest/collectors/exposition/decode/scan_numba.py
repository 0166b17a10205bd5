"""The two passes over every byte of a body, compiled: compare with a template, and find known series in any order."""

import numpy as np

from common.jit import compiled, inlined
from common.wire.decimals import scaled
from ingest.collectors.exposition.decode.line import LINE_BYTES_MAX
from ingest.collectors.exposition.decode.template import (
    CLEAR,
    CONSTANT,
    EXEMPLAR_BYTES_MAX,
    TOKEN_BYTES_MAX,
    Bytes,
    Floats,
    Ints,
    Rows,
)

MISMATCH = -1
TOO_MANY = -2

_SPACE, _TAB, _FEED, _HASH, _QUOTE, _BACKSLASH = 0x20, 0x09, 0x0A, 0x23, 0x22, 0x5C
_OPEN, _CLOSE, _PLUS, _MINUS, _DOT, _ZERO = 0x7B, 0x7D, 0x2B, 0x2D, 0x2E, 0x30
_FNV_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)


@inlined
def _is_end(byte: int) -> bool:
    return byte in (_SPACE, _FEED, _TAB)


@compiled
def _number(body: Bytes, at: int) -> tuple[float, int, bool]:
    """Value, end of the token, and whether the value is exact (else the caller parses the token again).

    Exact are numbers of at most 19 digits, but for a few that ``scaled`` leaves to others.
    """
    n = body.size
    i = at
    negative = False
    if i < n and (body[i] == _MINUS or body[i] == _PLUS):
        negative = body[i] == _MINUS
        i += 1
    mantissa = np.uint64(0)
    digits = 0
    scale = 0
    while i < n and np.uint8(body[i] - _ZERO) < 10:
        mantissa = mantissa * np.uint64(10) + np.uint64(body[i] - _ZERO)
        digits += 1
        i += 1
    if i < n and body[i] == _DOT:
        i += 1
        while i < n and np.uint8(body[i] - _ZERO) < 10:
            mantissa = mantissa * np.uint64(10) + np.uint64(body[i] - _ZERO)
            digits += 1
            scale -= 1
            i += 1
    exact = 0 < digits < 20
    if exact and i < n and (body[i] | 0x20) == 0x65:  # e or E
        i += 1
        down = False
        if i < n and (body[i] == _MINUS or body[i] == _PLUS):
            down = body[i] == _MINUS
            i += 1
        exponent = 0
        start = i
        while i < n and np.uint8(body[i] - _ZERO) < 10 and exponent < 10000:
            exponent = exponent * 10 + (body[i] - _ZERO)
            i += 1
        exact = i > start
        scale += -exponent if down else exponent
    if i < n and not _is_end(body[i]):
        exact = False
        while i < n and not _is_end(body[i]):
            i += 1
    value, is_nearest = scaled(mantissa, scale)
    return (-value if negative else value), i, exact and is_nearest


@inlined
def _same(one: Bytes, other: Bytes) -> bool:
    """Without an early exit and on slices whose index cannot be negative, so that the compiler vectorises it."""
    different = np.uint8(0)
    for i in range(one.size):
        different |= one[i] ^ other[i]
    return bool(different == 0)


@inlined
def _skip_blanks(body: Bytes, at: int, end: int) -> int:
    while at < end and (body[at] == _SPACE or body[at] == _TAB):
        at += 1
    return at


@compiled
def _word(body: Bytes, at: int, end: int) -> tuple[int, int]:
    """Start and end of the next run of bytes that are not blank."""
    start = at = _skip_blanks(body, at, end)
    while at < end and body[at] != _SPACE and body[at] != _TAB:
        at += 1
    return start, at


@compiled
def _is_integer(body: Bytes, start: int, end: int) -> bool:
    if start < end and (body[start] == _MINUS or body[start] == _PLUS):
        start += 1
    for i in range(start, end):
        if np.uint8(body[i] - _ZERO) >= 10:
            return False
    return start < end


@compiled
def match(body: Bytes, static: Bytes, ends: Ints, exemplars: bool, whole: Bytes, tokens: Floats, inexact: Ints) -> int:
    """Reads all tokens of a body that looks like its template; MISMATCH when it does not.

    tokens: float64[n], receives the values. inexact: int64[n, 3], with exemplars int64[2n, 3], receives token, start
    and end of those that are not exact here (NaN, infinities, 17 digits), and -1, start and end of exemplars.
    Returns how many rows of ``inexact`` there are.
    """
    at, begin, n_inexact = 0, 0, 0
    n = body.size
    last = ends.size - 1
    for token in range(ends.size):
        end = ends[token]
        length = end - begin
        if at + length > n:
            return MISMATCH
        if not _same(static[begin:end], body[at : at + length]):
            return MISMATCH
        at += length
        begin = end
        if token < last:
            start = at
            tokens[token], at, exact = _number(body, at)
            if at == start or at - start > TOKEN_BYTES_MAX or (whole[token] and not _is_integer(body, start, at)):
                return MISMATCH
            if not exact:
                inexact[n_inexact, 0], inexact[n_inexact, 1], inexact[n_inexact, 2] = token, start, at
                n_inexact += 1
            hash_at = _skip_blanks(body, at, n) if exemplars else n
            if at < hash_at < n and body[hash_at] == _HASH:
                start = at
                while at < n and body[at] != _FEED:
                    at += 1
                if at - start > EXEMPLAR_BYTES_MAX:
                    return MISMATCH
                inexact[n_inexact, 0], inexact[n_inexact, 1], inexact[n_inexact, 2] = -1, hash_at, at
                n_inexact += 1
    return n_inexact if at == n else MISMATCH


@compiled
def _hash(body: Bytes, start: int, end: int) -> np.uint64:
    value = _FNV_START
    for i in range(start, end):
        value = (value ^ np.uint64(body[i])) * _FNV_PRIME
    return value


@compiled
def _name_end(body: Bytes, start: int, end: int) -> int:
    """The first blank outside braces and quotes: where a series' name and labels end."""
    braces, quotes = False, False
    i = start
    while i < end:
        byte = body[i]
        if quotes:
            if byte == _BACKSLASH:
                i += 1
            elif byte == _QUOTE:
                quotes = False
        elif byte == _QUOTE:
            quotes = True
        elif byte == _OPEN:
            braces = True
        elif byte == _CLOSE:
            braces = False
        elif not braces and byte in (_SPACE, _TAB):
            return i
        i += 1
    return end


@compiled
def _find(body: Bytes, start: int, end: int, names: Bytes, name_ends: Ints, slots: Ints) -> int:
    """The series whose name and labels are these bytes; -1 when it is not known."""
    mask = slots.size - 1
    slot = np.int64(_hash(body, start, end) & np.uint64(mask))
    while slots[slot] >= 0:
        series = slots[slot]
        begin = name_ends[series - 1] if series > 0 else 0
        if name_ends[series] - begin == end - start and _same(names[begin : name_ends[series]], body[start:end]):
            return int(series)
        slot = (slot + 1) & mask
    return -1


@compiled
def fill_slots(names: Bytes, name_ends: Ints, slots: Ints) -> None:
    """Builds the hash table of all names: open addressing, size a power of two, empty is -1."""
    mask = slots.size - 1
    begin = 0
    for series in range(name_ends.size):
        slot = np.int64(_hash(names, begin, name_ends[series]) & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = series
        begin = name_ends[series]


@compiled
def scan(body: Bytes, names: Bytes, name_ends: Ints, slots: Ints, rows: Ints) -> int:
    """Finds the sample lines and the known series among them, whatever their order.

    rows: int64[capacity, 7], receives the columns of ``Spans``. Returns the count of lines, or TOO_MANY.
    """
    n = body.size
    count, at = 0, 0
    while at < n:
        end = at
        while end < n and body[end] != _FEED:
            end += 1
        first = at
        while first < end and (body[first] == _SPACE or body[first] == _TAB):
            first += 1
        if first < end and body[first] != _HASH:
            if count == rows.shape[0]:
                return TOO_MANY
            row = rows[count]
            row[0], row[1], row[2], row[5], row[6] = -1, at, end, -1, -1
            name_end = _name_end(body, at, end)
            row[3], row[4] = _word(body, name_end, end)
            _, _, exact = _number(body, row[3])
            exact = exact and end - at <= LINE_BYTES_MAX
            time, time_end = _word(body, row[4], end)
            if time < time_end:
                row[5], row[6] = time, time_end
                exact = exact and _is_integer(body, time, time_end) and _word(body, time_end, end)[0] == end
            if exact:
                row[0] = _find(body, at, name_end, names, name_ends, slots)
            count += 1
        at = end + 1
    return count


@compiled
def finish(
    tokens: Floats, entries: Ints, scale: Floats, bounds: Floats, sentinels: Floats, values: Floats, rows: Rows
) -> tuple[int, int, int]:
    """Canonical values from a body's tokens.

    entries, scale, bounds: as in ``Layout``. Entry e: token[e] x scale[e] (or one bit of it, where bit[e] >= 0) is part
    of row[e]; entries of one row add up. sentinels: float64[n, 2], closed ranges without a value. values, rows: receive
    the samples.
    Returns the counts of samples, of rows without a value, and of rows out of bounds.
    """
    token, row, bit = entries[0], entries[1], entries[2]
    low, high, saturated = bounds[0], bounds[1], bounds[2]
    kept, no_value, outside = 0, 0, 0
    e = 0
    n = token.size
    while e < n:
        r = row[e]
        total = -0.0  # the neutral element of addition, also for the sign of a zero
        present = True
        while e < n and row[e] == r:
            raw = tokens[token[e]]
            if bit[e] == CONSTANT:
                raw = 1.0
            if raw != raw:
                present = False
            for s in range(sentinels.shape[0]):
                if sentinels[s, 0] <= raw <= sentinels[s, 1]:
                    present = False
            if bit[e] >= 0 or bit[e] <= CLEAR:
                inside = present and 0.0 <= raw < 9.0e18
                is_set = float((np.int64(raw) >> max(bit[e], CLEAR - bit[e])) & 1) if inside else np.nan
                total += is_set if bit[e] >= 0 else 1.0 - is_set
            else:
                total += raw * scale[e]
            e += 1
        if not present or total != total:
            no_value += 1
        elif total < low[r] or total > high[r] or total == saturated[r]:
            outside += 1
        else:
            values[kept] = total
            rows[kept] = r
            kept += 1
    return kept, no_value, outside
