"""Labels byte for byte, from the wire format of protobuf (tag = number << 3 | 2, then the length)."""

import numpy as np
import pytest

from common.errors import BadInput
from export.remote_write import wire
from export.remote_write.encoder import STALE_BITS, SampleBlock, encode_request
from export.remote_write.labels import LABEL_BYTES_MAX, encode_labels, encode_table, join
from telemetry.series import SeriesTable
from tests.unit.export.prompb import raw


def label(name: bytes, value: bytes) -> bytes:
    """TimeSeries.labels{name, value}, all shorter than 128 bytes."""
    inside = bytes((0x0A, len(name))) + name + bytes((0x12, len(value))) + value
    return bytes((0x0A, len(inside))) + inside


@pytest.mark.parametrize(
    ("names", "external", "expected"),
    [
        ({}, {}, [(b"__name__", b"m")]),
        ({"b": "2", "a": "1"}, {}, [(b"__name__", b"m"), (b"a", b"1"), (b"b", b"2")]),
        ({"B": "upper"}, {}, [(b"B", b"upper"), (b"__name__", b"m")]),  # sorted by bytes
        ({"empty": ""}, {}, [(b"__name__", b"m")]),
        ({"a": "own"}, {"a": "external", "c": "pod1"}, [(b"__name__", b"m"), (b"a", b"own"), (b"c", b"pod1")]),
        ({"a": "é"}, {}, [(b"__name__", b"m"), (b"a", "é".encode())]),
    ],
)
def test_labels_are_sorted_and_none_is_empty(names, external, expected):
    assert encode_labels("m", names, external) == b"".join(label(*pair) for pair in expected)


@pytest.mark.parametrize(
    ("length", "varint"), [(0x7F, b"\x7f"), (0x80, b"\x80\x01"), (300, b"\xac\x02"), (16_384, b"\x80\x80\x01")]
)
def test_lengths_are_varints(length, varint):
    assert wire.field(2, bytes(length)) == b"\x12" + varint + bytes(length)


def test_labels_have_a_limit():
    encode_labels("m", {"a": "x" * (LABEL_BYTES_MAX - 40)}, {})
    with pytest.raises(BadInput, match="bytes of labels: at most 65536") as error:
        encode_labels("m", {"a": "x" * LABEL_BYTES_MAX}, {})
    assert error.value.reason == "bad_label"


def test_sets_are_joined_and_found_by_their_number():
    joined = join([b"abc", b"", b"de"])
    assert (len(joined), joined.blob.tobytes(), joined.starts.tolist()) == (3, b"abcde", [0, 3, 3, 5])
    assert joined.usable.tolist() == [True, False, True]
    assert (len(join([])), join([]).usable.tolist()) == (0, [])


def test_a_table_keeps_its_numbers_when_a_series_is_unusable():
    table = SeriesTable("t", "d", ('a{x="1"}', "no braces", 'b{x="2"}'))
    encoded = encode_table(table, {"c": "pod1"})
    parts = [encoded.blob[encoded.starts[n] : encoded.starts[n + 1]].tobytes() for n in range(3)]
    assert parts == [
        encode_labels("a", {"x": "1", "c": "pod1"}, {}),
        b"",
        encode_labels("b", {"x": "2", "c": "pod1"}, {}),
    ]


A, B = label(b"a", b"1"), label(b"b", b"2")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], ""),
        # TimeSeries of 8 + 12 bytes: labels, then Sample{value 1.0, timestamp 5}
        ([(0, 5, 1.0)], "0a15" + A.hex() + "120b 09 000000000000f03f 10 05"),
        ([(0, 300, -2.0)], "0a16" + A.hex() + "120c 09 00000000000000c0 10 ac02"),
        ([(0, 0, 0.0)], "0a15" + A.hex() + "120b 09 0000000000000000 10 00"),
        (
            [(0, 1, 1.0), (0, 2, 1.0), (1, 1, 1.0)],
            "0a22" + A.hex() + "120b 09 000000000000f03f 10 01 120b 09 000000000000f03f 10 02"
            "0a15" + B.hex() + "120b 09 000000000000f03f 10 01",
        ),
        ([(1, -1, 1.0)], "0a1e" + B.hex() + "1214 09 000000000000f03f 10 ffffffffffffffffff01"),
    ],
    ids=["nothing", "a sample", "two bytes of time", "zero", "two of one series", "before 1970"],
)
def test_a_request_is_the_protobuf_of_the_specification(samples, expected):
    columns = [np.array(column) for column in zip(*samples, strict=True)] or [np.array([])] * 3
    series, times_ms, values = columns
    bits = values.astype(np.float64).view(np.uint64)
    block = SampleBlock(join([A, B]), series.astype(np.int64), times_ms.astype(np.int64), bits)
    assert raw(encode_request([block])).hex() == expected.replace(" ", "")


def test_the_stale_marker_is_prometheus():
    # value.StaleNaN of prometheus/model/value
    assert int(STALE_BITS) == 0x7FF0000000000002
    assert np.isnan(np.array([STALE_BITS]).view(np.float64)[0])
