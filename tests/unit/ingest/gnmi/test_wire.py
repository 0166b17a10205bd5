"""Protobuf's wire format. Source of the examples: protobuf.dev, programming-guides/encoding."""

import numpy as np
import pytest

from common.wire.hashed_bytes import UNKNOWN
from common.wire.protobuf import length, little_endian, skip, varint
from ingest.collectors.gnmi.decode.path_table import PathTable
from ingest.collectors.gnmi.decode.scan import Scanned, Stop, ValueKind, scan_messages
from telemetry.gnmi import gnmi_pb2

FAILED = -1


def view(hexadecimal: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(hexadecimal), np.uint8)


@pytest.mark.parametrize(
    ("data", "number", "after"),
    [
        ("00", 0, 1),
        ("01", 1, 1),
        ("7f", 127, 1),
        ("96 01", 150, 2),
        ("ac 02", 300, 2),
        ("ff ff ff ff ff ff ff ff ff 01", 2**64 - 1, 10),
        ("80 00", 0, 2),  # longer than need be, and allowed
        ("96", None, FAILED),
        ("", None, FAILED),
        ("ff ff ff ff ff ff ff ff ff ff 01", None, FAILED),
    ],
)
def test_varints(data: str, number: int | None, after: int) -> None:
    buf = view(data)
    found, at = varint(buf, 0, buf.size)
    assert at == after
    assert number is None or int(found) == number


def test_a_varint_ends_at_its_field_s_end_and_not_at_the_buffer_s() -> None:
    assert varint(view("96 01"), 0, 1)[1] == FAILED
    number, after = varint(view("00 96 01"), 1, 3)
    assert (int(number), after) == (150, 3)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("07 74 65 73 74 69 6e 67", (7, 1)),
        ("00", (0, 1)),
        ("08 74 65 73 74 69 6e 67", (0, FAILED)),  # one byte more than there is
        ("ff ff ff ff ff ff ff ff ff 01", (0, FAILED)),  # would be -1 as a signed number
        ("80", (0, FAILED)),
    ],
)
def test_lengths(data: str, expected: tuple[int, int]) -> None:
    buf = view(data)
    assert length(buf, 0, buf.size) == expected


@pytest.mark.parametrize(
    ("wire_type", "data", "after"),
    [
        (0, "96 01", 2),
        (0, "96", FAILED),
        (1, "00 00 00 00 00 00 00 00", 8),
        (1, "00 00 00 00 00 00 00", FAILED),
        (2, "02 61 62", 3),
        (2, "02 61", FAILED),
        (5, "00 00 00 00", 4),
        (5, "00 00 00", FAILED),
        (3, "00", FAILED),  # groups
        (4, "00", FAILED),
        (6, "00", FAILED),
        (7, "00", FAILED),
    ],
)
def test_unknown_fields_are_skipped_by_their_type(wire_type: int, data: str, after: int) -> None:
    buf = view(data)
    assert skip(buf, 0, buf.size, wire_type) == after


@pytest.mark.parametrize(("size", "expected"), [(0, 0), (1, 0x01), (4, 0x04030201), (8, 0x0807060504030201)])
def test_fixed_words_are_little_endian(size: int, expected: int) -> None:
    assert int(little_endian(view("01 02 03 04 05 06 07 08"), 0, size)) == expected


# ---- whole messages


def scan(
    *messages: bytes, columns: int = 8, known: tuple[tuple[bytes, bytes], ...] = ()
) -> tuple[Scanned, tuple[int, ...]]:
    paths = PathTable()
    for pair in known:
        paths.add(*pair)
    scanned = Scanned.allocate(columns)
    ends = np.cumsum([len(message) for message in messages], dtype=np.int64)
    buf = np.frombuffer(b"".join(messages), np.uint8)
    return scanned, scan_messages(buf, ends, 0, (*paths.index,), (*scanned,))


def message(*values: gnmi_pb2.TypedValue, path: str = "a", time: int = 7) -> gnmi_pb2.SubscribeResponse:
    made = gnmi_pb2.SubscribeResponse()
    made.update.timestamp = time
    for value in values:
        made.update.update.add(path=gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name=path)]), val=value)
    return made


