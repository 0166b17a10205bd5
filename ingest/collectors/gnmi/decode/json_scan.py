"""The compiled comparison of a JSON document with its template."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.numbers import number
from common.wire.spans import differ


@compiled
def match(
    body: NDArray[np.uint8],
    static: NDArray[np.uint8],
    ends: NDArray[np.int64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
) -> bool:
    """Compares a document with the static bytes of its template and reads the numbers between them.

    static, ends: the bytes, and where in them the piece before each number ends. indices: for each number, where in
    ``values`` it goes. False for a document of another shape, or with a number that is not rounded exactly here.
    """
    at, begin = 0, 0
    for part in range(ends.size):
        end = ends[part]
        if at + end - begin > body.size:
            return False
        if differ(body[at : at + end - begin], static[begin:end]):
            return False
        at += end - begin
        begin = end
        if part < indices.size:
            value, at, _, is_exact = number(body, at, body.size)
            if at < 0 or not is_exact:
                return False
            values[indices[part]] = value
    return bool(at == body.size)


def warm_up() -> None:
    """Compiles the comparison, or loads it from the disk cache."""
    text, none = np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)  # read-only, as the bytes of messages are
    match(text, text, none, none, np.zeros(1))
