"""Times at the API's edge: exact in both directions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fabricscope.api.instants import AskedInstant, Instant, MaybeInstant, rfc3339, rfc3339_ns
from telemetry.objects import EVENT_TIME_MAX

NOON_NS = 1_700_049_600 * 10**9


@given(st.integers(-(2**63), EVENT_TIME_MAX))
def test_every_time_of_the_bus_reads_back_exactly(time_ns):
    assert rfc3339_ns(rfc3339(time_ns)) == time_ns


@pytest.mark.parametrize(
    ("after_ns", "digits"),
    [(0, ""), (500_000_000, ".500"), (1_000, ".000001"), (1, ".000000001"), (999_999_999, ".999999999")],
)
def test_it_has_as_many_digits_as_it_takes(after_ns, digits):
    assert rfc3339(NOON_NS + after_ns) == f"2023-11-15T12:00:00{digits}Z"


@pytest.mark.parametrize(
    ("asked", "time_ns"),
    [
        ("2023-11-15T12:00:00Z", NOON_NS),
        ("2023-11-15t13:00:00.000000001+01:00", NOON_NS + 1),
        ("2023-11-15T12:00:00.0000000019Z", NOON_NS + 1),
        ("1700049600", NOON_NS),
        ("1700049600.000000001", NOON_NS + 1),
        ("1.7000496e9", NOON_NS),
        ("0", 0),
        ("9999-12-31T23:59:59Z", 253_402_300_799 * 10**9),
    ],
)
def test_a_query_takes_rfc_3339_or_seconds(asked, time_ns):
    assert TypeAdapter(AskedInstant).validate_python(asked) == time_ns


@pytest.mark.parametrize(
    "asked",
    ["", "noon", "-1", "nan", "inf", "1e300", "9e999", "2023-11-15", "2023-13-15T12:00:00Z", "2023-11-15T12:00:00"],
)
def test_what_is_no_time_is_refused_with_what_was_expected(asked):
    with pytest.raises(ValidationError, match=r"expected a time as in RFC 3339, .* or seconds since the Unix epoch"):
        TypeAdapter(AskedInstant).validate_python(asked)


def test_zero_is_a_time_and_nothing_only_where_it_means_so():
    assert TypeAdapter(Instant).validate_python(0) == "1970-01-01T00:00:00Z"
    assert TypeAdapter(MaybeInstant).validate_python(0) is None
