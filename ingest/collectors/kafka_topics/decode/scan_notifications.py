"""gnmic's JSON of known devices and paths to the messages of these devices, compiled. ``gnmic_json`` reads all others.

As in ``scan_metrics``, a message is read here only when each of its bytes is known to be right.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.numbers import natural
from common.wire.span_table import find, follow
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
from ingest.collectors.kafka_topics.decode.text_pieces import COMMA, after, is_plain, text_end
from telemetry.gnmi import gnmi_pb2

_SOURCE, _SYSTEM = np.frombuffer(b'{"source":"', np.uint8), np.frombuffer(b',"system-name":"', np.uint8)
_SUBSCRIPTION = np.frombuffer(b',"subscription-name":"', np.uint8)
_TIMESTAMP, _TIME = np.frombuffer(b',"timestamp":', np.uint8), np.frombuffer(b',"time":"', np.uint8)
_PREFIX, _TARGET = np.frombuffer(b',"prefix":"', np.uint8), np.frombuffer(b',"target":"', np.uint8)
_UPDATES, _END = np.frombuffer(b',"updates":[', np.uint8), np.frombuffer(b"]}", np.uint8)
_PATH, _VALUES = np.frombuffer(b'{"Path":"', np.uint8), np.frombuffer(b'","values":{"', np.uint8)
_COLON, _UPDATE_END = np.frombuffer(b'":', np.uint8), np.frombuffer(b"}}", np.uint8)


@compiled
def _without(buf: NDArray[np.uint8], at: int, end: int, key: NDArray[np.uint8]) -> int:
    """The offset after a text that is of no use, or ``at`` where there is none of this name."""
    begin = after(buf, at, end, key)
    if begin < 0:
        return at
    stop = text_end(buf, begin, end)
    return stop + 1 if stop >= 0 and is_plain(buf, begin, stop) else PLAIN


@compiled
def _begin(buf: NDArray[np.uint8], at: int, end: int, sources: HashIndex) -> tuple[int, int, int]:
    """Device and time of a notification, and where its prefix may stand; PLAIN for none."""
    begin = after(buf, at, end, _SOURCE)
    if begin < 0:
        return 0, 0, PLAIN
    at = text_end(buf, begin, end)
    if at < 0:
        return 0, 0, PLAIN
    source = find(buf, begin, at - begin, 0, sources)
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


@compiled
def _update(
    buf: NDArray[np.uint8], at: int, end: int, head: int, guess: int, names: HashIndex, row: int, values: Values
) -> int:
    """Reads path and value of an update; returns the offset after it. guess: which path it may be."""
    begin = after(buf, at, end, _PATH)
    if begin < 0:
        return PLAIN
    values.paths[row], at = name(buf, begin, end, head, guess, names)
    if at < 0:
        return PLAIN
    begin = after(buf, at, end, _VALUES)
    if values.paths[row] < 0 or begin < 0:
        return PLAIN
    at = text_end(buf, begin, end)
    if at < 0 or not is_plain(buf, begin, at):
        return PLAIN
    at = after(buf, at, end, _COLON)
    if at < 0:
        return PLAIN
    at = read_value(buf, at, end, row, values)
    return after(buf, at, end, _UPDATE_END) if at >= 0 else PLAIN


@compiled
def _notification(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    sources: HashIndex,
    heads: HashIndex,
    names: HashIndex,
    names_after: NDArray[np.int64],
    last: int,
    paths: Paths,
    values: Values,
    written: Written,
    parts: int,
    used: int,
) -> tuple[int, int, int]:
    """The offset after a notification (PLAIN, FULL), how many bytes are used, and its last path, as ``last`` is."""
    source, time_ns, at = _begin(buf, at, end, sources)
    if at < 0:
        return PLAIN, used, last
    begin, size = after(buf, at, end, _PREFIX), 0
    if begin >= 0:
        at = text_end(buf, begin, end)
        if at < 0:
            return PLAIN, used, last
        size = at - begin
        at += 1
    head = find(buf, max(begin, 0), size, 0, heads)
    at = _without(buf, at, end, _TARGET)
    if head < 0 or at < 0:
        return PLAIN, used, last
    at = after(buf, at, end, _UPDATES)
    n, guess = 0, names_after[last] if last >= 0 else UNKNOWN
    while at >= 0:
        if n == values.paths.size:
            return FULL, used, last
        at = _update(buf, at, end, head, guess, names, n, values)
        guess = names_after[values.paths[n]] if at >= 0 else UNKNOWN
        n += 1
        if at < 0 or at >= end or buf[at] != COMMA:
            break
        at += 1
    if at < 0:
        return PLAIN, used, last
    at = after(buf, at, end, _END)
    if at < 0:
        return PLAIN, used, last
    used = write(buf, time_ns, source, n, values, paths, written, parts, used)
    if used < 0:
        return FULL, used, last
    for row in range(n):
        last = follow(last, values.paths[row], names_after)
    return at, used, last


@compiled
def scan_notifications(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    message: int,
    source_arrays: HashArrays,
    head_arrays: HashArrays,
    name_arrays: HashArrays,
    names_after: NDArray[np.int64],
    path_arrays: PathArrays,
    value_arrays: ValueArrays,
    written_arrays: WrittenArrays,
) -> tuple[int, int, int, int]:
    """Reads messages from ``message`` on, each of which ends at its ``ends``: one notification each.

    Returns notifications and bytes written, the next message, and why it stopped there.
    """
    sources, heads, names = HashIndex(*source_arrays), HashIndex(*head_arrays), HashIndex(*name_arrays)
    paths, values, written = Paths(*path_arrays), Values(*value_arrays), Written(*written_arrays)
    parts, used, last = 0, 0, UNKNOWN
    while message < ends.size:
        at, end = ends[message - 1] if message else 0, ends[message]
        at, filled, last = _notification(
            buf, at, end, sources, heads, names, names_after, last, paths, values, written, parts, used
        )
        if at != end:
            return parts, used, message, min(at, PLAIN)
        parts, used = parts + 1, filled
        message += 1
    return parts, used, message, DONE


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    known, buf, ends = KnownPaths(), np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)
    known.add(b"a", b"b", gnmi_pb2.Path())
    scan_notifications(
        buf, ends, 0, *known.tables, known.names_after, known.paths, (*Values.allocate(1),), (*Written.allocate(1, 1),)
    )
