"""Many messages as one for compiled scans, and why these stop."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DONE, PLAIN, FULL = 0, -1, -2
"""At the end; before what is left to a plain reader; before what there is no room for. Also in place of an offset."""


def joined(messages: Sequence[bytes]) -> tuple[bytes, NDArray[np.uint8], NDArray[np.int64]]:
    """All messages, the same for compiled code, and where each ends in it."""
    data = b"".join(messages)
    return data, np.frombuffer(data, np.uint8), np.cumsum([len(message) for message in messages], dtype=np.int64)
