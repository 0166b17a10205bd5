"""The passes over the bytes of a request, compiled: 1.0 (``prometheus.WriteRequest``) and 2.0
(``io.prometheus.write.v2.Request``) to the same columns.

The labels of each series become one key: its ``labels`` as 1.0 encodes them, so that a series has one key in both. In
2.0 they are references to the symbols of the request, and written out here.
Field numbers: prompb/remote.proto, prompb/types.proto and prompb/io/prometheus/write/v2/types.proto of Prometheus.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled, compiled_uncounted
from common.wire.protobuf import copy, length, little_endian, put_varint, signed, skip, varint, varint_size

MALFORMED = -1
SERIES, SAMPLES, KEY_BYTES, HISTOGRAMS, EXEMPLARS, SIZES = range(6)
SERIES_FIELD_1, SERIES_FIELD_2 = 1, 5
_SYMBOL_FIELD = 4
_REF_BYTES_MAX = 12  # what a reference adds to its text: two tags and two lengths of at most five bytes
BAD_KEY = -1  # in place of a key's length: references that lead nowhere


class Columns(NamedTuple):
    """What a request holds. keys: uint8, all keys; spans: int64[series, 2], offset and length of each in it.

    owners: int64, number of the sample's series. times_ms: int64, milliseconds since the Unix epoch. values: float64.
    """

    keys: NDArray[np.uint8]
    spans: NDArray[np.int64]
    owners: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def allocate(cls, sizes: NDArray[np.int64]) -> "Columns":
        series, samples = int(sizes[SERIES]), int(sizes[SAMPLES])
        return cls(
            np.empty(int(sizes[KEY_BYTES]), np.uint8),
            np.zeros((series, 2), np.int64),
            np.empty(samples, np.int64),
            np.zeros(samples, np.int64),
            np.zeros(samples),
        )


@compiled_uncounted
def _tag(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int, int]:
    """Field, wire type, and the offset after the tag; offset -1 when malformed."""
    tag, at = varint(buf, at, end)
    return signed(tag >> np.uint64(3)), signed(tag & np.uint64(7)), at


@compiled_uncounted
def count_symbols(buf: NDArray[np.uint8]) -> int:
    """Of a request of 2.0; MALFORMED when it is none."""
    at, count = 0, 0
    while at < buf.size:
        field, wire, at = _tag(buf, at, buf.size)
        if at < 0:
            return MALFORMED
        count += field == _SYMBOL_FIELD and wire == 2
        at = skip(buf, at, buf.size, wire)
        if at < 0:
            return MALFORMED
    return count


@compiled_uncounted
def read_symbols(buf: NDArray[np.uint8], symbols: NDArray[np.int64]) -> None:
    """symbols: int64[count, 2], receives offset and length of each. Of a body that ``count_symbols`` has accepted."""
    at, place = 0, 0
    while at < buf.size:
        field, wire, at = _tag(buf, at, buf.size)
        if field == _SYMBOL_FIELD and wire == 2:
            size, at = length(buf, at, buf.size)
            symbols[place, 0], symbols[place, 1] = at, size
            place += 1
            at += size
        else:
            at = skip(buf, at, buf.size, wire)


@compiled_uncounted
def _measure_refs(
    buf: NDArray[np.uint8], at: int, end: int, symbols: NDArray[np.int64], sizes: NDArray[np.int64]
) -> int:
    while at < end:
        ref, at = varint(buf, at, end)
        if at < 0:
            return MALFORMED
        sizes[KEY_BYTES] += _REF_BYTES_MAX
        if ref < np.uint64(symbols.shape[0]):
            sizes[KEY_BYTES] += symbols[signed(ref), 1]
    return at


@compiled_uncounted
def measure(buf: NDArray[np.uint8], series_field: int, symbols: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
    """Counts what ``fill`` will write, keys at most; False when malformed. sizes: int64[SIZES], zero.

    series_field: SERIES_FIELD_1 or SERIES_FIELD_2, which says which request it is.
    """
    is_second = series_field == SERIES_FIELD_2
    at = 0
    while at < buf.size:
        field, wire, at = _tag(buf, at, buf.size)
        if at < 0:
            return False
        if field != series_field or wire != 2:
            at = skip(buf, at, buf.size, wire)
            if at < 0:
                return False
            continue
        size, at = length(buf, at, buf.size)
        if at < 0:
            return False
        end = at + size
        sizes[SERIES] += 1
        while at < end:
            begin = at
            field, wire, at = _tag(buf, at, end)
            if at < 0:
                return False
            body = at
            at = skip(buf, at, end, wire)
            if at < 0:
                return False
            if field == 1 and not is_second and wire == 2:
                sizes[KEY_BYTES] += at - begin
            elif field == 1 and wire == 2:
                _, refs = length(buf, body, end)
                if _measure_refs(buf, refs, at, symbols, sizes) < 0:
                    return False
            elif field == 1 and wire == 0:
                if _measure_refs(buf, body, at, symbols, sizes) < 0:
                    return False
            elif field == 2 and wire == 2:
                sizes[SAMPLES] += 1
            elif field == 3 and wire == 2:
                sizes[HISTOGRAMS if is_second else EXEMPLARS] += 1
            elif field == 4 and wire == 2:
                sizes[EXEMPLARS if is_second else HISTOGRAMS] += 1
    return True


@compiled
def measure_all(buf: NDArray[np.uint8], ends: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
    """Counts what ``fill`` will write of bodies of 1.0, each of which ends at its ``ends``; False for a malformed one.

    A body is measured by itself, as one that is cut off might go on with the next.
    """
    at = 0
    symbols = np.empty((0, 2), np.int64)
    for end in ends:
        if not measure(buf[at:end], SERIES_FIELD_1, symbols, sizes):
            return False
        at = end
    return True


@compiled_uncounted
def _put_text(
    buf: NDArray[np.uint8], symbols: NDArray[np.int64], ref: int, tag: int, out: NDArray[np.uint8], at: int
) -> int:
    begin, size = symbols[ref, 0], symbols[ref, 1]
    out[at] = tag
    return copy(buf, begin, begin + size, out, put_varint(out, at + 1, np.uint64(size)))


@compiled_uncounted
def _text_size(size: int) -> int:
    """Of a text with its length."""
    return varint_size(np.uint64(size)) + size


@compiled_uncounted
def _put_labels(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    symbols: NDArray[np.int64],
    pending: int,
    out: NDArray[np.uint8],
    used: int,
) -> tuple[int, int]:
    """Writes pairs of references as labels; returns the reference that still waits for its value, or -1, and where it
    ended. The latter is -1 for a reference that leads nowhere."""
    while at < end:
        ref, at = varint(buf, at, end)
        if ref >= np.uint64(symbols.shape[0]):
            return -1, -1
        if pending < 0:
            pending = signed(ref)
            continue
        name, text = symbols[pending, 1], symbols[signed(ref), 1]
        out[used] = 0x0A  # TimeSeries.labels
        used = put_varint(out, used + 1, np.uint64(2 + _text_size(name) + _text_size(text)))
        used = _put_text(buf, symbols, pending, 0x0A, out, used)  # Label.name
        used = _put_text(buf, symbols, signed(ref), 0x12, out, used)  # Label.value
        pending = -1
    return pending, used


@compiled_uncounted
def _sample(buf: NDArray[np.uint8], at: int, end: int, columns: Columns, row: int, bits: NDArray[np.uint64]) -> bool:
    while at < end:
        field, wire, at = _tag(buf, at, end)
        if at < 0:
            return False
        if field == 1 and wire == 1 and at + 8 <= end:
            bits[row] = little_endian(buf, at, 8)
            at += 8
        elif field == 2 and wire == 0:
            time_ms, at = varint(buf, at, end)
            columns.times_ms[row] = signed(time_ms)
        else:
            at = skip(buf, at, end, wire)
        if at < 0:
            return False
    return True


@compiled_uncounted
def fill(buf: NDArray[np.uint8], series_field: int, symbols: NDArray[np.int64], columns: Columns) -> bool:
    """Writes series and samples of a body that ``measure`` has accepted; False when a sample is malformed."""
    is_second = series_field == SERIES_FIELD_2
    bits = columns.values.view(np.uint64)
    keys, spans = columns.keys, columns.spans
    at, series, row, used = 0, 0, 0, 0
    while at < buf.size:
        field, wire, at = _tag(buf, at, buf.size)
        if field != series_field or wire != 2:
            at = skip(buf, at, buf.size, wire)
            continue
        size, at = length(buf, at, buf.size)
        end = at + size
        begins, pending, is_bad = used, -1, False
        while at < end:
            begin = at
            field, wire, at = _tag(buf, at, end)
            body = at
            at = skip(buf, at, end, wire)
            if field == 1 and not is_second and wire == 2:
                while at < end and buf[at] == 0x0A:  # the labels of a series stand together: one copy for all
                    at = skip(buf, at + 1, end, 2)
                used = copy(buf, begin, at, keys, used)
            elif field == 1 and (wire == 2 or wire == 0) and not is_bad:
                refs = length(buf, body, end)[1] if wire == 2 else body
                pending, after = _put_labels(buf, refs, at, symbols, pending, keys, used)
                is_bad = after < 0
                used = used if is_bad else after
            elif field == 2 and wire == 2:
                _, start = length(buf, body, end)
                columns.owners[row] = series
                if not _sample(buf, start, at, columns, row, bits):
                    return False
                row += 1
        spans[series, 0] = begins
        spans[series, 1] = BAD_KEY if is_bad or pending >= 0 else used - begins
        series += 1
    return True
