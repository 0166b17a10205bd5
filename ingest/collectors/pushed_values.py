"""Pushed numbers to canonical samples, compiled: one pass over the columns of a push."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

STALE = np.uint64(0x7FF0000000000002)  # Prometheus' mark for the end of a series: a NaN, not a sample
PLAIN, CONSTANT = -1, -2  # in place of a bit
KNOWN, REFUSED, BAD, LEFT_OUT = 0, 1, 2, 3  # kinds of slots
UNMAPPED_AT, EVENT_TIME_AT, NO_VALUE_AT, BOUNDS_AT, DUPLICATE_AT, ORDER_AT, REFUSED_AT, BAD_AT, COUNTS, DROPPED = range(
    10
)


class Slots(NamedTuple):
    """By slot. kinds: int8. starts, counts: int64, its entries. seen_ns: int64, when it was pushed last."""

    kinds: NDArray[np.int8]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    seen_ns: NDArray[np.int64]


class Entries(NamedTuple):
    """By entry: the part of a source's series in a canonical one.

    whole: int64[5, entries], row, bit, whether parts add up, first and last + 1 of its source's sentinels.
    real: float64[4, entries], scale, minimum, maximum, value of a saturated counter.
    """

    whole: NDArray[np.int64]
    real: NDArray[np.float64]


class Pushed(NamedTuple):
    """By sample, of equal length. slots: int64, -1 for a series that was refused. times_ns: int64. values: float64."""

    slots: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]


class Output(NamedTuple):
    """Receives the samples, the parts of sums (row, time, value, and slot of a part), and row and reason of what is
    dropped, where it has a row."""

    rows: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    sum_rows: NDArray[np.int64]
    sum_times_ns: NDArray[np.int64]
    sum_values: NDArray[np.float64]
    sum_slots: NDArray[np.int64]
    dropped_rows: NDArray[np.int64]
    dropped_at: NDArray[np.int64]

    @classmethod
    def allocate(cls, samples: int, parts: int) -> "Output":
        return cls(
            np.empty(samples, np.int64),
            np.empty(samples, np.int64),
            np.empty(samples),
            np.empty(parts, np.int64),
            np.empty(parts, np.int64),
            np.empty(parts),
            np.empty(parts, np.int64),
            np.empty(samples, np.int64),
            np.empty(samples, np.int64),
        )


class Rules(NamedTuple):
    """sentinels: float64[n, 2], closed ranges without a value. last_ns: int64[rows], newest sample of each row.

    first_ns, end_ns: event times that are accepted. now_ns: of the push.
    """

    sentinels: NDArray[np.float64]
    last_ns: NDArray[np.int64]
    first_ns: int
    end_ns: int
    now_ns: int


@compiled
def _value(raw: float, bit: int, scale: float) -> float:
    if bit == CONSTANT:
        return 1.0
    if bit == PLAIN:
        return raw * scale
    return float((np.int64(raw) >> bit) & 1) if 0.0 <= raw < 9.0e18 else np.nan


@compiled
def _drop(out: Output, counts: NDArray[np.int64], row: int, at: int) -> None:
    counts[at] += 1
    out.dropped_rows[counts[DROPPED]], out.dropped_at[counts[DROPPED]] = row, at
    counts[DROPPED] += 1


@compiled
def admit(pushed: Pushed, slots: Slots, entries: Entries, rules: Rules, out: Output, counts: NDArray[np.int64]) -> int:
    """Writes the samples of a push, and after the last one the parts of sums; returns how many samples.

    counts: int64[DROPPED + 1], receives what was left out by reason, then how many parts, and drops that have a row.
    """
    kept, parts = 0, 0
    stated = pushed.values.view(np.uint64)
    for i in range(pushed.slots.size):
        slot = pushed.slots[i]
        if slot < 0 or slot >= slots.kinds.size or slots.kinds[slot] == REFUSED:
            counts[REFUSED_AT] += 1
            continue
        slots.seen_ns[slot] = rules.now_ns
        if slots.kinds[slot] == BAD:
            counts[BAD_AT] += 1
            continue
        if slots.kinds[slot] == LEFT_OUT:
            continue
        if slots.counts[slot] == 0:
            counts[UNMAPPED_AT] += 1
            continue
        raw, time_ns, is_end = pushed.values[i], pushed.times_ns[i], stated[i] == STALE
        for e in range(slots.starts[slot], slots.starts[slot] + slots.counts[slot]):
            row, bit = entries.whole[0, e], entries.whole[1, e]
            adds = entries.whole[2, e] != 0
            if is_end and not adds:
                continue
            if not is_end and (time_ns < rules.first_ns or time_ns > rules.end_ns):
                _drop(out, counts, row, EVENT_TIME_AT)
                continue
            value = _value(raw, bit, entries.real[0, e])
            for s in range(entries.whole[3, e], entries.whole[4, e]):
                if bit != CONSTANT and rules.sentinels[s, 0] <= raw <= rules.sentinels[s, 1]:
                    value = np.nan
            if adds:
                out.sum_rows[parts], out.sum_times_ns[parts] = row, time_ns
                out.sum_values[parts], out.sum_slots[parts] = value, -1 - slot if is_end else slot
                parts += 1
            elif value != value:
                _drop(out, counts, row, NO_VALUE_AT)
            elif value < entries.real[1, e] or value > entries.real[2, e] or value == entries.real[3, e]:
                _drop(out, counts, row, BOUNDS_AT)
            elif time_ns <= rules.last_ns[row]:
                if bit != CONSTANT:  # two series that say the same are no news
                    _drop(out, counts, row, DUPLICATE_AT if time_ns == rules.last_ns[row] else ORDER_AT)
            else:
                rules.last_ns[row] = time_ns
                out.rows[kept], out.times_ns[kept], out.values[kept] = row, time_ns, value
                kept += 1
    counts[COUNTS] = parts
    return kept
