import math

import pytest

from ingest.collectors.gnmi.decode.values import fast_number, is_absent, number, scalar_of, scalar_of_update, state
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0.0),
        ("-0", -0.0),
        ("  7 ", 7.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("0.1", 0.1),
        ("9007199254740993", 9007199254740992.0),  # the nearest double
        ("1_000", None),
        ("0x10", None),
        ("12 Mbps", None),
        ("1,5", None),
        ("", None),
        ("AAAAAA==", 0.0),  # four bytes of an IEEE float, in base64
        ("P4AAAA==", 1.0),
        ("f4AAAA==", None),  # infinity
        ("f8AAAA==", None),  # NaN
        ("!!!!!!==", None),
    ],
)
def test_numbers_in_text(text: str, expected: float | None) -> None:
    found = number(text)
    assert found == expected
    assert found is None or expected is None or math.copysign(1.0, found) == math.copysign(1.0, expected)


@pytest.mark.parametrize(
    "value", ["7", "-3.25", "1e3", "N/A", "", "1_000", 5, True, None, {}, b"\x42\xa0\x00\x00", "QqAAAA=="]
)
def test_the_fast_path_gives_the_same_finite_numbers(value: object) -> None:
    assert fast_number(value) == number(value)


@pytest.mark.parametrize("text", ["inf", "-inf", "nan", "Infinity"])
def test_the_fast_path_leaves_what_is_not_finite_to_the_check_of_the_sample(text: str) -> None:
    found = fast_number(text)
    assert found is not None
    assert not math.isfinite(found)
    assert number(text) is None


@pytest.mark.parametrize("data", [b"", b"\x42", b"\x42\xa0\x00", b"\x42\xa0\x00\x00\x00"])
def test_only_four_bytes_are_a_float(data: bytes) -> None:
    assert number(data) is None


@pytest.mark.parametrize("value", ["n/a", " N/A ", "NA", "none", "NULL", "-", "--", "nan", "Unknown", "[N/A]"])
def test_words_for_no_value_in_any_case(value: str) -> None:
    assert is_absent(value)


@pytest.mark.parametrize("value", ["n/ a", "no", "[]", [], 0.0, False, b""])
def test_other_values_are_not_absent(value: object) -> None:
    assert not is_absent(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("UP", 1.0), ("oc-types:UP", 1.0), ("a:b:UP", 1.0), ("up", None), ("", None), (1, 1.0), ("1", None), (True, 1.0)],
)
def test_a_word_has_the_value_of_the_catalogue_and_a_number_its_own(value: object, expected: float | None) -> None:
    assert state(value, {"UP": 1.0, "DOWN": 0.0}) == expected


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (gnmi_pb2.Update(val=gnmi_pb2.TypedValue(uint_val=7)), 7),
        (gnmi_pb2.Update(val=gnmi_pb2.TypedValue(json_val=b'{"a": 1}')), {"a": 1}),
        (gnmi_pb2.Update(val=gnmi_pb2.TypedValue(json_ietf_val=b"[1]")), [1]),
        (gnmi_pb2.Update(val=gnmi_pb2.TypedValue(json_val=b"{")), None),
        (gnmi_pb2.Update(val=gnmi_pb2.TypedValue(string_val="{}")), "{}"),
        (gnmi_pb2.Update(value=gnmi_pb2.Value(value=b"7", type=gnmi_pb2.JSON)), 7),
        (gnmi_pb2.Update(value=gnmi_pb2.Value(value=b'"7"', type=gnmi_pb2.JSON_IETF)), "7"),
        (gnmi_pb2.Update(value=gnmi_pb2.Value(value=b"7", type=gnmi_pb2.BYTES)), b"7"),
        (gnmi_pb2.Update(value=gnmi_pb2.Value(value=b"up", type=gnmi_pb2.ASCII)), "up"),
        (gnmi_pb2.Update(value=gnmi_pb2.Value(value=b"\xff", type=gnmi_pb2.ASCII)), "\ufffd"),
        (gnmi_pb2.Update(), None),  # no value, in JSON
    ],
)
def test_values_of_updates_in_both_fields(update: gnmi_pb2.Update, expected: object) -> None:
    assert scalar_of_update(update) == expected
