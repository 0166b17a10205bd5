"""Blocks of samples to the protobuf of remote write 1.0, compiled: label bytes are copied, numbers written in place.

Message layout, from the remote-write 1.0 specification: WriteRequest{1: TimeSeries…}, TimeSeries{1: Label…,
2: Sample…}, Label{1: name, 2: value}, Sample{1: double value, 2: int64 timestamp in milliseconds}.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cramjam
import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from export.remote_write.labels import EncodedLabels

STALE_BITS = np.uint64(0x7FF0000000000002)  # the one NaN that means "ended"; its bits must arrive unchanged
_SERIES_BYTES = 1 + 5  # tag and length of a TimeSeries
SAMPLE_BYTES = 2 + 1 + 8 + 1 + 10  # tag, length, tag, double, tag, longest varint


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """Samples of some series, as columns of equal length; the samples of one series stand together.

    series: int64[n], number in ``labels``. times_ms: int64[n], ascending within a series. bits: uint64[n], the doubles.
    synthetic: made here (``up``, ends of series, states) and therefore not in the ledger of samples.
    begins_ms: int64[n], when what a counter counts began, 0 where that is not known; None where it never is. For 2.0.
    """

    labels: EncodedLabels
    series: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    bits: NDArray[np.uint64]
    synthetic: bool = False
    begins_ms: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.series.size

    def part(self, begin: int, end: int) -> "SampleBlock":
        """Samples ``begin`` to ``end``, without copying."""
        begins_ms = None if self.begins_ms is None else self.begins_ms[begin:end]
        columns = self.series[begin:end], self.times_ms[begin:end], self.bits[begin:end]
        return SampleBlock(self.labels, *columns, self.synthetic, begins_ms)


class _Labels(NamedTuple):
    """As ``EncodedLabels``, for compiled code."""

    blob: NDArray[np.uint8]
    starts: NDArray[np.int64]


class _Samples(NamedTuple):
    """As the columns of a ``SampleBlock``, for compiled code."""

    series: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    bits: NDArray[np.uint64]


def encode_request(blocks: Sequence[SampleBlock], metadata: bytes = b"") -> bytes:
    """The body of one request: a WriteRequest in snappy's raw format. metadata: of ``encode_metadata``."""
    out = np.empty(sum(map(_bytes_max, blocks)), dtype=np.uint8)
    used = 0
    for block in blocks:
        labels = _Labels(block.labels.blob, block.labels.starts)
        used = _write(labels, _Samples(block.series, block.times_ms, block.bits), out, used)
    return bytes(cramjam.snappy.compress_raw(out[:used].tobytes() + metadata if metadata else out[:used].data))


def _bytes_max(block: SampleBlock) -> int:
    starts = block.labels.starts
    labels = int((starts[block.series + 1] - starts[block.series]).sum())
    return labels + len(block) * (_SERIES_BYTES + SAMPLE_BYTES)


@compiled
def varint_size(value: np.uint64) -> int:
    size = 1
    while value > np.uint64(0x7F):
        value >>= np.uint64(7)
        size += 1
    return size


@compiled
def put_varint(out: NDArray[np.uint8], at: int, value: np.uint64) -> int:
    while value > np.uint64(0x7F):
        out[at] = np.uint8((value & np.uint64(0x7F)) | np.uint64(0x80))
        value >>= np.uint64(7)
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@compiled
def put_sample(out: NDArray[np.uint8], at: int, bits: np.uint64, time_ms: np.int64) -> int:
    out[at] = 0x12  # TimeSeries.samples
    out[at + 1] = 10 + varint_size(np.uint64(time_ms))
    out[at + 2] = 0x09  # Sample.value
    at += 3
    for byte in range(8):
        out[at + byte] = np.uint8((bits >> np.uint64(8 * byte)) & np.uint64(0xFF))
    out[at + 8] = 0x10  # Sample.timestamp
    return put_varint(out, at + 9, np.uint64(time_ms))


@compiled
def _write(labels: _Labels, samples: _Samples, out: NDArray[np.uint8], at: int) -> int:
    """Writes from ``at``; returns where it ended. ``out`` has at least ``_bytes_max`` bytes from there."""
    blob, starts = labels.blob, labels.starts
    series, times_ms, bits = samples.series, samples.times_ms, samples.bits
    begin = 0
    while begin < series.size:
        row = series[begin]
        end = begin
        size = starts[row + 1] - starts[row]
        while end < series.size and series[end] == row:
            size += 12 + varint_size(np.uint64(times_ms[end]))
            end += 1
        out[at] = 0x0A  # WriteRequest.timeseries
        at = put_varint(out, at + 1, np.uint64(size))
        for source in range(starts[row], starts[row + 1]):
            out[at] = blob[source]
            at += 1
        for sample in range(begin, end):
            at = put_sample(out, at, bits[sample], times_ms[sample])
        begin = end
    return at
