"""Many messages as one, for compiled code that reads them together."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Joined(Sequence[bytes]):
    """Messages one after the other. data: all of them; buf: the same for compiled code; ends: where each ends in it."""

    def __init__(self, data: bytes, ends: NDArray[np.int64]) -> None:
        self.data, self.buf, self.ends = data, np.frombuffer(data, np.uint8), ends

    def __iter__(self) -> Iterator[bytes]:
        return (self.data[begin:end] for begin, end in pairwise((0, *self.ends.tolist())))

    def __len__(self) -> int:
        return self.ends.size

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> "list[bytes]": ...
    def __getitem__(self, index: int | slice) -> "bytes | list[bytes]":
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        return self.data[self.ends[i - 1] if i else 0 : self.ends[i]]


def joined(messages: Sequence[bytes]) -> Joined:
    """All messages; themselves when they are joined already."""
    if isinstance(messages, Joined):
        return messages
    return Joined(b"".join(messages), np.cumsum([len(message) for message in messages], dtype=np.int64))
