"""Telegraf's lines of known series to columns, compiled. ``influx_line`` reads all others, and says what a line is."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.numbers import natural, number
from common.wire.span_table import end_of, find, follow
from ingest.collectors.kafka_topics.decode.known_fields import ColumnArrays, Columns, KnownFields, look_up
from ingest.collectors.kafka_topics.decode.stops import DONE, FULL, PLAIN
from ingest.collectors.kafka_topics.decode.text_pieces import FALSE, TRUE, after

_FEED, _RETURN, _SPACE, _QUOTE, _HASH, _COMMA, _EQUALS, _BACKSLASH = 0x0A, 0x0D, 0x20, 0x22, 0x23, 0x2C, 0x3D, 0x5C
_SIGNED, _UNSIGNED = 0x69, 0x75  # i and u behind an integer
_ENDS_KEY = np.zeros(256, np.bool_)  # by byte
_ENDS_KEY[[_EQUALS, _COMMA, _SPACE, _FEED, _BACKSLASH, _QUOTE]] = True


@compiled_uncounted
def _head(
    buf: NDArray[np.uint8], at: int, end: int, last: int, heads_after: NDArray[np.int64], heads: HashIndex
) -> tuple[int, int]:
    """Measurement and tags, and where the space behind them is; PLAIN when they are not known.

    last: that of the line before, which often has further fields in lines of their own, or UNKNOWN.
    """
    if buf[at] == _HASH or buf[at] == _RETURN:  # a comment; what the plain reader takes away
        return PLAIN, PLAIN
    for guess in (last, heads_after[last] if last >= 0 else UNKNOWN):
        stop = end_of(buf, at, end, guess, heads)
        if 0 <= stop < end and buf[stop] == _SPACE:
            return guess, stop
    stop = _head_end(buf, at, end)
    return (find(buf, at, stop - at, 0, heads) if stop >= 0 else PLAIN), stop


@compiled_uncounted
def _head_end(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """Where the space behind measurement and tags is."""
    while at < end and buf[at] != _SPACE and buf[at] != _FEED:
        if buf[at] == _BACKSLASH:
            at += 1
            if at < end and buf[at] == _FEED:
                return PLAIN
        at += 1
    return at if at < end and buf[at] == _SPACE else PLAIN


@compiled_uncounted
def _key_end(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """Where the sign behind a field's name is."""
    begin = at
    while at < end and not _ENDS_KEY[buf[at]]:
        at += 1
    return at if begin < at < end and buf[at] == _EQUALS else PLAIN


@compiled_uncounted
def _text_end(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """The offset behind a text whose quote is before ``at``."""
    while at < end and buf[at] != _QUOTE:
        if buf[at] == _BACKSLASH or buf[at] == _FEED:
            return PLAIN
        at += 1
    return at + 1 if at < end else PLAIN


@compiled_uncounted
def _value(
    buf: NDArray[np.uint8], at: int, end: int, row: int, values: NDArray[np.float64], inexact: NDArray[np.int64]
) -> int:
    """Writes the value of a field; returns the offset after it."""
    whole, stop = natural(buf, at, end)
    if 0 <= stop < end and buf[stop] == _SIGNED:  # as most are
        values[row] = float(whole)
        return stop + 1
    for word, value in ((TRUE, 1.0), (FALSE, 0.0)):
        stop = after(buf, at, end, word)
        if stop >= 0:
            values[row] = value
            return stop
    begin = at
    value, at, is_whole, is_exact = number(buf, at, end)
    if at < 0:
        return PLAIN
    values[row] = value
    if not is_exact:
        inexact[row, 0], inexact[row, 1] = begin, at
    if at < end and (buf[at] == _SIGNED or buf[at] == _UNSIGNED):
        return at + 1 if is_whole else PLAIN
    return at


@compiled_uncounted
def _line(
    buf: NDArray[np.uint8], head: int, stop: int, end: int, fields: HashIndex, columns: Columns, n: int
) -> tuple[int, int, int]:
    """Reads what is behind the head, which ends at ``stop``.

    Returns the offset after it (PLAIN, FULL), rows so far, and fields that are texts.
    """
    (slots, _, values, keys, inexact), first, texts, at = columns, n, 0, stop
    while at < end and (at == stop or buf[at] == _COMMA):
        key = at + 1
        at = _key_end(buf, key, end)
        if at < 0 or at + 1 >= end:
            return PLAIN, first, 0
        if buf[at + 1] == _QUOTE:
            at = _text_end(buf, at + 2, end)
            texts += 1
        elif n == values.size:
            return FULL, first, 0
        else:
            slots[n], keys[n, 0], keys[n, 1], inexact[n, 0], inexact[n, 1] = UNKNOWN, key, at - key, 0, 0
            at = _value(buf, at + 1, end, n, values, inexact)
            n += 1
        if at < 0:
            return PLAIN, first, 0
    if at >= end or buf[at] != _SPACE:
        return PLAIN, first, 0
    time_ns, at = natural(buf, at + 1, end)
    if at < 0 or (at < end and buf[at] != _FEED):
        return PLAIN, first, 0
    if not look_up(buf, head, first, n, time_ns, fields, columns):
        return PLAIN, first, 0
    return at, n, texts


@compiled_uncounted
def scan_lines(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    message: int,
    at: int,
    head_arrays: HashArrays,
    field_arrays: HashArrays,
    heads_after: NDArray[np.int64],
    column_arrays: ColumnArrays,
) -> tuple[int, int, int, int, int]:
    """Reads lines from ``at`` on, which is in ``message``; each message ends at its ``ends``.

    Returns rows written, fields that are texts, the next message and the offset in ``buf``, and why it stopped there.
    """
    heads, fields, columns = HashIndex(*head_arrays), HashIndex(*field_arrays), Columns(*column_arrays)
    n, texts, last = 0, 0, UNKNOWN
    while message < ends.size:
        end = ends[message]
        while at < end:
            if buf[at] == _FEED:
                at += 1
                continue
            head, stop = _head(buf, at, end, last, heads_after, heads)
            if head < 0:
                return n, texts, message, at, PLAIN
            stop, n, more = _line(buf, head, stop, end, fields, columns, n)
            if stop < 0:
                return n, texts, message, at, stop
            if head != last:
                last = follow(last, head, heads_after)
            at = stop
            texts += more
        message += 1
    return n, texts, message, at, DONE


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    known, buf, ends = KnownFields(), np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)
    known.add(b"a", b"b")
    scan_lines(buf, ends, 0, 0, *known.arrays, known.heads_after, (*Columns.allocate(1),))
