"""Counters to rates per second; gauges, states and peaks unchanged. One compiled pass over a tick's samples."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.state import usual_gap
from common.jit import compiled

NEVER = np.iinfo(np.int64).min
LARGEST = 1e30  # no measured value is larger, and squares and sums of it are still finite


class Status(IntEnum):
    """The result of one sample."""

    VALUE = 0
    FIRST = 1  # a counter's first sample: a rate needs two
    RESET = 2  # the counter decreased: no rate, and the count starts here
    REPEATED = 3  # the same count within the source's refresh period: not a fresh sample
    OUT_OF_ORDER = 4  # not newer than the series' newest sample: dropped
    NOT_FINITE = 5  # infinite, or beyond LARGEST: dropped


FIRST, RESET, REPEATED = int(Status.FIRST), int(Status.RESET), int(Status.REPEATED)
OUT_OF_ORDER, NOT_FINITE, VALUE = int(Status.OUT_OF_ORDER), int(Status.NOT_FINITE), int(Status.VALUE)

LAYOUT: dict[str, tuple[str, float, int]] = {
    "raw": ("f8", np.nan, 1),  # newest accepted sample, as reported
    "raw_ns": ("i8", NEVER, 1),  # its event time
    "value": ("f8", np.nan, 1),  # newest rate or gauge
    "value_ns": ("i8", NEVER, 1),  # its event time
    "valued_ns": ("i8", NEVER, 1),  # when the collection that brought it was made
    "span_s": ("f8", 0.0, 1),  # seconds that a rate covers
    "status": ("u1", FIRST, 1),  # Status of the newest accepted sample
    "moved_ns": ("i8", NEVER, 1),  # event time of the newest sample that differed from the previous one
    "highest": ("f8", -np.inf, 1),  # highest sample ever
    "streak": ("i4", 0, 1),  # accepted samples in a row that differed from the previous one
    "gaps_s": ("f4", 0.0, usual_gap.KEPT),  # newest gaps between the event times of two values; see ``usual_gap``
}

# A decrease is a wrap only when the counter was near its end and the step is small against its range: at half the range
# a step forwards and a restart cannot be distinguished.
_WRAP_SHARE_MAX = 0.25


class Samples(NamedTuple):
    """Samples in canonical order, one collection after the other.

    starts: int64[collections + 1], first sample of each, and the end. collected_ns: int64[collections].
    sids, times_ns, values: of each sample.
    """

    starts: NDArray[np.int64]
    collected_ns: NDArray[np.int64]
    sids: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]


class CounterRules(NamedTuple):
    """metric_of: int32[series]. The others by metric: counter: bool; modulus: 2**width, 0 where it does not wrap;
    refresh_ns: how often its source has a new value."""

    metric_of: NDArray[np.int32]
    counter: NDArray[np.bool_]
    modulus: NDArray[np.float64]
    refresh_ns: NDArray[np.int64]


class RateColumns(NamedTuple):
    """The state of all series, as in ``LAYOUT``."""

    raw: NDArray[np.float64]
    raw_ns: NDArray[np.int64]
    value: NDArray[np.float64]
    value_ns: NDArray[np.int64]
    valued_ns: NDArray[np.int64]
    span_s: NDArray[np.float64]
    status: NDArray[np.uint8]
    moved_ns: NDArray[np.int64]
    highest: NDArray[np.float64]
    streak: NDArray[np.int32]
    gaps_s: NDArray[np.float32]


@compiled
def to_values(
    samples: Samples,
    rules: CounterRules,
    state: RateColumns,
    out: NDArray[np.float64],
    out_status: NDArray[np.uint8],
) -> None:
    """Samples to values, updating the state of their series in place.

    out: the value of each sample, NaN without one. out_status: ``Status`` of each sample.
    """
    starts, collected_ns, sids, times_ns, values = samples
    metric_of, counter, modulus, refresh_ns = rules
    raw, raw_ns, value, value_ns, valued_ns, span_s, status, moved_ns, highest, streak, gaps_s = state
    for batch in range(collected_ns.size):
        for i in range(starts[batch], starts[batch + 1]):
            s, now, x = sids[i], times_ns[i], values[i]
            out[i] = np.nan
            if not abs(x) <= LARGEST:
                out_status[i] = NOT_FINITE
                continue
            before, last = raw_ns[s], raw[s]
            if now <= before:
                out_status[i] = OUT_OF_ORDER
                continue
            result, y, span = VALUE, x, 0.0
            m = metric_of[s]
            if counter[m]:
                if before == NEVER:
                    result = FIRST
                else:
                    span = (now - before) * 1e-9
                    step = x - last
                    if step < 0.0:
                        wrap = modulus[m]
                        step += wrap
                        if wrap == 0.0 or last > wrap or step > _WRAP_SHARE_MAX * wrap:
                            result = RESET
                    elif step == 0.0 and now - before < refresh_ns[m]:
                        out_status[i] = REPEATED
                        streak[s] = 0
                        if valued_ns[s] != NEVER:
                            valued_ns[s] = collected_ns[batch]  # no newer value: the rate is still valid
                        continue
                    y = step / span
            if x == last:
                streak[s] = 0
            elif before != NEVER:
                streak[s] += 1
                moved_ns[s] = now
            highest[s] = max(highest[s], x)
            raw[s], raw_ns[s] = x, now
            status[s] = result
            out_status[i] = result
            if result == VALUE:
                out[i] = y
                if value_ns[s] != NEVER:
                    usual_gap.note(gaps_s[s], (now - value_ns[s]) * 1e-9)
                value[s], value_ns[s], valued_ns[s], span_s[s] = y, now, collected_ns[batch], span


def has_changed(raw: NDArray[np.float64], sids: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """bool[n]: which samples differ from the newest one of their series; a first sample does."""
    return np.asarray(raw[sids] != values)


def segment_sums(flags: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum of ``flags`` from each start to the next; ``starts`` ends with the length. Empty segments give 0."""
    sums = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
    return np.asarray(sums[starts[1:]] - sums[starts[:-1]])
