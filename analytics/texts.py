"""Many strings as one array, for the snapshot."""

from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

_LINE = 4096  # strings: other threads run between two lines, and a million take a tenth of a second


def pack(strings: Sequence[str]) -> NDArray[np.uint8]:
    """uint8[n]: lines of JSON arrays."""
    lines = [orjson.dumps(strings[start : start + _LINE]) for start in range(0, len(strings), _LINE)]
    return np.frombuffer(b"\n".join(lines), np.uint8)


def unpack(array: NDArray[np.uint8]) -> list[str]:
    return [string for line in array.tobytes().split(b"\n") if line for string in orjson.loads(line)]
