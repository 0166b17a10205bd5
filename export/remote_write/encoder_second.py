"""Blocks of samples to the protobuf of remote write 2.0, compiled.

Message layout, from the specification: Request{4: symbols…, 5: TimeSeries…}, TimeSeries{1: packed references of labels,
2: Sample…, 5: Metadata}, Sample{1: double value, 2: int64 timestamp in milliseconds, 3: int64 start of the counter, the
same}, Metadata{1: type, 3: reference of the help, 4: of the unit}.
"""

from collections.abc import Sequence
from typing import NamedTuple

import cramjam
import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from export.remote_write.encoder import SAMPLE_BYTES, SampleBlock, put_sample, put_varint, varint_size
from export.remote_write.symbols import Interned
from export.remote_write.wire import field

_SERIES_BYTES = 2 * (1 + 5)  # tags and lengths of a TimeSeries and of its references
_METADATA_BYTES = 2 + 3 * (1 + 5)
_REF_BYTES = 5
_BEGIN_BYTES = 1 + 10
_NO_BEGINS = np.zeros(0, dtype=np.int64)


class _Labels(NamedTuple):
    """As ``Interned``, for compiled code. symbols: uint32, the place in the request of each text that it uses."""

    refs: NDArray[np.uint32]
    starts: NDArray[np.int64]
    about: NDArray[np.uint32]
    symbols: NDArray[np.uint32]


class _Samples(NamedTuple):
    """As the columns of a ``SampleBlock``, for compiled code. begins_ms: empty where none is known."""

    series: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    bits: NDArray[np.uint64]
    begins_ms: NDArray[np.int64]


def encode_second(blocks: Sequence[SampleBlock]) -> bytes:
    """The body of one request of 2.0: a Request in snappy's raw format."""
    symbols: dict[bytes, int] = {b"": 0}
    places = _place(blocks, symbols)
    out = np.empty(sum(map(_bytes_max, blocks)), dtype=np.uint8)
    used = 0
    for block in blocks:
        interned = block.labels.interned
        labels = _Labels(interned.refs, interned.starts, interned.about, places[id(interned)])
        begins_ms = _NO_BEGINS if block.begins_ms is None else block.begins_ms
        used = _write(labels, _Samples(block.series, block.times_ms, block.bits, begins_ms), out, used)
    texts = b"".join(field(4, text) for text in symbols)
    return bytes(cramjam.snappy.compress_raw(texts + out[:used].tobytes()))


def _place(blocks: Sequence[SampleBlock], symbols: dict[bytes, int]) -> dict[int, NDArray[np.uint32]]:
    """Adds the texts that the blocks use to ``symbols``; by id of ``Interned``, the place of each of its texts."""
    used: dict[int, tuple[Interned, NDArray[np.bool_]]] = {}
    for block in blocks:
        interned = block.labels.interned
        _, found = used.setdefault(id(interned), (interned, np.zeros(len(interned.texts), dtype=np.bool_)))
        _mark(interned.refs, interned.starts, interned.about, block.series, found)
    places = {}
    for key, (interned, found) in used.items():
        places[key] = np.zeros(found.size, dtype=np.uint32)
        for local in np.flatnonzero(found).tolist():
            places[key][local] = symbols.setdefault(interned.texts[local], len(symbols))
    return places


def _bytes_max(block: SampleBlock) -> int:
    starts = block.labels.interned.starts
    refs = int((starts[block.series + 1] - starts[block.series]).sum())
    return refs * _REF_BYTES + len(block) * (_SERIES_BYTES + _METADATA_BYTES + SAMPLE_BYTES + _BEGIN_BYTES)


@compiled
def _mark(
    refs: NDArray[np.uint32],
    starts: NDArray[np.int64],
    about: NDArray[np.uint32],
    series: NDArray[np.int64],
    found: NDArray[np.bool_],
) -> None:
    for row in series:
        for place in range(starts[row], starts[row + 1]):
            found[refs[place]] = True
        found[about[1, row]] = True
        found[about[2, row]] = True


@compiled
def _put_refs(labels: _Labels, row: int, out: NDArray[np.uint8], at: int) -> int:
    size = 0
    for place in range(labels.starts[row], labels.starts[row + 1]):
        size += varint_size(np.uint64(labels.symbols[labels.refs[place]]))
    out[at] = 0x0A  # TimeSeries.labels_refs
    at = put_varint(out, at + 1, np.uint64(size))
    for place in range(labels.starts[row], labels.starts[row + 1]):
        at = put_varint(out, at, np.uint64(labels.symbols[labels.refs[place]]))
    return at


@compiled
def _put_metadata(labels: _Labels, row: int, out: NDArray[np.uint8], at: int) -> int:
    out[at] = 0x2A  # TimeSeries.metadata; its length, which is less than 128, follows when it is known
    length_at = at + 1
    at += 2
    kind = labels.about[0, row]
    if kind:
        out[at] = 0x08  # Metadata.type
        at = put_varint(out, at + 1, np.uint64(kind))
    for which in (1, 2):
        symbol = labels.symbols[labels.about[which, row]]
        if symbol:
            out[at] = 0x18 if which == 1 else 0x20  # Metadata.help_ref, Metadata.unit_ref
            at = put_varint(out, at + 1, np.uint64(symbol))
    out[length_at] = at - length_at - 1
    return at


@compiled
def _write(labels: _Labels, samples: _Samples, out: NDArray[np.uint8], at: int) -> int:
    """Writes from ``at``; returns where it ended. A series is written behind its length once that is known."""
    series, times_ms, bits = samples.series, samples.times_ms, samples.bits
    begin = 0
    while begin < series.size:
        row = series[begin]
        body = at + 6  # room for the tag and the longest length; what is not needed is closed up below
        end = _put_metadata(labels, row, out, _put_refs(labels, row, out, body))
        last = begin
        while last < series.size and series[last] == row:
            sample = end
            end = put_sample(out, sample, bits[last], times_ms[last])
            if samples.begins_ms.size and samples.begins_ms[last]:
                out[end] = 0x18  # Sample.start_timestamp
                end = put_varint(out, end + 1, np.uint64(samples.begins_ms[last]))
                out[sample + 1] = end - sample - 2  # Sample's length is less than 128
            last += 1
        out[at] = 0x2A  # Request.timeseries
        at = put_varint(out, at + 1, np.uint64(end - body))
        for source in range(body, end):
            out[at] = out[source]
            at += 1
        begin = last
    return at
