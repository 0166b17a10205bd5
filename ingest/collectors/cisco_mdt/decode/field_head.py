"""The head of a TelemetryField, for the scans: its name, its value, and where its nested fields begin."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.protobuf import length, little_endian, signed, skip, varint

FieldHead = tuple[int, int, int, float, int, int, int, int]


@compiled_uncounted
def field_head(buf: NDArray[np.uint8], at: int, end: int, bits: NDArray[np.uint64]) -> FieldHead:
    """The head of a TelemetryField: offset and length of its name; kind, number, offset and length of its value; offset
    of its first nested field, ``end`` without one; its timestamp.

    kind: -1 without a value, else as ``ValueKind``: 0 a number, 1 text, 3 bytes. A negative offset is malformed.
    """
    name, name_n, kind, number, where, size, time = at, 0, -1, 0.0, at, 0, 0
    while at < end:
        begin = at
        tag, at = varint(buf, at, end)
        if at < 0:
            return -1, 0, 0, 0.0, 0, 0, 0, 0
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if field == 15 and wire == 2:
            return name, name_n, kind, number, where, size, begin, time
        if field == 2 and wire == 2:
            name_n, name = length(buf, at, end)
            at = name + name_n if name >= 0 else -1
        elif (field == 4 or field == 5) and wire == 2:
            size, where = length(buf, at, end)
            kind = 3 if field == 4 else 1
            at = where + size if where >= 0 else -1
        elif wire == 0 and (field == 1 or 6 <= field <= 10):
            raw, at = varint(buf, at, end)
            if field == 1:
                time = signed(raw)
            elif field >= 9:  # zigzag
                kind = 0
                number = float(signed(raw >> np.uint64(1)) ^ -signed(raw & np.uint64(1)))
            else:
                kind, number = 0, float(raw)
        elif field == 11 and wire == 1 and at + 8 <= end:
            bits[0] = little_endian(buf, at, 8)
            kind, number, at = 0, bits.view(np.float64)[0], at + 8
        elif field == 12 and wire == 5 and at + 4 <= end:
            bits[0] = little_endian(buf, at, 4)
            kind, number, at = 0, float(bits.view(np.float32)[0]), at + 4
        else:
            at = skip(buf, at, end, wire)
        if at < 0:
            return -1, 0, 0, 0.0, 0, 0, 0, 0
    return name, name_n, kind, number, where, size, end, time
