"""Records as blobs."""

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
