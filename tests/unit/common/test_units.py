"""Factors between units of time, and durations as people write them."""

import pytest
from pydantic import TypeAdapter, ValidationError

from common.units import NS_PER_MS, NS_PER_S, NS_PER_US, US_PER_S, Seconds, seconds, to_ns


def test_the_factors_agree_with_each_other():
    assert NS_PER_S == NS_PER_MS * 1000 == NS_PER_US * US_PER_S == 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", 0.5),
        ("10s", 10),
        ("1m30s", 90),
        ("2h", 7200),
        ("1d", 86_400),
        ("1w", 604_800),
        ("1y", 365 * 86_400),
        ("1y1w1d1h1m1s1ms", 31_536_000 + 604_800 + 86_400 + 3600 + 60 + 1.001),
        (10, 10),
        (0.25, 0.25),
    ],
)
def test_a_duration_is_read_as_prometheus_reads_it(text, expected):
    assert seconds(text) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0s",
        "0",
        "10",
        "-1s",
        "1.5h",
        "10 s",
        "1s1m",
        "1s1s",
        "s",
        0,
        -1,
        float("inf"),
        float("nan"),
        True,
        None,
        b"1s",
    ],
)
def test_what_is_no_duration_above_zero_is_refused(text):
    with pytest.raises(ValueError, match="expected a duration above zero such as 500ms, 10s or 1h30m"):
        seconds(text)


def test_a_setting_of_that_type_names_what_it_accepts():
    assert TypeAdapter(Seconds).validate_python("1m") == 60.0
    with pytest.raises(ValidationError, match="expected a duration above zero"):
        TypeAdapter(Seconds).validate_python("soon")


@pytest.mark.parametrize(
    ("value", "ns"),
    [(0, 0), (1.1, 1_100_000_000), (0.1 + 0.2, 300_000_000), (1e-9, 1), (4e-10, 0), (-0.5, -(5 * 10**8))],
)
def test_seconds_become_the_nearest_nanosecond(value, ns):
    assert to_ns(value) == ns
