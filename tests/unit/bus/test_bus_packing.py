"""Records as blobs."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.base import Message
from bus.embedded.packing import Corrupt, pack, unpack

messages = st.lists(
    st.builds(
        Message,
        st.binary(max_size=20),
        st.none() | st.binary(max_size=50),
        st.dictionaries(st.text(max_size=5), st.binary(max_size=20), max_size=3),
    ),
    max_size=20,
)


@given(messages, st.integers(0, 25))
def test_what_is_packed_comes_back_but_for_what_is_skipped(packed: list[Message], skip: int) -> None:
    unpacked = [Message(key, value, headers) for key, value, headers in unpack(pack(packed), skip)]
    assert unpacked == packed[skip:]


@given(messages, st.data())
def test_any_flipped_bit_or_cut_is_noticed(packed: list[Message], data: st.DataObject) -> None:
    blob = pack(packed)
    at = data.draw(st.integers(0, len(blob) * 8 - 1))
    damaged = bytearray(blob)
    damaged[at // 8] ^= 1 << at % 8
    with pytest.raises(Corrupt):
        list(unpack(bytes(damaged)))
    with pytest.raises(Corrupt):
        list(unpack(blob[: at // 8]))


@pytest.mark.parametrize(
    ("packed", "body"),
    [
        ([], "00000000"),
        ([Message(b"k", b"ab")], "01000000 01000000 02000000 00000000" + b"kab".hex()),
        ([Message(b"", b"")], "01000000 00000000 00000000 00000000"),
        ([Message(b"key", None)], "01000000 03000000 ffffffff 00000000" + b"key".hex()),
        (
            [Message(b"k", b"v", {"é": b"xyz"})],
            "01000000 01000000 01000000 0b000000" + b"kv".hex() + "0200 03000000" + "é".encode().hex() + b"xyz".hex(),
        ),
        (
            [Message(b"a", b"1"), Message(b"b", None)],
            "02000000 01000000 01000000 00000000 01000000 ffffffff 00000000" + b"a1b".hex(),
        ),
    ],
    ids=["nothing", "a record", "empty key and value", "a tombstone", "a header", "two records"],
)
def test_the_layout_on_disk_is_that_of_files_that_exist(packed: list[Message], body: str) -> None:
    content = bytes.fromhex(body)
    assert pack(packed) == zlib.crc32(content).to_bytes(4, "little") + content


@pytest.mark.parametrize(
    "body",
    [
        "ffffffff",
        "01000000 02000000 00000000 00000000" + b"k".hex(),
        "01000000 00000000 00000000 00000000" + b"k".hex(),
        "01000000 ffffffff 02000000 00000000" + b"k".hex(),
        "01000000 00000000 feffffff 02000000",
        "01000000 00000000 00000000 01000000 00",
        "01000000 00000000 00000000 07000000 0100 00000000 ff",
        "01000000 00000000 00000000 07000000 0100 01000000" + b"n".hex(),
    ],
    ids=["count", "too short", "too long", "no key", "no value", "half a header", "not UTF-8", "no header value"],
)
def test_what_does_not_fit_under_a_fitting_sum_is_noticed(body: str) -> None:
    content = bytes.fromhex(body)
    with pytest.raises(Corrupt):
        list(unpack(zlib.crc32(content).to_bytes(4, "little") + content))


def test_compaction_knows_a_tombstone_by_its_place_in_the_blob() -> None:
    assert pack([Message(b"any key", None, {"why": b"gone"})])[12:16] == b"\xff\xff\xff\xff"
    assert pack([Message(b"any key", b"")])[12:16] == bytes(4)
