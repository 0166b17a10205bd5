"""Counters to rates: the compiled pass equals a slow one in plain Python, and knows resets, wraps and disorder."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.state import rates
from analytics.state.columns import Columns
from analytics.state.rates import Status

S = 10**9


Sample = tuple[int, int, float]


def fast(
    samples: Sequence[Sample], *, counter: bool = True, modulus: float = 0.0, refresh_ns: int = 0, series: int = 1
) -> tuple[list[float], list[Status]]:
    """(values, statuses) of samples (sid, time_ns, value)."""
    state = Columns(rates.LAYOUT)
    state.grow(series)
    n = len(samples)
    sids = np.array([s for s, _, _ in samples], np.int64)
    times = np.array([t for _, t, _ in samples], np.int64)
    values = np.array([v for _, _, v in samples], np.float64)
    out, status = np.empty(n), np.empty(n, np.uint8)
    rates.to_values(
        rates.Samples(np.array([0, n]), np.array([0]), sids, times, values),
        rates.CounterRules(
            np.zeros(series, np.int32), np.array([counter]), np.array([modulus]), np.array([refresh_ns])
        ),
        rates.RateColumns(*(state[name] for name in rates.LAYOUT)),
        out,
        status,
    )
    return out.tolist(), [Status(int(code)) for code in status]


def slow(samples: Sequence[Sample], modulus: float, refresh_ns: int) -> tuple[list[float], list[Status]]:
    """The same rules, said once more and plainly."""
    newest: dict[int, tuple[int, float]] = {}
    values: list[float] = []
    statuses: list[Status] = []
    for sid, at, value in samples:
        result, rate = Status.VALUE, math.nan
        if math.isinf(value):
            result = Status.NOT_FINITE
        elif sid in newest and at <= newest[sid][0]:
            result = Status.OUT_OF_ORDER
        elif sid not in newest:
            result, newest[sid] = Status.FIRST, (at, value)
        else:
            before, last = newest[sid]
            step = value - last
            if step == 0 and at - before < refresh_ns:
                result = Status.REPEATED
            else:
                if step < 0 and modulus and last <= modulus and step + modulus <= modulus / 4:
                    step += modulus
                if step < 0:
                    result = Status.RESET
                else:
                    rate = step / ((at - before) * 1e-9)
                newest[sid] = (at, value)
        values.append(rate)
        statuses.append(result)
    return values, statuses


counts = st.one_of(st.integers(0, 2**32 + 5).map(float), st.just(math.inf))
histories = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50).map(lambda s: s * S), counts), max_size=40)


@settings(max_examples=200, deadline=None)
@given(histories, st.sampled_from([0.0, 2.0**32]), st.sampled_from([0, 5 * S]))
def test_equals_the_slow_oracle(samples: list[Sample], modulus: float, refresh_ns: int) -> None:
    values, statuses = fast(samples, modulus=modulus, refresh_ns=refresh_ns, series=3)
    expected, expected_statuses = slow(samples, modulus, refresh_ns)
    assert statuses == expected_statuses
    assert np.allclose(values, expected, rtol=1e-12, equal_nan=True)


def test_a_rate_is_per_second() -> None:
    values, _ = fast([(0, 0, 100.0), (0, 10 * S, 150.0)])
    assert math.isnan(values[0])
    assert values[1] == 5.0


@pytest.mark.parametrize(
    ("before", "after", "modulus", "status"),
    [
        (2.0**32 - 100, 100.0, 2.0**32, Status.VALUE),  # near its end and a small step: a wrap
        (2.0**31, 100.0, 2.0**32, Status.RESET),  # half way: it started again
        (2.0**63, 100.0, 0.0, Status.RESET),  # 64-bit counters do not wrap in practice
    ],
)
def test_going_back_is_a_wrap_only_where_that_is_plausible(
    before: float, after: float, modulus: float, status: Status
) -> None:
    values, statuses = fast([(0, 0, before), (0, 10 * S, after)], modulus=modulus)
    assert statuses[1] is status
    assert (values[1] == 20.0) is (status is Status.VALUE)


def test_a_reset_gives_no_rate_and_the_next_sample_does() -> None:
    values, statuses = fast([(0, 0, 500.0), (0, 10 * S, 20.0), (0, 20 * S, 40.0)])
    assert statuses == [Status.FIRST, Status.RESET, Status.VALUE]
    assert math.isnan(values[1])
    assert values[2] == 2.0


def test_a_repetition_inside_the_refresh_period_is_no_sample() -> None:
    samples = [(0, 0, 10.0), (0, 2 * S, 10.0), (0, 4 * S, 10.0), (0, 10 * S, 30.0)]
    values, statuses = fast(samples, refresh_ns=10 * S)
    assert statuses[1:3] == [Status.REPEATED, Status.REPEATED]
    assert values[3] == 2.0  # over the whole ten seconds


def test_gauges_pass_as_they_are() -> None:
    values, statuses = fast([(0, 0, -3.5), (0, S, 7.0)], counter=False)
    assert values == [-3.5, 7.0]
    assert statuses == [Status.VALUE, Status.VALUE]


def test_segment_sums_of_empty_segments_are_zero() -> None:
    flags = np.array([True, False, True])
    assert rates.segment_sums(flags, np.array([0, 0, 2, 3])).tolist() == [0, 1, 1]
