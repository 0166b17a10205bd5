"""A scan of OTLP's wire format: one ExportMetricsServiceRequest in, columns out, no Python object per data point.

What it does not read in one pass (a message whose fields come in another order than every encoder writes them) it
hands back: protobuf reads it, and writes it in the usual order. Field numbers: opentelemetry-proto 1.x,
``collector/metrics/v1/metrics_service.proto`` and ``metrics/v1/metrics.proto``.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.hashed_bytes import HashArrays, HashIndex
from common.wire.protobuf import length, little_endian, signed, skip, varint
from common.wire.span_table import SpanTable, find


class Stop(IntEnum):
    """Why a scan stopped."""

    END = 0
    UNUSUAL = 1  # fields in an order that no encoder uses: protobuf has to rewrite the request
    FULL = 2  # the columns are too short
    MALFORMED = 3  # no ExportMetricsServiceRequest


class Part(IntEnum):
    """What a row is of its data point. The rows of one metric with different parts are different series."""

    VALUE = 0  # of a gauge, or of a sum since its start
    COUNT = 1  # of a histogram or summary
    SUM = 2  # of a histogram or summary
    CHANGE = 3  # since the last report (delta temporality), or of no stated temporality


class Points(NamedTuple):
    """The columns that a scan fills, one row a sample.

    slots: of the series. parts: ``Part``. values: NaN where the point says that it has none. times: event time in
    nanoseconds. offsets: int64[:, 6], offset and length in the scanned bytes of resource, metric name and attributes.
    words: int64[3, :], offsets of the eight bytes that are the time and the value, -1 where they are none, and whether
    the value is an integer.
    """

    slots: NDArray[np.int32]
    parts: NDArray[np.int8]
    values: NDArray[np.float64]
    times: NDArray[np.int64]
    offsets: NDArray[np.int64]
    words: NDArray[np.int64]

    @classmethod
    def allocate(cls, n: int) -> "Points":
        return cls(
            np.empty(n, np.int32),
            np.empty(n, np.int8),
            np.empty(n, np.float64),
            np.empty(n, np.int64),
            np.empty((n, 6), np.int64),
            np.empty((3, n), np.int64),
        )


PointArrays = tuple[
    NDArray[np.int32],
    NDArray[np.int8],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
]
"""``Points`` as a plain tuple, in which it enters compiled code."""

PARTS = len(Part)
"""A series' parent is its metric's slot times this, plus its part."""


@compiled
def scan_request(
    buf: NDArray[np.uint8],
    root: int,
    resource_arrays: HashArrays,
    metric_arrays: HashArrays,
    series_arrays: HashArrays,
    columns: PointArrays,
    tally: NDArray[np.int64],
) -> tuple[int, int]:
    """Reads a request into the columns. root: the parent of its resources. Returns the rows written, and Stop.

    tally: int64[3], receives the counts of rows without a known series, of data points, and of those that are a change.
    """
    tally[:] = 0
    resources, metrics, series = HashIndex(*resource_arrays), HashIndex(*metric_arrays), HashIndex(*series_arrays)
    points = Points(*columns)
    bits = np.zeros(1, np.uint64)
    n, at, end = 0, 0, buf.size
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return n, 3
        if signed(tag) != 10:  # resource_metrics = 1
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
        else:
            size, at = length(buf, at, end)
            if at < 0:
                return n, 3
            n, why = _resource_metrics(buf, at, at + size, root, resources, metrics, series, n, points, bits, tally)
            if why:
                return n, why
            at += size
        if at < 0:
            return n, 3
    return n, 0


@compiled
def _resource_metrics(
    buf: NDArray[np.uint8],
    start: int,
    end: int,
    root: int,
    resources: HashIndex,
    metrics: HashIndex,
    series: HashIndex,
    n: int,
    points: Points,
    bits: NDArray[np.uint64],
    tally: NDArray[np.int64],
) -> tuple[int, int]:
    """One ResourceMetrics: the resource is read first, wherever it is."""
    resource, resource_n, seen = start, 0, 0
    at = start
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return n, 3
        if signed(tag) == 10:  # resource = 1
            resource_n, resource = length(buf, at, end)
            seen += 1
            at = resource + resource_n if resource >= 0 else -1
        else:
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
        if at < 0:
            return n, 3
    if seen > 1:
        return n, 1
    slot = find(buf, resource, resource_n, root, resources)
    at = start
    while at < end:
        tag, at = varint(buf, at, end)
        if signed(tag) != 18:  # scope_metrics = 2
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
            continue
        size, at = length(buf, at, end)
        stop = at + size
        while at < stop:
            tag, at = varint(buf, at, stop)
            if at < 0:
                return n, 3
            if signed(tag) != 18:  # metrics = 2
                at = skip(buf, at, stop, signed(tag & np.uint64(7)))
            else:
                size, at = length(buf, at, stop)
                if at < 0:
                    return n, 3
                n, why = _metric(
                    buf, at, at + size, resource, resource_n, slot, metrics, series, n, points, bits, tally
                )
                if why:
                    return n, why
                at += size
            if at < 0:
                return n, 3
    return n, 0


@compiled
def _metric(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    resource: int,
    resource_n: int,
    resource_slot: int,
    metrics: HashIndex,
    series: HashIndex,
    n: int,
    points: Points,
    bits: NDArray[np.uint64],
    tally: NDArray[np.int64],
) -> tuple[int, int]:
    """One Metric: its name and the place of its data, then the data points."""
    name, name_n, data, data_n, kind = at, 0, at, 0, 0
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return n, 3
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if field == 1 and wire == 2:
            name_n, name = length(buf, at, end)
            at = name + name_n if name >= 0 else -1
        elif wire == 2 and (field == 5 or field == 7 or 9 <= field <= 11):
            if kind:
                return n, 1  # a second part of the same data, or other data that replaces it
            kind = field
            data_n, data = length(buf, at, end)
            at = data + data_n if data >= 0 else -1
        else:
            at = skip(buf, at, end, wire)
        if at < 0:
            return n, 3
    if not kind:
        return n, 0
    temporality = 2  # gauges and summaries state none
    if kind == 7 or kind == 9 or kind == 10:
        temporality = _temporality(buf, data, data + data_n)
        if temporality < 0:
            return n, 3
    slot = find(buf, name, name_n, resource_slot, metrics)
    attributes = 9 if kind == 9 else 1 if kind == 10 else 7
    flags = 10 if kind == 9 or kind == 10 else 8
    at, end = data, data + data_n
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return n, 3
        if signed(tag) != 10:  # data_points = 1
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
            if at < 0:
                return n, 3
            continue
        size, at = length(buf, at, end)
        if at < 0:
            return n, 3
        if n + 2 > points.slots.size:
            return n, 2
        n, why = _point(
            buf, at, at + size, kind <= 7, attributes, flags, temporality, slot, series, n, points, bits, tally
        )
        if why:
            return n, why
        offsets = points.offsets
        for row in range(n - 1, max(n - 3, -1), -1):  # one row or two are new
            offsets[row, 0], offsets[row, 1], offsets[row, 2], offsets[row, 3] = resource, resource_n, name, name_n
            if points.parts[row] != 2:
                break
        at += size
    return n, 0


@compiled
def _temporality(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """The aggregation_temporality (field 2) of a Sum or histogram; it comes behind the data points. -1: malformed."""
    found = 0
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return -1
        if signed(tag) == 16:
            number, at = varint(buf, at, end)
            found = signed(number & np.uint64(3))
        else:
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
        if at < 0:
            return -1
    return found


@compiled
def _point(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    is_number: bool,
    attributes_field: int,
    flags_field: int,
    temporality: int,
    metric: int,
    series: HashIndex,
    n: int,
    points: Points,
    bits: NDArray[np.uint64],
    tally: NDArray[np.int64],
) -> tuple[int, int]:
    """One data point: a row, or two for a histogram that has a sum."""
    time, first, last, flags = 0, end, end, 0
    number, total, has_total, has_number = np.nan, np.nan, False, False
    time_at, value_at, is_whole = -1, -1, 0
    while at < end:
        begin = at
        tag, at = varint(buf, at, end)
        if at < 0:
            return n, 3
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if wire == 1:
            if at + 8 > end:
                return n, 3
            word = little_endian(buf, at, 8)
            at += 8
            if field == 3:
                time, time_at = signed(word), at - 8
            elif field == 4 and is_number:
                bits[0] = word
                number, has_number = bits.view(np.float64)[0], True
                value_at, is_whole = at - 8, 0
            elif field == 6 and is_number:
                number, has_number = float(signed(word)), True
                value_at, is_whole = at - 8, 1
            elif field == 4:
                number, has_number = float(word), True
            elif field == 5 and not is_number:
                bits[0] = word
                total, has_total = bits.view(np.float64)[0], True
        elif wire == 2 and field == attributes_field:
            size, at = length(buf, at, end)
            if at < 0:
                return n, 3
            at += size
            if first == end:
                first = begin
            elif last != begin:
                return n, 1  # attributes with another field between them
            last = at
        elif wire == 0 and field == flags_field:
            word, at = varint(buf, at, end)
            flags = signed(word & np.uint64(1))
        else:
            at = skip(buf, at, end, wire)
        if at < 0:
            return n, 3
    if not is_number and not has_number:
        number = 0.0  # a count of zero is not written
    if flags:
        number = total = np.nan  # no recorded value
        value_at = -1
    part = 0 if is_number else 1
    if temporality != 2:
        part = 3
    tally[1] += 1
    tally[2] += part == 3
    for row_part in (part, 2):
        if row_part == 2 and (part == 3 or not has_total):
            break
        slot = find(buf, first, last - first, metric * PARTS + row_part if metric >= 0 else -1, series)
        tally[0] += slot < 0
        points.slots[n] = slot
        points.parts[n], points.times[n] = row_part, time
        points.values[n] = total if row_part == 2 else number
        points.offsets[n, 4], points.offsets[n, 5] = first, last - first
        points.words[0, n], points.words[1, n], points.words[2, n] = time_at, value_at, is_whole
        n += 1
    return n, 0


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    table = SpanTable()
    table.add(b"a", 0)
    table.get(b"a", 0)
    index = (*table.index,)
    scan_request(np.zeros(0, np.uint8), 0, index, index, index, (*Points.allocate(1),), np.zeros(3, np.int64))
