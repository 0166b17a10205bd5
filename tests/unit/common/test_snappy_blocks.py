"""Snappy's blocks unpacked by compiled code: as the library unpacks them, and what it refuses is refused."""

from collections.abc import Sequence

import cramjam
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from common.wire.snappy import unpack_blocks

BYTES_MAX = 1 << 18


def unpacked(blocks: Sequence[bytes], begin: int = 0, bytes_max: int = BYTES_MAX) -> list[bytes]:
    buf = np.frombuffer(b"".join(blocks), np.uint8)
    sizes, out = [len(block) for block in blocks], np.zeros(bytes_max, np.uint8)
    ends = np.empty(len(blocks), np.int64)
    n = unpack_blocks(buf, np.cumsum(sizes, dtype=np.int64), begin, out, ends)
    return [bytes(each) for each in np.split(out[: ends[n - 1]], ends[: n - 1])] if n else []


def by_library(block: bytes) -> list[bytes]:
    try:
        if cramjam.snappy.decompress_raw_len(block) <= BYTES_MAX:
            return [bytes(cramjam.snappy.decompress_raw(block))]
    except cramjam.DecompressionError:
        pass
    return []


repetitive = st.builds(lambda part, times, rest: part * times + rest, st.binary(), st.integers(0, 900), st.binary())


@given(st.lists(repetitive, max_size=4), st.integers(0, 3))
def test_blocks_are_unpacked_one_behind_the_other(texts: list[bytes], begin: int) -> None:
    blocks = [bytes(cramjam.snappy.compress_raw(text)) for text in texts]
    assert unpacked(blocks, begin) == texts[begin:]


@given(repetitive, st.data())
def test_damaged_blocks_are_refused_as_by_the_library(text: bytes, data: st.DataObject) -> None:
    block = bytearray(cramjam.snappy.compress_raw(text))
    for _ in range(data.draw(st.integers(1, 3))):
        block[data.draw(st.integers(0, len(block) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(block[: data.draw(st.integers(0, len(block)))])
    assert unpacked([damaged]) == by_library(damaged)


@given(st.binary(max_size=30))
def test_any_bytes_are_unpacked_as_by_the_library(block: bytes) -> None:
    assert unpacked([block]) == by_library(block)


def test_it_stops_before_what_there_is_no_room_for() -> None:
    blocks = [bytes(cramjam.snappy.compress_raw(bytes(size))) for size in (60, 40, 1, 101)]
    assert [len(text) for text in unpacked(blocks, bytes_max=100)] == [60, 40]
    assert unpacked(blocks, 3, bytes_max=100) == []
