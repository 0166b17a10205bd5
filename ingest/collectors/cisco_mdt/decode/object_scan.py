"""A scan of the objects in a row of self-describing GPB: their attributes in, columns out.

An object is found by its class and dn, or by its class, its parent and rn; its attributes by its slot. One that was not
read before leaves the whole row to Python, as do fields that are not as NX-OS writes them.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import HashIndex
from common.wire.protobuf import length, signed, skip, varint
from common.wire.span_table import find
from ingest.collectors.cisco_mdt.decode.field_head import field_head
from ingest.collectors.gnmi.decode.scan import ScannedArrays

FRAMES_MAX = 64  # containers within each other; an object below another one takes four
CLASSES = 1 << 40
"""Parent of the classes of objects that state their dn; of those that do not, one more than this and their parent."""
ATTRIBUTES = 1 << 41
"""Parent of what is known of the attributes of a class, added to its slot."""


@compiled_uncounted
def _is_envelope(buf: NDArray[np.uint8], name: int, size: int) -> bool:
    """children, imdata, and entries of a list, which have no name."""
    if size == 0:
        return True
    if size == 8:
        return bool(buf[name] == 99 and buf[name + 1] == 104 and buf[name + 2] == 105 and buf[name + 7] == 110)
    return size == 6 and buf[name] == 105 and buf[name + 1] == 109 and buf[name + 2] == 100 and buf[name + 5] == 97


@compiled_uncounted
def _is_attributes(buf: NDArray[np.uint8], name: int, size: int) -> bool:
    return size == 10 and buf[name] == 97 and buf[name + 1] == 116 and buf[name + 2] == 116 and buf[name + 9] == 115


@compiled_uncounted
def _digits(buf: NDArray[np.uint8], at: int, size: int) -> float:
    """The number in a text of up to 19 digits; -1 for any other text."""
    if size == 0 or size > 19:
        return -1.0
    number = np.uint64(0)
    for i in range(at, at + size):
        if buf[i] < 48 or buf[i] > 57:
            return -1.0
        number = number * np.uint64(10) + np.uint64(buf[i] - np.uint8(48))
    return float(number)


@compiled_uncounted
def _next(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Offset and end of the next nested field (15) in at..end; both ``end`` without one, -1 when malformed."""
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return -1, -1
        if signed(tag) == 122:
            size, at = length(buf, at, end)
            return (at, at + size) if at >= 0 else (-1, -1)
        at = skip(buf, at, end, signed(tag & np.uint64(7)))
        if at < 0:
            return -1, -1
    return end, end


@compiled_uncounted
def _attributes(buf: NDArray[np.uint8], at: int, end: int, bits: NDArray[np.uint64]) -> tuple[int, int]:
    """Begin and end of the attributes of the object in at..end; -1 where Python reads it, -3 when malformed."""
    while True:
        at, stop = _next(buf, at, end)
        if at < 0:
            return -3, 0
        if at == end:
            return -1, 0
        name, size, _, _, _, _, nested, _ = field_head(buf, at, stop, bits)
        if name < 0:
            return -3, 0
        if _is_attributes(buf, name, size):
            at, last = _next(buf, nested, stop)
            if at < 0:
                return -3, 0
            if at == stop or last != stop:
                return -1, 0
            name, size, _, _, _, _, nested, _ = field_head(buf, at, stop, bits)
            if name < 0:
                return -3, 0
            return (nested, stop) if size == 0 and nested < stop else (-1, 0)
        at = stop


@compiled_uncounted
def _slot(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    name: int,
    name_n: int,
    parent: int,
    index: HashIndex,
    bits: NDArray[np.uint64],
) -> tuple[int, int]:
    """The slots of the object with the attributes at..end, and of its class, -1 for unknown ones; -3 when malformed."""
    rn, rn_n = at, 0
    kind = find(buf, name, name_n, 1 << 40, index)
    while at < end:
        at, stop = _next(buf, at, end)
        if at < 0:
            return -3, 0
        if at == end:
            break
        key, size, value, _, where, value_n, _, _ = field_head(buf, at, stop, bits)
        if key < 0:
            return -3, 0
        if size == 2 and buf[key + 1] == 110 and value == 1:
            if buf[key] == 100 and value_n > 0:  # dn
                return find(buf, where, value_n, kind + 1, index) if kind >= 0 else -1, kind
            if buf[key] == 114:  # rn
                rn, rn_n = where, value_n
        at = stop
    below = find(buf, name, name_n, (1 << 40) + 1 + parent, index)
    return find(buf, rn, rn_n, below + 1, index) if below >= 0 else -1, kind


