"""Pushed numbers to canonical samples, compiled: one pass over the columns of a push.

State is in few wide arrays: each array that enters compiled code costs a push some hundred nanoseconds.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled, compiled_uncounted
from common.wire.protobuf import little_endian, signed

STALE = np.uint64(0x7FF0000000000002)  # Prometheus' mark for the end of a series: a NaN, not a sample
PLAIN, CONSTANT, CLEAR = -1, -2, -3  # in place of a bit
KNOWN, REFUSED, BAD, LEFT_OUT = 0, 1, 2, 3  # kinds of slots
UNMAPPED_AT, EVENT_TIME_AT, NO_VALUE_AT, BOUNDS_AT, DUPLICATE_AT, ORDER_AT, REFUSED_AT, BAD_AT = range(8)
REASONS = 8
PARTS_AT, DROPPED_AT, MIXED_AT, GAPS_AT, COUNTS = range(8, 13)  # behind the reasons
KIND, START, COUNT, SEEN_NS = range(4)
ROW, BIT, ADDS, FIRST, END = range(5)
SCALE, LOW, HIGH, SATURATED = range(4)
NUMBER, LOCAL = range(2)
OUT_ROW, OUT_NS, SUM_ROW, SUM_NS, SUM_SLOT, DROPPED_ROW, DROPPED_REASON, OUT = range(8)
OUT_VALUE, SUM_VALUE = range(2)
SLOT, TIME_PLACE, VALUE_PLACE, IS_WHOLE = range(4)

State = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int64],
]
"""What is known of all series.

slots: int64[4, slots], the slot's kind, its first entry, how many it has, and when it was pushed last.
whole: int64[5, entries], an entry is the part of a source's series in a canonical one: row, bit, whether parts add up,
first and last + 1 of its source's sentinels.
real: float64[4, entries], scale, minimum, maximum, value of a saturated counter.
sentinels: float64[n, 2], closed ranges without a value.
last_ns: int64[rows], newest sample of each row. places: int64[2, rows], number of its target, row in its table.
"""

Output = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint32], NDArray[np.int64]]
"""Receives the samples, the parts of sums, and what is dropped and has a row.

