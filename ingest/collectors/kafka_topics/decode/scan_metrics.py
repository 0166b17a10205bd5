"""Telegraf's JSON of known series to columns, compiled. ``telegraf_json`` reads all other messages.

A message is read here only when each of its bytes is known to be right: what it is made of stands as Go writes it,
heads and names of fields are those of earlier messages, and the rest are numbers, or texts in plain ASCII.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.numbers import natural, number
from common.wire.span_table import end_of, find, follow
from ingest.collectors.kafka_topics.decode.known_fields import ColumnArrays, Columns, KnownFields, look_up
from ingest.collectors.kafka_topics.decode.stops import DONE, FULL, PLAIN
from ingest.collectors.kafka_topics.decode.text_pieces import (
    CLOSE,
    COLON,
    COMMA,
    FALSE,
    FEED,
    MINUS,
    QUOTE,
    TRUE,
    after,
    follows,
    has_zeros,
    is_plain,
    object_end,
    text_end,
)

_BATCH, _BATCH_END = np.frombuffer(b'{"metrics":[', np.uint8), np.frombuffer(b"]}", np.uint8)
_FIELDS, _NAME = np.frombuffer(b'{"fields":{', np.uint8), np.frombuffer(b',"name":"', np.uint8)
_TAGS, _TIME = np.frombuffer(b',"tags":{', np.uint8), np.frombuffer(b',"timestamp":', np.uint8)


@compiled_uncounted
def _value(buf: NDArray[np.uint8], at: int, end: int, row: int, columns: Columns) -> int:
    """Writes the value of a field; returns the offset after it."""
    columns.inexact[row, 0], columns.inexact[row, 1] = 0, 0
    for word, value in ((TRUE, 1.0), (FALSE, 0.0)):
        stop = after(buf, at, end, word)
        if stop >= 0:
            columns.values[row] = value
            return stop
    if has_zeros(buf, at, end):
        return PLAIN
    begin = at
    value, at, is_whole, is_exact = number(buf, at, end)
    if at < 0 or (is_whole and value == 0.0 and buf[begin] == MINUS):  # there is no negative integer zero
        return PLAIN
    columns.values[row] = value
    if not is_exact:
        columns.inexact[row, 0], columns.inexact[row, 1] = begin, at
    return at


@compiled_uncounted
def _fields(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    guess: int,
    fields: HashIndex,
    fields_after: NDArray[np.int64],
    columns: Columns,
    n: int,
) -> tuple[int, int, int]:
    """Names and values behind ``"fields":{``: the offset after them, rows so far, and fields that are texts.

    guess: which field may be the first one.
    """
    texts, last, last_size = 0, at, -1
    while True:
        key = at + 1
        if at >= end or buf[at] != QUOTE:
            return PLAIN, n, 0
        at = end_of(buf, key, end, guess, fields)
        slot = guess if 0 <= at < end and buf[at] == QUOTE else UNKNOWN
        if slot < 0:
            at = text_end(buf, key, end)
        if at < 0 or at + 2 >= end or buf[at + 1] != COLON:
            return PLAIN, n, 0
        size = at - key
        if not follows(buf, key, size, last, last_size):
            return PLAIN, n, 0
        last, last_size = key, size
        at += 2
        if buf[at] == QUOTE:
            stop = text_end(buf, at + 1, end)
            if stop < 0 or not is_plain(buf, key, key + size) or not is_plain(buf, at + 1, stop):
                return PLAIN, n, 0
            at = stop + 1
            texts += 1
        elif n == columns.values.size:
            return FULL, n, 0
        else:
            columns.slots[n], columns.keys[n, 0], columns.keys[n, 1] = slot, key, size
            guess = fields_after[slot] if slot >= 0 else UNKNOWN
            at = _value(buf, at, end, n, columns)
            n += 1
        if at < 0 or at >= end:
            return PLAIN, n, 0
        if buf[at] == CLOSE:
            return at + 1, n, texts
        if buf[at] != COMMA:
            return PLAIN, n, 0
        at += 1


@compiled_uncounted
def _head_end(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """The offset after name and tags, whose bytes have to be known, so that only their end is looked for."""
    at = after(buf, at, end, _NAME)
    if at < 0:
        return PLAIN
    at = text_end(buf, at, end)
    if at < 0:
        return PLAIN
    at = after(buf, at + 1, end, _TAGS)
    return object_end(buf, at, end) if at >= 0 else PLAIN


@compiled_uncounted
def _head(
    buf: NDArray[np.uint8], at: int, end: int, field: int, heads: HashIndex, fields: HashIndex
) -> tuple[int, int]:
    """Name and tags behind the fields, and the offset after them; PLAIN when they are not known.

    field: a slot that may be one of theirs.
    """
    guess = fields.spans[field, 2] if field >= 0 else UNKNOWN
    stop = end_of(buf, at + 1, end, guess, heads)
    if stop >= 0 and buf[at] == COMMA:
        return guess, stop
    stop = _head_end(buf, at, end)
    return (find(buf, at + 1, stop - at - 1, 0, heads) if stop >= 0 else PLAIN), stop


@compiled_uncounted
def _scale(time: int) -> int:
    """From a time in seconds, milliseconds or microseconds, known by its size, to nanoseconds."""
    if time < 100_000_000_000:
        return 1_000_000_000
    if time < 100_000_000_000_000:
        return 1_000_000
    return 1_000 if time < 100_000_000_000_000_000 else 1


@compiled_uncounted
def _metric(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    heads: HashIndex,
    fields: HashIndex,
    fields_after: NDArray[np.int64],
    columns: Columns,
    first: int,
) -> tuple[int, int, int]:
    """The offset behind a metric (PLAIN, FULL), rows so far, and fields that are texts."""
    last = columns.slots[first - 1] if first else UNKNOWN
    at = after(buf, at, end, _FIELDS)
    if at < 0:
        return PLAIN, first, 0
    guess = fields_after[last] if last >= 0 else UNKNOWN
    at, n, texts = _fields(buf, at, end, guess, fields, fields_after, columns, first)
    if at < 0:
        return at, first, 0
    head, at = _head(buf, at, end, columns.slots[first] if n > first else UNKNOWN, heads, fields)
    if head < 0:
        return PLAIN, first, 0
    at = after(buf, at, end, _TIME)
    if at < 0:
        return PLAIN, first, 0
    time, at = natural(buf, at, end)
    if at < 0 or at >= end or buf[at] != CLOSE:
        return PLAIN, first, 0
    scale = _scale(time)
    if time > 9_223_372_036_854_775_807 // scale:
        return PLAIN, first, 0
    if not look_up(buf, head, first, n, time * scale, fields, columns):
        return PLAIN, first, 0
    for row in range(first, n):
        last = follow(last, columns.slots[row], fields_after)
    return at + 1, n, texts


@compiled_uncounted
def _message(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    heads: HashIndex,
    fields: HashIndex,
    fields_after: NDArray[np.int64],
    columns: Columns,
    first: int,
) -> tuple[int, int, int]:
    """A metric, or a batch of them: the end (PLAIN, FULL), rows so far, and fields that are texts."""
    of_batch = after(buf, at, end, _BATCH)
    at, n, texts = _metric(buf, at if of_batch < 0 else of_batch, end, heads, fields, fields_after, columns, first)
    while of_batch >= 0 and 0 <= at < end and buf[at] == COMMA:
        at, n, more = _metric(buf, at + 1, end, heads, fields, fields_after, columns, n)
        texts += more
    if of_batch >= 0 and at >= 0:
        at = after(buf, at, end, _BATCH_END)
    if at < 0:
        return at, first, 0
    if at < end and buf[at] == FEED:
        at += 1
    if at != end:
        return PLAIN, first, 0
    return at, n, texts


@compiled_uncounted
def scan_metrics(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    message: int,
    head_arrays: HashArrays,
    field_arrays: HashArrays,
    fields_after: NDArray[np.int64],
    column_arrays: ColumnArrays,
) -> tuple[int, int, int, int]:
    """Reads messages from ``message`` on, each of which ends at its ``ends``.

    Returns rows written, fields that are texts, the next message, and why it stopped there.
    """
    heads, fields, columns = HashIndex(*head_arrays), HashIndex(*field_arrays), Columns(*column_arrays)
    n, texts = 0, 0
    while message < ends.size:
        at = ends[message - 1] if message else 0
        stop, n, more = _message(buf, at, ends[message], heads, fields, fields_after, columns, n)
        if stop < 0:
            return n, texts, message, stop
        texts += more
        message += 1
    return n, texts, message, DONE


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    known, buf, ends = KnownFields(), np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)
    known.add(b"a", b"b")
    scan_metrics(buf, ends, 0, *known.arrays, known.fields_after, (*Columns.allocate(1),))
