"""Events of gnmic with known tags and paths to columns, compiled. ``gnmic_event`` reads all others.

As in ``scan_metrics``, a message is read here only when each of its bytes is known to be right.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.numbers import natural
from common.wire.span_table import find, follow
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
TAGS, VALUES = b',"tags":', b',"values":{'  # with an object between them, a head
_TAGS, _VALUES = np.frombuffer(TAGS + b"{", np.uint8), np.frombuffer(VALUES, np.uint8)


@compiled_uncounted
def _begin(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """The time of an event, and the offset after it; PLAIN for none."""
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
    return time_ns, (PLAIN if time_ns == 0 else at)


@compiled_uncounted
def _head(buf: NDArray[np.uint8], at: int, end: int, heads: HashIndex) -> tuple[int, int]:
    """Tags, and the offset after them; PLAIN when they are not known."""
    stop = after(buf, at, end, _TAGS)
    if stop >= 0:
        stop = object_end(buf, stop, end)
    if stop >= 0:
        stop = after(buf, stop, end, _VALUES)
    return (find(buf, at, stop - at, 0, heads) if stop >= 0 else PLAIN), stop


@compiled_uncounted
def _name(buf: NDArray[np.uint8], at: int, end: int, head: int, names: HashIndex) -> tuple[int, int]:
    """A path below a head, and the offset after it; PLAIN when it is not known."""
    if at >= end or buf[at] != QUOTE:
        return PLAIN, PLAIN
    stop = text_end(buf, at + 1, end)
    if stop < 0 or stop + 1 >= end or buf[stop + 1] != COLON:
        return PLAIN, PLAIN
    return find(buf, at, stop + 2 - at, head, names), stop + 2


@compiled_uncounted
def _values(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    head: int,
    guess: int,
    names: HashIndex,
    names_after: NDArray[np.int64],
    time_ns: int,
    updates: Updates,
    n: int,
) -> tuple[int, int]:
    """Reads paths and values behind ``"values":{``: the offset after them (PLAIN, FULL), and rows so far.

    guess: which path may be the first one.
    """
    arena, spans, (paths, times_ns, kinds, numbers, texts) = names.arena, names.spans, updates
    last, last_size = at, -1
    while True:
        if n == paths.size:
            return FULL, n
        key = at
        if guess >= 0 and spans[guess, 2] == head and stands(buf, at, end, arena, spans[guess, 0], spans[guess, 1]):
            path = guess
            at += spans[guess, 1]
        else:
            path, at = _name(buf, at, end, head, names)
        if path < 0 or not follows(buf, key, at - key, last, last_size):
            return PLAIN, n
        last, last_size, guess = key, at - key, names_after[path]
        paths[n], times_ns[n] = path, time_ns
        whole, stop = natural(buf, at, end)
        if 0 <= stop < end and (buf[stop] == CLOSE or buf[stop] == COMMA):  # as most are: see ``scan_notifications``
            kinds[n], numbers[n], at = NUMBER, float(whole), stop
        else:
            at = read_value(buf, at, end, n, kinds, numbers, texts)
        n += 1
        if at < 0 or at >= end:
            return PLAIN, n
        if buf[at] == CLOSE:
            return at + 1, n
        if buf[at] != COMMA:
            return PLAIN, n
        at += 1


@compiled_uncounted
def _message(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    heads: HashIndex,
    names: HashIndex,
    source_of: NDArray[np.int64],
    names_after: NDArray[np.int64],
    last: int,
    updates: Updates,
    n: int,
    parts: NDArray[np.int64],
    first: int,
) -> tuple[int, int, int, int]:
    """Reads a list of events, or one event: the offset after it (PLAIN, FULL), rows and parts so far, the last path.

    last: that of the message before.
    """
    arena, spans, paths = heads.arena, heads.spans, updates.paths
    is_list = at < end and buf[at] == _OPEN_LIST
    at += is_list
    used, time_ns, size, before = first, 0, 0, at  # what the event before begins with, which is most often the same
    while True:
        begin = at
        if size and stands(buf, at, end, buf, before, size):
            at += size
        else:
            time_ns, at = _begin(buf, at, end)
            if at < 0:
                return PLAIN, n, used, last
            before, size = begin, at - begin
        guess = names_after[last] if last >= 0 else UNKNOWN
        head = names.spans[guess, 2] if guess >= 0 else UNKNOWN
        if head >= 0 and stands(buf, at, end, arena, spans[head, 0], spans[head, 1]):
            at += spans[head, 1]
        else:
            head, at = _head(buf, at, end, heads)
            if head < 0:
                return PLAIN, n, used, last
        row = n
        at, n = _values(buf, at, end, head, guess, names, names_after, time_ns, updates, n)
        if at < 0:
            return at, n, used, last
        if at >= end or buf[at] != CLOSE:
            return PLAIN, n, used, last
        at += 1
        used = add_part(parts, first, used, source_of[head], row, n, at - begin)
        if used < 0:
            return FULL, n, used, last
        for each in range(row, n):
            last = follow(last, paths[each], names_after)
        if not is_list:
            return at, n, used, last
        if at >= end or buf[at] != COMMA:
            break
        at += 1
    at = at + 1 if at < end and buf[at] == _CLOSE_LIST else PLAIN
    return at, n, used, last


@compiled_uncounted
def scan_events(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    message: int,
    head_arrays: HashArrays,
    name_arrays: HashArrays,
    source_of: NDArray[np.int64],
    names_after: NDArray[np.int64],
    update_arrays: UpdateArrays,
    parts: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Reads messages from ``message`` on, each of which ends at its ``ends``: lists of events, or one event.

    Returns rows and parts written, the next message, and why it stopped there.
    """
    heads, names, updates = HashIndex(*head_arrays), HashIndex(*name_arrays), Updates(*update_arrays)
    n, used, last = 0, 0, UNKNOWN
    while message < ends.size:
        at, end = ends[message - 1] if message else 0, ends[message]
        at, rows, more, last = _message(
            buf, at, end, heads, names, source_of, names_after, last, updates, n, parts, used
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
    _, heads, names = known.tables
    updates = (*Updates.allocate(1),)
    scan_events(buf, ends, 0, heads, names, known.source_of, known.names_after, updates, allocate_parts(1))
