"""Events of gnmic with known tags and paths to messages of their devices, compiled. ``gnmic_event`` reads all others.

As in ``scan_metrics``, a message is read here only when each of its bytes is known to be right.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.numbers import natural
from common.wire.span_table import end_of, find, follow
from ingest.collectors.kafka_topics.decode.joined import DONE, FULL, PLAIN
from ingest.collectors.kafka_topics.decode.known_paths import (
    KnownPaths,
    PathArrays,
    Paths,
    ValueArrays,
    Values,
    Written,
    WrittenArrays,
    name,
    read_value,
    write,
)
from ingest.collectors.kafka_topics.decode.text_pieces import (
    CLOSE,
    COLON,
    COMMA,
    QUOTE,
    after,
    follows,
    is_plain,
    object_end,
    text_end,
)
from telemetry.gnmi import gnmi_pb2

_OPEN_LIST, _CLOSE_LIST = 0x5B, 0x5D
_NAME, _TIME = np.frombuffer(b'{"name":"', np.uint8), np.frombuffer(b'","timestamp":', np.uint8)
_TAGS, _VALUES = np.frombuffer(b',"tags":{', np.uint8), np.frombuffer(b',"values":{', np.uint8)


@compiled
def _begin(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """The time of an event, and where its tags begin; PLAIN for none."""
    begin = after(buf, at, end, _NAME)
    if begin < 0:
        return 0, PLAIN
    at = text_end(buf, begin, end)
    if at < 0 or not is_plain(buf, begin, at):
        return 0, PLAIN
    at = after(buf, at, end, _TIME)
    if at < 0:
        return 0, PLAIN
    time_ns, at = natural(buf, at, end)
    if at < 0 or time_ns == 0:
        return 0, PLAIN
    return time_ns, after(buf, at, end, _TAGS)


@compiled
def _head(buf: NDArray[np.uint8], at: int, end: int, below: int, heads: HashIndex, names: HashIndex) -> tuple[int, int]:
    """Tags, and the offset after them; PLAIN when they are not known. below: a path that may be below them."""
    guess = names.spans[below, 2] if below >= 0 else UNKNOWN
    stop = end_of(buf, at, end, guess, heads)
    if stop >= 0:
        return guess, stop
    stop = object_end(buf, at + 1, end)
    return (find(buf, at, stop - at, 0, heads) if stop >= 0 else PLAIN), stop


@compiled
def _values(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    head: int,
    guess: int,
    names: HashIndex,
    names_after: NDArray[np.int64],
    values: Values,
) -> tuple[int, int]:
    """Reads paths and values behind ``"values":{``: the offset after them (PLAIN, FULL), and how many.

    guess: which path may be the first one.
    """
    n, last, last_size = 0, at, -1
    while True:
        key = at + 1
        if at >= end or buf[at] != QUOTE:
            return PLAIN, 0
        if n == values.paths.size:
            return FULL, 0
        slot, at = name(buf, key, end, head, guess, names)
        if slot < 0 or at + 1 >= end or buf[at + 1] != COLON:
            return PLAIN, 0
        size = at - key
        if not follows(buf, key, size, last, last_size):
            return PLAIN, 0
        values.paths[n], guess = slot, names_after[slot]
        last, last_size = key, size
        at = read_value(buf, at + 2, end, n, values)
        n += 1
        if at < 0 or at >= end:
            return PLAIN, 0
        if buf[at] == CLOSE:
            return at + 1, n
        if buf[at] != COMMA:
            return PLAIN, 0
        at += 1


@compiled
def _event(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    heads: HashIndex,
    names: HashIndex,
    source_of: NDArray[np.int64],
    names_after: NDArray[np.int64],
    last: int,
    paths: Paths,
    values: Values,
    written: Written,
    parts: int,
    used: int,
) -> tuple[int, int, int]:
    """The offset after an event (PLAIN, FULL), how many bytes are used, and its last path. last: of the one before."""
    time_ns, at = _begin(buf, at, end)
    if at < 0:
        return PLAIN, used, last
    guess = names_after[last] if last >= 0 else UNKNOWN
    head, at = _head(buf, at - 1, end, guess, heads, names)
    if head < 0:
        return PLAIN, used, last
    at = after(buf, at, end, _VALUES)
    if at < 0:
        return PLAIN, used, last
    at, n = _values(buf, at, end, head, guess, names, names_after, values)
    if at < 0:
        return at, used, last
    if at >= end or buf[at] != CLOSE:
        return PLAIN, used, last
    used = write(buf, time_ns, source_of[head], n, values, paths, written, parts, used)
    if used < 0:
        return FULL, used, last
    for row in range(n):
        last = follow(last, values.paths[row], names_after)
    return at + 1, used, last


@compiled
def scan_events(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    message: int,
    head_arrays: HashArrays,
    name_arrays: HashArrays,
    source_of: NDArray[np.int64],
    names_after: NDArray[np.int64],
    path_arrays: PathArrays,
    value_arrays: ValueArrays,
    written_arrays: WrittenArrays,
) -> tuple[int, int, int, int]:
    """Reads messages from ``message`` on, each of which ends at its ``ends``: lists of events, or one event.

    Returns events and bytes written, the next message, and why it stopped there.
    """
    heads, names, paths = HashIndex(*head_arrays), HashIndex(*name_arrays), Paths(*path_arrays)
    values, written = Values(*value_arrays), Written(*written_arrays)
    parts, used, last = 0, 0, UNKNOWN
    while message < ends.size:
        at, end = ends[message - 1] if message else 0, ends[message]
        is_list = at < end and buf[at] == _OPEN_LIST
        more, filled = 0, used
        at += is_list
        while True:
            at, filled, last = _event(
                buf, at, end, heads, names, source_of, names_after, last, paths, values, written, parts + more, filled
            )
            more += 1
            if not is_list or at < 0 or at >= end or buf[at] != COMMA:
                break
            at += 1
        if is_list and at >= 0:
            at = at + 1 if at < end and buf[at] == _CLOSE_LIST else PLAIN
        if at != end:
            return parts, used, message, min(at, PLAIN)
        parts, used = parts + more, filled
        message += 1
    return parts, used, message, DONE


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    known, buf, ends = KnownPaths(), np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)
    known.add(b"a", b"b", gnmi_pb2.Path())
    _, heads, names = known.tables
    scan_events(
        buf,
        ends,
        0,
        heads,
        names,
        known.source_of,
        known.names_after,
        known.paths,
        (*Values.allocate(1),),
        (*Written.allocate(1, 1),),
    )
