"""One request to slots, times and values of its samples: the series that are new are shown to ``PushedSeries``."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from enum import Enum

import cramjam
import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from common.units import NS_PER_MS
from ingest.collectors.admitted import Admitted
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.remote_write.decode import scan
from ingest.collectors.remote_write.decode.known import UNKNOWN, UNREADABLE, KnownSeries
from ingest.collectors.remote_write.decode.labels import read_labels
from ingest.collectors.remote_write.decode.scan import Columns

BAD_BODY, TOO_LARGE = "bad_body", "too_large"
_TIME_MS_MAX = 2**62 // NS_PER_MS  # an event time that is refused in any case
_NO_SYMBOLS = np.empty((0, 2), np.int64)


class Message(Enum):
    """What a request is, by its content type. value: field number of its series."""

    FIRST = scan.SERIES_FIELD_1
    SECOND = scan.SERIES_FIELD_2


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What one request holds. window: that of ``RequestReader`` in which its samples are admitted.

    bad, refused: samples of series whose labels are of no use, and of those for which there is no room.
    problem: about the first of these, '' without any.
    """

    window: int
    samples: int
    histograms: int
    exemplars: int
    bad: int = 0
    refused: int = 0
    problem: str = ""


def unpack(body: bytes, bytes_max: int) -> bytes:
    """A body without its compression, Snappy's block format. BadInput when it is another one, or too large."""
    try:
        size = cramjam.snappy.decompress_raw_len(body)  # as the format begins: nothing is unpacked yet
        if size <= bytes_max:
            return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError:
        raise BadInput("expected Snappy's block format", BAD_BODY) from None
    raise BadInput(f"{size} bytes unpacked: at most {bytes_max}", TOO_LARGE)


