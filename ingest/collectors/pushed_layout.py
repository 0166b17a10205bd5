"""What a sender's messages have in common: all bytes but those of times and values. Pure.

A device sends the same series again and again, in messages that differ only in words of eight bytes. A message whose
other bytes are those of an earlier one is the same message for any decoder, so it is read without one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.collectors import pushed_values

_WORD = np.arange(8)
MESSAGE_BYTES_MAX = 1 << 20
LAYOUTS_BYTES_MAX = 64 << 20
_KEY_BYTES, _OBJECTS_BYTES = 512, 1024  # of a message as a part of its key; of what Python adds to a layout
_TRIES, _EVERY = (
    16,
    64,
)  # a sender whose layouts never come again is learned from now and then only: it doubles the cost


@dataclass(frozen=True, slots=True)
class PushedLayout:
    """The layout of a message of n bytes.

    fixed: uint8[2, n], the message with zeros in its holes, and 0xFF outside of them.
    holes: int64[4, samples], slot, place of the time, place of the value, and whether this is an integer.
    """

    fixed: NDArray[np.uint8]
    holes: NDArray[np.int64]

    @classmethod
    def of(cls, data: bytes, holes: NDArray[np.int64]) -> "PushedLayout":
        """That of a message, whose holes are eight bytes each, little-endian."""
        n = len(data)
        fixed = np.zeros((2, -(-n // 8) * 8), np.uint8)  # so that the second row begins at a word
        fixed[0, :n], fixed[1] = np.frombuffer(data, np.uint8), 0xFF
        places = holes[[pushed_values.TIME_PLACE, pushed_values.VALUE_PLACE]].reshape(-1, 1) + _WORD
        fixed[:, places] = 0
        return cls(fixed, holes)

    @property
    def samples(self) -> int:
        return int(self.holes.shape[1])

    @property
    def size(self) -> int:
        """In bytes of memory."""
        return self.fixed.nbytes + self.holes.nbytes + _OBJECTS_BYTES

    @property
    def first_hole(self) -> int:
        """What is before it is the same in each message of this layout."""
        return int(self.holes[pushed_values.TIME_PLACE : pushed_values.IS_WHOLE].min())


class PushedLayouts:
    """The layouts of all senders that are a collector's, ``LAYOUTS_BYTES_MAX`` together: those that came last.

    A layout is found by its sender, its length and what is before its first hole, where a message names its device.
    """

    def __init__(self) -> None:
        self._layouts: dict[tuple[int, int, bytes], PushedLayout] = {}
        self._first_holes: dict[int, int] = {}  # by sender, the first of all
        self._tries: dict[int, int] = {}  # by sender, left since a layout came again
        self._bytes = 0

    def find(self, sender: int, data: bytes) -> PushedLayout | None:
        """That of an earlier message, which may be this one's."""
        return self._layouts.get(self._key(sender, data))

    def came_again(self, sender: int) -> None:
        """A message of the sender had the layout that was found."""
        self._tries[sender] = _TRIES

    def learn(self, sender: int, data: bytes, holes: NDArray[np.int64]) -> None:
        """Remembers the layout of a message."""
        left = self._tries[sender] = self._tries.get(sender, _TRIES) - 1
        if not holes.size or len(data) > MESSAGE_BYTES_MAX or (left < 0 and left % _EVERY):
            return
        layout = PushedLayout.of(data, holes)
        self._first_holes[sender] = min(layout.first_hole, self._first_holes.get(sender, layout.first_hole))
        key = self._key(sender, data)
        before = self._layouts.pop(key, None)
        self._layouts[key] = layout
        self._bytes += layout.size - (before.size if before is not None else 0)
        while self._bytes > LAYOUTS_BYTES_MAX:
            self._bytes -= self._layouts.pop(next(iter(self._layouts))).size

    def clear(self) -> None:
        """When slots are others."""
        self._layouts.clear()
        self._first_holes.clear()
        self._tries.clear()
        self._bytes = 0

    def _key(self, sender: int, data: bytes) -> tuple[int, int, bytes]:
        return sender, len(data), data[: min(self._first_holes.get(sender, 0), _KEY_BYTES)]
