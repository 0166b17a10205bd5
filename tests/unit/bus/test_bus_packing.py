"""Records as blobs, and keys as partitions."""

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from bus.base import Message
from bus.embedded.packing import Corrupt, pack, unpack
from bus.partitions import partition_of

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


@given(st.binary(max_size=40), st.integers(1, 64))
def test_a_key_goes_where_every_kafka_client_puts_it(key: bytes, n: int) -> None:
    assert partition_of(key, n) == DefaultPartitioner()(key, list(range(n)), [])
