"""Many strings as one array, for the snapshot."""

from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

_LINE = 4096  # strings: other threads run between two lines, and a million take a tenth of a second


class Packed:
    """Packs one list for snapshot after snapshot. It may grow: the lines that are full stay as they were."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = strings
        self._full: list[bytes] = []

    def array(self) -> NDArray[np.uint8]:
        """uint8[n]: lines of JSON arrays."""
        strings, full = self._strings, self._full
        while len(strings) - _LINE * len(full) >= _LINE:
            full.append(_line(strings, len(full)))
        return np.frombuffer(b"\n".join((*full, _line(strings, len(full)))), np.uint8)


def pack(strings: Sequence[str]) -> NDArray[np.uint8]:
    """The same, once."""
    return Packed(strings).array()


def _line(strings: Sequence[str], number: int) -> bytes:
    return orjson.dumps(strings[number * _LINE : (number + 1) * _LINE])


def unpack(array: NDArray[np.uint8]) -> list[str]:
    return [string for line in array.tobytes().split(b"\n") if line for string in orjson.loads(line)]
