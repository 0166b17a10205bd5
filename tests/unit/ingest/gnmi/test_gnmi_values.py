import math

import pytest

from ingest.collectors.gnmi.decode.values import is_absent, number, scalar_of, state
from telemetry.gnmi import gnmi_pb2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("18446744073709551615", 1.8446744073709552e19),
        ("-3.25", -3.25),
        (7, 7.0),
        (True, 1.0),
        (b"\x42\xa0\x00\x00", 80.0),
        ("QqAAAA==", 80.0),
        ("", None),
        ("N/A", None),
        ("[Not Supported]", None),
        ("nan", None),
        ("-inf", None),
        ("1_000", None),
        ("0x10", None),
        ({}, None),
        (None, None),
        (math.inf, None),
    ],
)
def test_numbers(value: object, expected: float | None) -> None:
    assert number(value) == expected


@pytest.mark.parametrize("value", ["", "N/A", "[Not Supported]", "None", {}, None])
def test_words_for_no_value(value: object) -> None:
    assert is_absent(value)


@pytest.mark.parametrize("value", ["T*", "0", 0, "down"])
def test_words_that_are_a_value(value: object) -> None:
    assert not is_absent(value)


def test_states_with_and_without_module() -> None:
    states = {"UP": 1.0, "SPEED_40GB": 4e10}
    assert state("UP", states) == 1.0
    assert state("openconfig-if-ethernet:SPEED_40GB", states) == 4e10
    assert state("SIDEWAYS", states) is None


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (gnmi_pb2.TypedValue(decimal_val=gnmi_pb2.Decimal64(digits=-1234, precision=2)), -12.34),
        (gnmi_pb2.TypedValue(double_val=1.5), 1.5),
        (gnmi_pb2.TypedValue(ascii_val="9"), "9"),
        (gnmi_pb2.TypedValue(leaflist_val=gnmi_pb2.ScalarArray()), None),
        (gnmi_pb2.TypedValue(), None),
    ],
)
def test_typed_values(typed: gnmi_pb2.TypedValue, expected: object) -> None:
    assert scalar_of(typed) == expected
