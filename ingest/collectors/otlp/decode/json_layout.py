"""Requests in JSON that repeat an earlier one but for times and values: the earlier one in protobuf, with these.

Protobuf's reader of JSON makes objects of everything, 0.1 ms for a data point. A sender sends the same series again and
again, so of a layout three requests are read like that: the first two, and one in which each number is another one,
which shows where protobuf has them.
"""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.otlp.decode.json_body import protobuf_of
from ingest.collectors.otlp.decode.json_scan import Kind, split

TEXT_BYTES_MAX = 1 << 20
LAYOUTS_BYTES_MAX = 64 << 20
_SEEN_MAX = 50_000
_FULL_EVERY = 64  # when there is no room, one of so many takes that of the oldest: each costs a reading
_OBJECTS_BYTES = 512  # of what Python adds to a layout
_SHORTEST = len('"asInt":1,')
_WORD = np.arange(8)
_WHOLE, _DOUBLE = 0x2F3C_91E7_5A00_0000, 0x4A5C_37D2_1B00_0000
"""The first of the numbers that stand for others: as an integer, and as the bits of a double. No text has their bytes,
as they are no UTF-8. Who writes one elsewhere, as an attribute, gives it other values, and nobody else's."""
_MARKS_MAX = 1 << 24


@dataclass(frozen=True, slots=True)
class Numbers:
    """What stands in the holes of a frame.

    kinds: ``Kind``. spans: int64[:, 2], in the text. words: int64, as protobuf writes it, of a double its bits.
    """

    kinds: NDArray[np.int8]
    spans: NDArray[np.int64]
    words: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Layout:
    """template: uint8, a request in protobuf. places: where it has words of eight bytes. which: the number of each."""

    template: NDArray[np.uint8]
    places: NDArray[np.int64]
    which: NDArray[np.int64]

    def filled(self, words: NDArray[np.int64]) -> bytes:
        data = self.template.copy()
        data[self.places[:, np.newaxis] + _WORD] = words[self.which].view(np.uint8).reshape(-1, 8)
        return data.tobytes()

    @property
    def size(self) -> int:
        return self.template.nbytes + self.places.nbytes + self.which.nbytes + _OBJECTS_BYTES


class JsonLayouts:
    """Those of all senders of a receiver. Used by one thread at a time. size: in bytes of memory."""

    def __init__(self) -> None:
        self._layouts: dict[bytes, _Layout] = {}
        self._seen: dict[bytes, None] = {}  # once
        self.size = self._left_out = 0

    def __len__(self) -> int:
        return len(self._layouts)

    def protobuf_of(self, text: bytes) -> bytes:
        """As the function of this name: an ExportMetricsServiceRequest, serialised. BadInput when the text is none."""
        found = take_out(text) if len(text) <= TEXT_BYTES_MAX else None
        if found is None:
            return protobuf_of(text)
        frame, numbers = found
        key = blake2b(frame, digest_size=16).digest()
        layout = self._layouts.get(key)
        if layout is not None:
            return layout.filled(numbers.words)
        data = protobuf_of(text)
        if key not in self._seen:
            self._see(key)
        elif self._has_room():
            self._add(key, _learn(text, numbers))
        return data

    def _see(self, key: bytes) -> None:
        self._seen[key] = None
        if len(self._seen) > _SEEN_MAX:
            del self._seen[next(iter(self._seen))]

    def _has_room(self) -> bool:
        if self.size < LAYOUTS_BYTES_MAX:
            return True
        self._left_out += 1
        return self._left_out % _FULL_EVERY == 0

    def _add(self, key: bytes, layout: _Layout) -> None:
        del self._seen[key]
        self._layouts[key] = layout
        self.size += layout.size
        while self.size > LAYOUTS_BYTES_MAX:
            self.size -= self._layouts.pop(next(iter(self._layouts))).size


def take_out(text: bytes) -> tuple[bytes, Numbers] | None:
    """The frame of a text and its numbers; None when protobuf's reader has to look at it by itself."""
    buf = np.frombuffer(text, np.uint8)
    most = min(buf.size // _SHORTEST + 1, _MARKS_MAX)
    frame, kinds, spans = np.empty(buf.size + 2, np.uint8), np.empty(most, np.int8), np.empty((most, 2), np.int64)
    doubles = np.empty(most)
    words = doubles.view(np.int64)
    size, n = split(buf, frame, kinds, spans, doubles, words)
    if size < 0:
        return None
    for row in np.flatnonzero(kinds[:n] == Kind.ROUNDED).tolist():
        begin, end = spans[row].tolist()
        doubles[row] = float(text[begin:end])
    return frame[:size].tobytes(), Numbers(kinds[:n], spans[:n], words[:n])


def _learn(text: bytes, numbers: Numbers) -> _Layout:
    """That of a text which protobuf has read.

    A number that protobuf has not, as that of a field which it does not know, has no place.
    """
    rows = np.arange(numbers.words.size)
    if not rows.size:
        return _Layout(np.frombuffer(protobuf_of(text), np.uint8), rows, rows)
    is_whole = numbers.kinds == Kind.WHOLE
    marks = np.where(is_whole, _WHOLE, _DOUBLE) + rows
    pieces, at = list[bytes](), 0
    for (begin, end), mark, whole in zip(numbers.spans.tolist(), marks, is_whole.tolist(), strict=True):
        written = str(int(mark)) if whole else repr(float(mark.view(np.float64)))
        pieces += text[at:begin], written.encode()
        at = end
    template = np.frombuffer(protobuf_of(b"".join((*pieces, text[at:]))), np.uint8).copy()
    padded = np.concatenate((template, np.zeros(_WORD.size, np.uint8)))
    words = np.lib.stride_tricks.sliding_window_view(padded, _WORD.size).copy().view(np.int64)[:, 0]
    low = words & ~np.int64(_MARKS_MAX - 1)
    places = np.flatnonzero((low == _WHOLE) | (low == _DOUBLE))
    which = words[places] & (_MARKS_MAX - 1)
    is_mark = (which < rows.size) & (marks[np.minimum(which, rows.size - 1)] == words[places])
    return _Layout(template, places[is_mark], which[is_mark])


def warm_up() -> None:
    """Compiles the pass over a text, or loads it from the disk cache."""
    take_out(b'{"timeUnixNano":"1","asDouble":0.5}')