class RequestReader:
    """Reads the requests of all senders. Not shared between threads.

    bytes_max: of one body unpacked. window: how often ``admit`` was called. unmapped: names that nothing maps.
    """

    def __init__(self, series: PushedSeries, bytes_max: int) -> None:
        self._series, self._bytes_max = series, bytes_max
        self._known = KnownSeries()
        self._bad: dict[int, str] = {}
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        self.window = 0

    @property
    def unmapped(self) -> Set[str]:
        return self._series.unmapped

    def read(self, body: bytes, message: Message) -> ReadRequest:
        """Its samples wait for ``admit``. BadInput when the request as a whole is of no use."""
        return self._read_unpacked(unpack(body, self._bytes_max), message)

    def read_together(self, bodies: Iterable[bytes]) -> tuple[int, int]:
        """Bodies of 1.0, read as ``read`` would read each of them; their native histograms, and how many are no bodies.

        The series of several bodies, one after the other, are a body too: so small ones cost little each.
        """
        histograms = of_no_use = size = 0
        unpacked: list[bytes] = []
        for body in bodies:
            try:
                unpacked.append(unpack(body, self._bytes_max))
            except BadInput:
                of_no_use += 1
                continue
            size += len(unpacked[-1])
            if size > self._bytes_max:
                found, bad = self._read_joined(unpacked)
                histograms, of_no_use, size, unpacked = histograms + found, of_no_use + bad, 0, []
        found, bad = self._read_joined(unpacked)
        return histograms + found, of_no_use + bad

    def _read_joined(self, unpacked: Sequence[bytes]) -> tuple[int, int]:
        buf, sizes = np.frombuffer(b"".join(unpacked), np.uint8), np.zeros(scan.SIZES, np.int64)
        ends = np.cumsum([len(each) for each in unpacked], dtype=np.int64)
        if scan.measure_all(buf, ends, sizes):
            try:
                return self._read_measured(buf, Message.FIRST, _NO_SYMBOLS, sizes).histograms, 0
            except BadInput:  # a sample of one of them
                pass
        histograms = of_no_use = 0
        for each in unpacked:
            try:
                histograms += self._read_unpacked(each, Message.FIRST).histograms
            except BadInput:
                of_no_use += 1
        return histograms, of_no_use

    def _read_unpacked(self, body: bytes, message: Message) -> ReadRequest:
        buf = np.frombuffer(body, np.uint8)
        symbols = _NO_SYMBOLS if message is Message.FIRST else _symbols(buf)
        sizes = np.zeros(scan.SIZES, np.int64)
        if not scan.measure(buf, message.value, symbols, sizes):
            raise BadInput(f"expected {_NAMES[message]}", BAD_BODY)
        if sizes[scan.KEY_BYTES] > self._bytes_max:
            raise BadInput(f"{sizes[scan.KEY_BYTES]} bytes of labels: at most {self._bytes_max}", TOO_LARGE)
        return self._read_measured(buf, message, symbols, sizes)

    def _read_measured(
        self, buf: NDArray[np.uint8], message: Message, symbols: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> ReadRequest:
        columns = Columns.allocate(sizes)
        if not scan.fill(buf, message.value, symbols, columns):
            raise BadInput(f"a sample of {_NAMES[message]} is malformed", BAD_BODY)
        slots = self._slots(columns)[columns.owners]
        times_ns = np.clip(columns.times_ms, -_TIME_MS_MAX, _TIME_MS_MAX) * NS_PER_MS
        bad, refused, problem = self._problems(slots)
        self._waiting.append((slots, times_ns, columns.values))
        histograms, exemplars = int(sizes[scan.HISTOGRAMS]), int(sizes[scan.EXEMPLARS])
        return ReadRequest(self.window, slots.size, histograms, exemplars, bad, refused, problem)

    def admit(self, now_ns: int) -> Admitted:
        """What the samples of the requests that were read since the last call become, in their order."""
        waiting, self._waiting = self._waiting, []
        self.window += 1
        admitted = Admitted([])
        if waiting:
            slots, times_ns, values = zip(*waiting, strict=True)
            columns = np.concatenate(slots), np.concatenate(times_ns), np.concatenate(values)
            admitted = self._series.admit(*columns, now_ns)
        if (moved := self._series.forget_silent(now_ns)) is not None:
            self._known.move(moved)
            self._bad = {int(moved[slot]): text for slot, text in self._bad.items() if moved[slot] >= 0}
        return admitted

    def _slots(self, columns: Columns) -> NDArray[np.int64]:
        """By series of the request."""
        slots, unknown = self._known.find(columns.keys, columns.spans)
        if unknown:
            for series in np.flatnonzero(slots == UNKNOWN).tolist():
                slots[series] = self._slot(columns, series)
        unreadable = slots == UNREADABLE
        if unreadable.any():
            slots[unreadable] = self._slot_of_unreadable()
        return slots

    def _slot(self, columns: Columns, series: int) -> int:
        """That of a series which was not known before this request; it may be twice in it."""
        at, size = columns.spans[series].tolist()
        found, unknown = self._known.find(columns.keys, columns.spans[series : series + 1])
        if not unknown:
            return int(found[0])
        return self._add(columns.keys[at : at + size])

    def _add(self, key: NDArray[np.uint8]) -> int:
        try:
            slot = self._series.add(*read_labels(key.tobytes()))
        except BadInput as error:
            return self._add_bad(key, str(error))
        return self._remember(key, slot)

    def _add_bad(self, key: NDArray[np.uint8], problem: str) -> int:
        slot = self._remember(key, self._series.add_bad())
        if slot >= 0:
            self._bad[slot] = problem
        return slot

    def _remember(self, key: NDArray[np.uint8], slot: int) -> int:
        if slot >= 0:
            added = self._known.add(key)
            assert added == slot, "a slot for each key"
        return slot

    def _slot_of_unreadable(self) -> int:
        """One for all series whose references lead nowhere; its key is no series' labels."""
        key = np.zeros(1, np.uint8)
        found, unknown = self._known.find(key, np.array([[0, 1]]))
        problem = "labels_refs: expected pairs of places in symbols"
        return self._add_bad(key, problem) if unknown else int(found[0])

    def _problems(self, slots: NDArray[np.int64]) -> tuple[int, int, str]:
        """Samples of bad series, of refused series, and what is wrong."""
        refused = self._series.count_refused(slots)
        problem = f"no room for {refused} samples of new series" if refused else ""
        bad = 0
        if self._bad:
            found, counts = np.unique(slots, return_counts=True)
            for slot, count in zip(found.tolist(), counts.tolist(), strict=True):
                if slot in self._bad:
                    bad += count
                    problem = problem or self._bad[slot]
        return bad, refused, problem


def _symbols(buf: NDArray[np.uint8]) -> NDArray[np.int64]:
    count = scan.count_symbols(buf)
    if count < 0:
        raise BadInput(f"expected {_NAMES[Message.SECOND]}", BAD_BODY)
    symbols = np.empty((count, 2), np.int64)
    scan.read_symbols(buf, symbols)
    if count and symbols[0, 1] != 0:
        raise BadInput("symbols: expected the empty text first", BAD_BODY)
    return symbols


_NAMES = {Message.FIRST: "a prometheus.WriteRequest", Message.SECOND: "an io.prometheus.write.v2.Request"}


def warm_up() -> None:
    """Compiles the passes over a request, or loads them from the disk cache."""
    reader = RequestReader(PushedSeries("", (), 0, series_max=1, targets_max=1), 1 << 20)
    packed = [bytes(cramjam.snappy.compress_raw(body)) for body in (_FIRST, _SECOND)]
    for body, message in zip(packed, Message, strict=True):
        reader.read(body, message)
    reader.read_together(packed[:1])


_FIRST = b"\x0a\x0d\x0a\x07\x0a\x01a\x12\x02bc\x12\x02\x10\x01"
_SECOND = b"\x22\x00\x22\x01a\x2a\x08\x0a\x02\x01\x01\x12\x02\x10\x01"
