"""gnmic's JSON of known devices and paths to columns, compiled. ``gnmic_json`` reads all others.

As in ``scan_metrics``, a message is read here only when each of its bytes is known to be right.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.numbers import natural
from common.wire.span_table import end_of, find, follow
from common.wire.spans import stands
from ingest.collectors.kafka_topics.decode import known_paths
from ingest.collectors.kafka_topics.decode.known_paths import (
    NUMBER,
    KnownPaths,
    UpdateArrays,
    Updates,
    add_part,
    allocate_parts,
    read_value,
)
from ingest.collectors.kafka_topics.decode.stops import DONE, FULL, PLAIN
from ingest.collectors.kafka_topics.decode.text_pieces import CLOSE, COMMA, QUOTE, after, plain_end, text_end
from telemetry.gnmi import gnmi_pb2

_SOURCE, _SYSTEM = np.frombuffer(b'{"source":"', np.uint8), np.frombuffer(b',"system-name":"', np.uint8)
_SUBSCRIPTION = np.frombuffer(b',"subscription-name":"', np.uint8)
_TIMESTAMP, _TIME = np.frombuffer(b',"timestamp":', np.uint8), np.frombuffer(b',"time":"', np.uint8)
_PREFIX, _TARGET = np.frombuffer(b',"prefix":"', np.uint8), np.frombuffer(b',"target":"', np.uint8)
_UPDATES, _END = np.frombuffer(b',"updates":[', np.uint8), np.frombuffer(b"]}", np.uint8)
PATH, VALUES, COLON = b'{"Path":"', b'","values":{"', b'":'  # what stands around texts before the value of a path
_PATH, _VALUES, _COLON = (np.frombuffer(each, np.uint8) for each in (PATH, VALUES, COLON))


@compiled_uncounted
def _without(buf: NDArray[np.uint8], at: int, end: int, key: NDArray[np.uint8]) -> int:
    """The offset after a text that is of no use, or ``at`` where there is none of this name."""
    begin = after(buf, at, end, key)
    if begin < 0:
        return at
    stop = plain_end(buf, begin, end)
    return stop + 1 if stop >= 0 else PLAIN


@compiled_uncounted
def _named(buf: NDArray[np.uint8], at: int, end: int, parent: int, guess: int, index: HashIndex) -> tuple[int, int]:
    """The slot of a text below a parent, and the offset of the quote behind it. guess: which slot it may be."""
    if guess >= 0 and index.spans[guess, 2] == parent:
        stop = end_of(buf, at, end, guess, index)
        if 0 <= stop < end and buf[stop] == QUOTE:
            return guess, stop
    stop = text_end(buf, at, end)
    return (find(buf, at, stop - at, parent, index) if stop >= 0 else PLAIN), stop


@compiled_uncounted
def _begin(buf: NDArray[np.uint8], at: int, end: int, guess: int, sources: HashIndex) -> tuple[int, int, int]:
    """Device and time of a notification, and where its prefix may stand; PLAIN for none. guess: as in ``_named``."""
    begin = after(buf, at, end, _SOURCE)
    if begin < 0:
        return 0, 0, PLAIN
    source, at = _named(buf, begin, end, 0, guess, sources)
    if at < 0:
        return 0, 0, PLAIN
    at = _without(buf, at + 1, end, _SYSTEM)
    if source < 0 or at < 0:
        return 0, 0, PLAIN
    at = _without(buf, at, end, _SUBSCRIPTION)
    if at < 0:
        return 0, 0, PLAIN
    at = after(buf, at, end, _TIMESTAMP)
    if at < 0:
        return 0, 0, PLAIN
    time_ns, at = natural(buf, at, end)
    if at < 0 or time_ns == 0:
        return 0, 0, PLAIN
    return source, time_ns, _without(buf, at, end, _TIME)


@compiled_uncounted
def _name(buf: NDArray[np.uint8], at: int, end: int, head: int, names: HashIndex) -> tuple[int, int]:
    """A path below a head, and the offset of its value; PLAIN when it is not known."""
    stop = after(buf, at, end, _PATH)
    if stop >= 0:
        stop = text_end(buf, stop, end)
    if stop >= 0:
        stop = after(buf, stop, end, _VALUES)
    if stop >= 0:
        stop = text_end(buf, stop, end)
    if stop >= 0:
        stop = after(buf, stop, end, _COLON)
    return (find(buf, at, stop - at, head, names) if stop >= 0 else PLAIN), stop


@compiled_uncounted
def _updates(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    head: int,
    last: int,
    names: HashIndex,
    names_after: NDArray[np.int64],
    time_ns: int,
    updates: Updates,
    n: int,
) -> tuple[int, int]:
    """Reads paths and values behind ``"updates":[``: the offset after them (PLAIN, FULL), and rows so far.

    last: the path before, UNKNOWN for none. What came after a path the last time is tried first.
    """
    arena, spans, (paths, times_ns, kinds, numbers, texts) = names.arena, names.spans, updates
    while True:
        if n == paths.size:
            return FULL, n
        guess = names_after[last] if last >= 0 else UNKNOWN
        if guess >= 0 and spans[guess, 2] == head and stands(buf, at, end, arena, spans[guess, 0], spans[guess, 1]):
            path = guess
            at += spans[guess, 1]
        else:
            path, at = _name(buf, at, end, head, names)
            if path < 0:
                return PLAIN, n
            follow(last, path, names_after)
        paths[n], times_ns[n], last = path, time_ns, path
        whole, stop = natural(buf, at, end)
        if 0 <= stop < end and buf[stop] == CLOSE:  # as most are; to call ``read_value`` for it costs as much again
            kinds[n], numbers[n], at = NUMBER, float(whole), stop
        else:
            at = read_value(buf, at, end, n, kinds, numbers, texts)
        if at < 0 or at + 2 >= end or buf[at] != CLOSE or buf[at + 1] != CLOSE:
            return PLAIN, n
        n += 1
        at += 2
        if buf[at] != COMMA:
            return at, n
        at += 1


@compiled_uncounted
def _notification(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    sources: HashIndex,
    heads: HashIndex,
    names: HashIndex,
    names_after: NDArray[np.int64],
    last: int,
    updates: Updates,
    n: int,
    parts: NDArray[np.int64],
    used: int,
) -> tuple[int, int, int, int]:
    """The offset after a notification (PLAIN, FULL), rows and parts so far, and its last path, as ``last`` is."""
    first, row = at, n
    guess = names_after[last] if last >= 0 else UNKNOWN
    head = names.spans[guess, 2] if guess >= 0 else UNKNOWN
    source, time_ns, at = _begin(buf, at, end, heads.spans[head, 2] if head >= 0 else UNKNOWN, sources)
    if at < 0:
        return PLAIN, n, used, last
    begin = after(buf, at, end, _PREFIX)
    if begin >= 0:
        head, at = _named(buf, begin, end, source, head, heads)
        at += 1
    else:
        head = find(buf, 0, 0, source, heads)
    if at <= 0:
        return PLAIN, n, used, last
    at = _without(buf, at, end, _TARGET)
    if head < 0 or at < 0:
        return PLAIN, n, used, last
    at = after(buf, at, end, _UPDATES)
    if at < 0:
        return PLAIN, n, used, last
    at, n = _updates(buf, at, end, head, last, names, names_after, time_ns, updates, n)
    if at < 0:
        return at, n, used, last
    at = after(buf, at, end, _END)
    if at < 0:
        return PLAIN, n, used, last
    used = add_part(parts, used, used, source, row, n, at - first)
    if used < 0:
        return FULL, n, used, last
    return at, n, used, updates.paths[n - 1]


@compiled_uncounted
def scan_notifications(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    message: int,
    source_arrays: HashArrays,
    head_arrays: HashArrays,
    name_arrays: HashArrays,
    names_after: NDArray[np.int64],
    update_arrays: UpdateArrays,
    parts: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Reads messages from ``message`` on, each of which ends at its ``ends``: one notification each.

    Returns rows and parts written, the next message, and why it stopped there.
    """
    sources, heads, names = HashIndex(*source_arrays), HashIndex(*head_arrays), HashIndex(*name_arrays)
    updates = Updates(*update_arrays)
    n, used, last = 0, 0, UNKNOWN
    while message < ends.size:
        at, end = ends[message - 1] if message else 0, ends[message]
        at, rows, more, last = _notification(
            buf, at, end, sources, heads, names, names_after, last, updates, n, parts, used
        )
        if at != end:
            return n, used, message, min(at, PLAIN)
        n, used = rows, more
        message += 1
    return n, used, message, DONE


def warm_up() -> None:
    """Compiles the scan and what groups its updates, or loads both from the disk cache."""
    known_paths.warm_up()
    known, buf, ends = KnownPaths(), np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)
    known.add(b"a", 0, b"b", gnmi_pb2.Path(), 0)
    updates = (*Updates.allocate(1),)
    scan_notifications(buf, ends, 0, *known.tables, known.names_after, updates, allocate_parts(1))
