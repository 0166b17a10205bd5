"""CRC-32C (Castagnoli), as Kafka's record batches have it, for compiled code: sixteen bytes a step.

https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4; tables for many bytes at once as by Kounavis and Berry (2005).
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted

_POLYNOMIAL, _STEP = 0x82F63B78, 16  # reversed


def _tables() -> NDArray[np.uint32]:
    """uint32[16, 256]: what a byte does to the sum when ``row`` bytes of zero follow it."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(_POLYNOMIAL), first >> 1).astype(np.uint32)
    rows = [first]
    for _ in range(_STEP - 1):
        rows.append((rows[-1] >> 8) ^ first[rows[-1] & 0xFF])
    return np.stack(rows)


_TABLES = _tables()
_BYTE = np.uint64(0xFF)


@compiled_uncounted
def crc32c(buf: NDArray[np.uint8], begin: int, end: int) -> np.uint32:
    """Of the bytes ``begin``..``end``."""
    found, at, stop = np.uint32(0xFFFFFFFF), np.uint64(begin), np.uint64(end)  # an unsigned index is never negative
    while at + np.uint64(_STEP) <= stop:
        low, high = np.uint64(0), np.uint64(0)
        for k in range(8):
            low |= np.uint64(buf[at + np.uint64(k)]) << np.uint64(8 * k)
            high |= np.uint64(buf[at + np.uint64(8 + k)]) << np.uint64(8 * k)
        low ^= np.uint64(found)
        found = np.uint32(0)
        for k in range(8):
            shift = np.uint64(8 * k)
            found ^= _TABLES[15 - k, (low >> shift) & _BYTE] ^ _TABLES[7 - k, (high >> shift) & _BYTE]
        at += np.uint64(_STEP)
    while at < stop:
        found = _TABLES[0, (found ^ np.uint32(buf[at])) & np.uint32(0xFF)] ^ (found >> np.uint32(8))
        at += np.uint64(1)
    return np.uint32(found ^ np.uint32(0xFFFFFFFF))