def typed(**value: object) -> gnmi_pb2.TypedValue:
    return gnmi_pb2.TypedValue(**value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "kind", "number"),
    [
        (typed(uint_val=300), ValueKind.NUMBER, 300.0),
        (typed(int_val=-1), ValueKind.NUMBER, -1.0),
        (typed(bool_val=True), ValueKind.NUMBER, 1.0),
        (typed(double_val=-2.5), ValueKind.NUMBER, -2.5),
        (typed(float_val=0.5), ValueKind.NUMBER, 0.5),
        (typed(string_val="up"), ValueKind.TEXT, 0.0),
        (typed(ascii_val="up"), ValueKind.TEXT, 0.0),
        (typed(json_val=b"{}"), ValueKind.JSON, 0.0),
        (typed(json_ietf_val=b"{}"), ValueKind.JSON, 0.0),
        (typed(bytes_val=b"ab"), ValueKind.BYTES, 0.0),
        (typed(decimal_val=gnmi_pb2.Decimal64(digits=1, precision=1)), ValueKind.OTHER, 0.0),
        (typed(leaflist_val=gnmi_pb2.ScalarArray()), ValueKind.OTHER, 0.0),
    ],
)
def test_values_by_kind(value: gnmi_pb2.TypedValue, kind: ValueKind, number: float) -> None:
    scanned, (rows, after, why, syncs) = scan(message(value).SerializeToString())
    assert (rows, after, why, syncs) == (1, 1, Stop.END, 0)
    assert (scanned.kinds[0], scanned.times[0], scanned.slots[0]) == (kind, 7, UNKNOWN)
    assert kind is not ValueKind.NUMBER or scanned.numbers[0] == number


def test_offsets_are_those_of_the_bytes_in_the_message() -> None:
    made = message(typed(string_val="word"))
    made.update.prefix.target = "DB"
    data = made.SerializeToString()
    scanned, _ = scan(data)
    value, value_n, prefix, prefix_n, path, path_n = scanned.offsets[0].tolist()
    assert data[value : value + value_n] == b"word"
    assert data[prefix : prefix + prefix_n] == made.update.prefix.SerializeToString()
    assert data[path : path + path_n] == made.update.update[0].path.SerializeToString()


def test_a_known_path_has_its_slot() -> None:
    made = message(typed(uint_val=1), typed(uint_val=2))
    prefix, path = made.update.prefix.SerializeToString(), made.update.update[0].path.SerializeToString()
    scanned, _ = scan(made.SerializeToString(), known=((b"x", b"y"), (prefix, path)))
    assert scanned.slots[:2].tolist() == [1, 1]


def test_syncs_are_counted() -> None:
    sync = gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()
    assert scan(sync, message(typed(uint_val=1)).SerializeToString(), sync)[1] == (1, 3, Stop.END, 2)


def test_a_scan_stops_at_full_columns_and_leaves_the_whole_message_for_the_next_one() -> None:
    small, large = message(typed(uint_val=1)), message(*(typed(uint_val=n) for n in range(8)))
    assert scan(small.SerializeToString(), large.SerializeToString())[1] == (1, 1, Stop.FULL, 0)


def test_deletes_and_deprecated_fields_are_left_to_the_protobuf_runtime() -> None:
    deleting = message(typed(uint_val=1))
    deleting.update.delete.add()
    old_value = message()
    old_value.update.update.add(value=gnmi_pb2.Value(value=b"1"))
    failed = gnmi_pb2.SubscribeResponse(error=gnmi_pb2.Error(code=3))
    for made in (deleting, old_value, failed):
        good = message(typed(uint_val=1)).SerializeToString()
        assert scan(good, made.SerializeToString(), good)[1] == (1, 1, Stop.NEEDS_PROTOBUF, 0)


@pytest.mark.parametrize("data", ["0a", "0a 05 08", "ff", "0a 02 22 05", "0b"])
def test_malformed_messages_stop_the_scan_at_their_place(data: str) -> None:
    good = message(typed(uint_val=1)).SerializeToString()
    assert scan(good, bytes.fromhex(data), good)[1] == (1, 1, Stop.MALFORMED, 0)
