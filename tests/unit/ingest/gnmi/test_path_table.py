"""The hash table of paths, and the words of bytes that it compares."""

import random

import numpy as np
import pytest

from common.wire.hashed_bytes import UNKNOWN
from common.wire.protobuf import signed
from common.wire.spans import FNV, differ, hash_of, stands
from ingest.collectors.gnmi.decode.path_table import PathTable, find_slot


def view(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def test_a_new_table_knows_nothing() -> None:
    table = PathTable()
    assert (len(table), table.get(b"", b"a")) == (0, UNKNOWN)


def test_slots_are_given_in_order_and_found_by_both_parts() -> None:
    table = PathTable()
    pairs = [(b"", b"a"), (b"p", b"a"), (b"p", b"b"), (b"", b""), (b"pa", b"")]
    assert [table.add(*pair) for pair in pairs] == [0, 1, 2, 3, 4]
    assert [table.get(*pair) for pair in pairs] == [0, 1, 2, 3, 4]
    for pair in ((b"", b"b"), (b"p", b""), (b"", b"pa"), (b"pb", b"")):
        assert table.get(*pair) == UNKNOWN


def test_where_prefix_ends_and_path_begins_matters() -> None:
    table = PathTable()
    table.add(b"ab", b"c")
    assert (table.get(b"ab", b"c"), table.get(b"a", b"bc"), table.get(b"abc", b"")) == (0, UNKNOWN, UNKNOWN)


def test_a_table_grows_and_keeps_all_its_slots() -> None:
    dice, table = random.Random(1), PathTable()
    pairs = [(dice.randbytes(n % 40), b"%d" % n + dice.randbytes(n % 90)) for n in range(5000)]
    assert [table.add(*pair) for pair in pairs] == list(range(5000))
    assert [table.get(*pair) for pair in pairs] == list(range(5000))
    assert 2 * len(table) <= table.index.table.size
    assert table.get(b"", b"absent") == UNKNOWN


def test_a_path_larger_than_the_arena_is_kept() -> None:
    table, huge = PathTable(), bytes(range(256)) * 2000
    table.add(b"", b"small")
    assert (table.add(huge, huge), table.get(huge, huge), table.get(b"", b"small")) == (1, 1, 0)


def test_two_paths_with_one_hash_are_kept_apart_by_their_bytes() -> None:
    """The second search is given the first path's hash, as a collision would have it."""
    table = PathTable()
    table.add(b"", b"one")
    key = np.uint64(hash_of(view(b"one"), 0, 3, hash_of(view(b""), 0, 0, FNV)))
    assert find_slot(view(b"one"), 0, 0, 0, 3, key, table.index) == 0
    assert find_slot(view(b"two"), 0, 0, 0, 3, key, table.index) == UNKNOWN


def test_every_byte_and_the_length_change_the_hash() -> None:
    data = bytes(range(40))
    hashes = {int(hash_of(view(data), 0, size, FNV)) for size in range(41)}
    for place in range(40):
        other = bytearray(data)
        other[place] ^= 1
        hashes.add(int(hash_of(view(bytes(other)), 0, 40, FNV)))
    assert len(hashes) == 41 + 40


def test_the_hash_is_of_the_bytes_and_not_of_their_place() -> None:
    data = b"xxxxxinterfaces/interface"
    whole = hash_of(view(data[5:]), 0, 20, FNV)
    assert hash_of(view(data), 5, 20, FNV) == whole


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (b"", b"", False),
        (b"a", b"a", False),
        (b"a", b"b", True),
        (b"abc" * 9, b"abc" * 8 + b"abd", True),
        (b"\0\x80", b"\x80\0", True),
    ],
)
def test_differ(one: bytes, other: bytes, expected: bool) -> None:
    assert differ(view(one), view(other)) is expected


@pytest.mark.parametrize(
    ("number", "expected"), [(0, 0), (1, 1), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)]
)
def test_signed(number: int, expected: int) -> None:
    assert signed(np.uint64(number)) == expected


@pytest.mark.parametrize("size", [*range(26), 31, 32, 33, 64, 95])
def test_bytes_stand_where_each_of_them_is_the_same(size: int) -> None:
    arena = b"<" + random.Random(size).randbytes(size) + b">"
    data = b"before" + arena[1:-1]
    assert stands(view(data), 6, len(data), view(arena), 1, size)
    assert not stands(view(data + b"more"), 7, len(data), view(arena), 1, size)  # it would end behind the end
    for place in range(size):
        other = bytearray(data)
        other[6 + place] ^= 0x80
        assert not stands(view(bytes(other)), 6, len(data), view(arena), 1, size)