whole: int64[OUT, n], row and time of samples, row, time and slot of parts, row and reason of drops.
real: float64[2, n], values of samples and of parts. series: uint32[n], rows of samples in their target's table.
counts: int64[COUNTS], dropped by reason; how many parts, and drops that have a row; 1 when samples are of several
targets; 1 when ``series`` is not 0, 1, 2, …
"""


def allocate(n: int) -> Output:
    """For as many samples, parts or drops."""
    return np.empty((OUT, n), np.int64), np.empty((2, n)), np.empty(n, np.uint32), np.zeros(COUNTS, np.int64)


@compiled_uncounted
def _value(raw: float, bit: int, scale: float) -> float:
    if bit == CONSTANT:
        return 1.0
    if bit == PLAIN:
        return raw * scale
    if not 0.0 <= raw < 9.0e18:
        return np.nan
    if bit <= CLEAR:
        return 1.0 - float((np.int64(raw) >> (CLEAR - bit)) & 1)
    return float((np.int64(raw) >> bit) & 1)


@compiled_uncounted
def _drop(out: NDArray[np.int64], counts: NDArray[np.int64], row: int, reason: int) -> None:
    counts[reason] += 1
    out[DROPPED_ROW, counts[DROPPED_AT]], out[DROPPED_REASON, counts[DROPPED_AT]] = row, reason
    counts[DROPPED_AT] += 1


@compiled_uncounted
def admit(
    pushed_slots: NDArray[np.int64],
    times_ns: NDArray[np.int64],
    values: NDArray[np.float64],
    state: State,
    output: Output,
    first_ns: int,
    end_ns: int,
    now_ns: int,
) -> int:
    """Writes the samples of a push, and the parts of sums; returns how many samples.

    By sample: slots, -1 for a series that was refused; times; values. first_ns, end_ns: event times that are accepted.
    now_ns: of the push.
    """
    slots, whole, real, sentinels, last_ns, places = state
    out, out_real, series, counts = output
    counts[:] = 0
    kept, parts = 0, 0
    stated = values.view(np.uint64)
    for i in range(pushed_slots.size):
        slot = pushed_slots[i]
        if slot < 0 or slot >= slots.shape[1] or slots[KIND, slot] == REFUSED:
            counts[REFUSED_AT] += 1
            continue
        slots[SEEN_NS, slot] = now_ns
        if slots[KIND, slot] == BAD:
            counts[BAD_AT] += 1
            continue
        if slots[KIND, slot] == LEFT_OUT:
            continue
        if slots[COUNT, slot] == 0:
            counts[UNMAPPED_AT] += 1
            continue
        raw, time_ns, is_end = values[i], times_ns[i], stated[i] == STALE
        for e in range(slots[START, slot], slots[START, slot] + slots[COUNT, slot]):
            row, bit = whole[ROW, e], whole[BIT, e]
            adds = whole[ADDS, e] != 0
            if is_end and not adds:
                continue
            if not is_end and (time_ns < first_ns or time_ns > end_ns):
                _drop(out, counts, row, EVENT_TIME_AT)
                continue
            value = _value(raw, bit, real[SCALE, e])
            for s in range(whole[FIRST, e], whole[END, e]):
                if bit != CONSTANT and sentinels[s, 0] <= raw <= sentinels[s, 1]:
                    value = np.nan
            if adds:
                out[SUM_ROW, parts], out[SUM_NS, parts] = row, time_ns
                out_real[SUM_VALUE, parts], out[SUM_SLOT, parts] = value, -1 - slot if is_end else slot
                parts += 1
            elif value != value:
                _drop(out, counts, row, NO_VALUE_AT)
            elif value < real[LOW, e] or value > real[HIGH, e] or value == real[SATURATED, e]:
                _drop(out, counts, row, BOUNDS_AT)
            elif time_ns <= last_ns[row]:
                if bit != CONSTANT:  # two series that say the same are no news
                    _drop(out, counts, row, DUPLICATE_AT if time_ns == last_ns[row] else ORDER_AT)
            else:
                last_ns[row] = time_ns
                out[OUT_ROW, kept], out[OUT_NS, kept], out_real[OUT_VALUE, kept] = row, time_ns, value
                series[kept] = places[LOCAL, row]
                if places[NUMBER, row] != places[NUMBER, out[OUT_ROW, 0]]:
                    counts[MIXED_AT] = 1
                if series[kept] != kept:
                    counts[GAPS_AT] = 1
                kept += 1
    counts[PARTS_AT] = parts
    return kept


@compiled_uncounted
def count_by_target(
    rows: NDArray[np.int64], places: NDArray[np.int64], counts: NDArray[np.int64], found: NDArray[np.int64]
) -> int:
    """Counts the samples of each target in ``counts``, by its number; returns how many there are in ``found``."""
    targets = 0
    for i in range(rows.size):
        number = places[NUMBER, rows[i]]
        if counts[number] == 0:
            found[targets] = number
            targets += 1
        counts[number] += 1
    return targets


@compiled_uncounted
def sort_by_target(
    rows: NDArray[np.int64],
    times_ns: NDArray[np.int64],
    values: NDArray[np.float64],
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    sorted_whole: NDArray[np.int64],
    sorted_series: NDArray[np.uint32],
    sorted_values: NDArray[np.float64],
) -> None:
    """Writes samples one target after the other, those of each in their order.

    starts: by number of the target, where its next sample goes. sorted_whole: int64[2, n], row and time.
    """
    for i in range(rows.size):
        row = rows[i]
        number = places[NUMBER, row]
        at = starts[number]
        sorted_whole[0, at], sorted_whole[1, at] = row, times_ns[i]
        sorted_series[at], sorted_values[at] = places[LOCAL, row], values[i]
        starts[number] = at + 1


@compiled
def admit_known(
    data: NDArray[np.uint8],
    layout: NDArray[np.uint8],
    holes: NDArray[np.int64],
    state: State,
    output: Output,
    first_ns: int,
    end_ns: int,
    now_ns: int,
) -> int:
    """``admit`` of a message that has the bytes of an earlier one but for times and values; -1 when it has not.

    data: uint8[n], the message. layout: uint8[2, n], the earlier one with zeros in its holes, and 0xFF outside them.
    holes: int64[4, samples], slot, place of the time, place of the value, and whether this is an integer.
    """
    words = data.size // 8
    new = data[: 8 * words].view(np.uint64)
    old, fixed = layout[0, : 8 * words].view(np.uint64), layout[1, : 8 * words].view(np.uint64)
    differs = np.uint64(0)
    for i in range(words):
        differs |= (new[i] & fixed[i]) ^ old[i]
    for k in range(8 * words, data.size):
        differs |= np.uint64((data[k] & layout[1, k]) ^ layout[0, k])
    if differs:
        return -1
    n = holes.shape[1]
    times_ns, values = np.empty(n, np.int64), np.empty(n, np.float64)
    bits = values.view(np.uint64)
    for i in range(n):
        times_ns[i] = signed(little_endian(data, holes[TIME_PLACE, i], 8))
        word = little_endian(data, holes[VALUE_PLACE, i], 8)
        if holes[IS_WHOLE, i]:
            values[i] = float(signed(word))
        else:
            bits[i] = word
    return admit(holes[SLOT], times_ns, values, state, output, first_ns, end_ns, now_ns)