@compiled_uncounted
def _object(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    slot: int,
    kind: int,
    index: HashIndex,
    shapes: NDArray[np.int8],
    columns: ScannedArrays,
    n: int,
    bits: NDArray[np.uint64],
) -> tuple[int, int]:
    """The attributes at..end of an object. Returns as ``scan_objects`` does."""
    slots, kinds, numbers, offsets = columns[0], columns[1], columns[2], columns[4]
    left_out = 0
    while at < end:
        at, stop = _next(buf, at, end)
        if at < 0:
            return -3, 0
        if at == end:
            break
        name, name_n, value, number, where, value_n, nested, _ = field_head(buf, at, stop, bits)
        if name < 0:
            return -3, 0
        of_class = find(buf, name, name_n, (1 << 41) + kind, index)
        if nested < stop or of_class < 0 or shapes[of_class] == 0:
            return -1, 0
        at = stop
        if shapes[of_class] == 4:
            left_out += 1
            continue
        leaf = find(buf, name, name_n, slot + 1, index)
        if leaf < 0 or value < 0:
            return -1, 0
        if n == slots.size:
            return -2, 0
        if value == 1 and shapes[leaf] == 6:
            number = _digits(buf, where, value_n)
            if number >= 0.0:
                value = 0
        slots[n], kinds[n], numbers[n] = leaf, value, number
        offsets[n, 0], offsets[n, 1] = where, value_n
        n += 1
    return n, left_out


@compiled_uncounted
def scan_objects(
    buf: NDArray[np.uint8],
    begin: int,
    end: int,
    path: int,
    index: HashIndex,
    shapes: NDArray[np.int8],
    columns: ScannedArrays,
    n: int,
    stack: NDArray[np.int64],
    bits: NDArray[np.uint64],
) -> tuple[int, int]:
    """The objects in begin..end, the content of a row. path: the slot of its encoding path.

    stack: int64[FRAMES_MAX, 6], of each container that is open where it goes on and ends; what it is, 0 a list or what
    holds classes, 1 what holds the objects of a class, 2 an object; the slot of the object that it is or is below; and
    offset and length of the name of a class.
    Returns columns written by now, -1 when Python has to read the row, -2 when they are full, -3 when it is malformed;
    and how many values nothing reads.
    """
    left_out, depth = 0, 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = begin, end, 0, path
    while depth >= 0:
        at, stop = _next(buf, stack[depth, 0], stack[depth, 1])
        if at < 0:
            return -3, 0
        if at == stack[depth, 1]:
            depth -= 1
            continue
        name, name_n, value, _, _, _, nested, _ = field_head(buf, at, stop, bits)
        if name < 0:
            return -3, 0
        stack[depth, 0] = stop
        kind, slot = stack[depth, 2], stack[depth, 3]
        is_envelope = _is_envelope(buf, name, name_n)
        if kind == 2 and _is_attributes(buf, name, name_n):
            continue
        if nested == stop:
            if kind == 1 or (value >= 0 and (kind == 2 or is_envelope)):
                return -1, 0
            left_out += not is_envelope
            continue
        inner = 0
        if kind == 1:
            if name_n:
                return -1, 0
            first, last = _attributes(buf, nested, stop, bits)
            if first < 0:
                return first, 0
            slot, of_class = _slot(buf, first, last, stack[depth, 4], stack[depth, 5], slot, index, bits)
            if slot < 0 or of_class < 0:
                return slot if slot == -3 else -1, 0
            n, more = _object(buf, first, last, slot, of_class, index, shapes, columns, n, bits)
            if n < 0:
                return n, 0
            left_out += more
            inner = 2
        elif not is_envelope:
            if kind == 2:
                return -1, 0
            inner = 1
        elif kind == 2 and name_n != 8:
            return -1, 0
        depth += 1
        if depth == stack.shape[0]:
            return -1, 0
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = nested, stop, inner, slot
        stack[depth, 4], stack[depth, 5] = name, name_n
    return n, left_out
