"""Messages of one target in, columns out. No clock, no I/O: the same messages give the same columns.

Known numeric paths never reach Python (``wire.scan``). What does: the first sight of a path, texts, JSON, deletes.
"""

from collections.abc import Sequence

import numpy as np
import orjson
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from ingest.collectors.gnmi.decode import columns, json_template, wire
from ingest.collectors.gnmi.decode.columns import ASK, IGNORED, sort_out, take_usable
from ingest.collectors.gnmi.decode.decode_buffer import Decoded, Gathered
from ingest.collectors.gnmi.decode.flatten import Flattener, Node
from ingest.collectors.gnmi.decode.json_template import Said, Templates, template_of
from ingest.collectors.gnmi.decode.path_table import UNKNOWN, PathTable
from ingest.collectors.gnmi.decode.values import is_absent, scalar_of, scalar_of_update, state, usual_number
from ingest.collectors.gnmi.decode.wire import Stop, ValueKind, scan
from ingest.collectors.gnmi.paths.elements import Elements, below, elements_of
from ingest.collectors.gnmi.paths.metadata import Fact, Observation, Watch
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.paths.resolve import Resolver, Target
from ingest.collectors.gnmi.paths.series_rows import ENDED, Leaf, Rows
from ingest.ledger import DropReason
from telemetry.gnmi import gnmi_pb2
from telemetry.series import SeriesTable

NS_PER_S = 1_000_000_000
PAST_NS = 3600 * NS_PER_S
FUTURE_NS = 300 * NS_PER_S
_COLUMNS = 8192
# Once, here: to ask an enumeration for a member costs a microsecond.
_NUMBER, _TEXT, _JSON, _BYTES, *_ = map(int, ValueKind)
_NAMING = (Fact.ALIAS, Fact.COMPONENT)
_BAD = (DropReason.EVENT_TIME, DropReason.NO_VALUE, DropReason.OUT_OF_BOUNDS)  # in the order of ``take_usable``


class Decoder:
    """State of one target: its series, the paths seen and what they mean. Used by one task at a time.

    target: the target's name; device: the label that all its series carry; naming: the sources that it may speak.
    series_max: more series are left out and counted; four times as many paths are remembered.
    """

    def __init__(self, target: str, device: str, naming: Naming, series_max: int = 50_000) -> None:
        self._target, self._device, self._series_max = target, device, series_max
        self._resolver = Resolver(naming)
        self._templates = Templates()
        self._forget()

    @property
    def table(self) -> SeriesTable:
        return self._rows.table

    @property
    def refused(self) -> int:
        """Paths and series that found no room, and entries of ports that nobody has named yet."""
        return self._rows.full + self._flattener.refused + self._refused + self._resolver.unnamed

    def decode(self, messages: Sequence[bytes], now_ns: int) -> Decoded:
        """Serialised SubscribeResponses in the order of their arrival."""
        if self._resolver.names.version != self._names_version:
            self._forget()
        self._purge()
        gathered = Gathered()
        data = b"".join(messages)
        buf = np.frombuffer(data, np.uint8)
        ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
        at = 0
        while at < ends.size:
            n, at, why, syncs = self._scan(buf, ends, at)
            gathered.syncs += syncs
            self._take(data, buf, n, gathered)
            if why == Stop.ODD:
                self._odd(messages[at], gathered)
                at += 1
            elif why == Stop.MALFORMED:
                gathered.malformed += 1
                at += 1
            elif why == Stop.FULL and n == 0:
                self._allocate(2 * self._slots.size)
        return self._finish(gathered, now_ns)

    def _forget(self) -> None:
        """Begins anew: a port has another name now, so any path may mean another series."""
        self._names_version = self._resolver.names.version
        self._templates.clear()
        self._words: dict[tuple[int, bytes], tuple[int, float]] = {}  # row and value of a word at a path
        self._rows = Rows(self._target, self._device, self._series_max)
        self._paths = PathTable()
        self._targets: list[Target] = []
        self._slot_rows: NDArray[np.int32] = np.full(64, IGNORED, np.int32)
        self._watches: list[Watch] = []
        self._nodes: dict[int, Node] = {}
        self._flattener = Flattener(self._resolve, self._resolver.naming.key_names, 8 * self._series_max)
        self._refused = 0
        self._allocate(_COLUMNS)

    def _allocate(self, n: int) -> None:
        self._slots = np.empty(n, np.int32)
        self._kinds = np.empty(n, np.int8)
        self._numbers = np.empty(n, np.float64)
        self._times = np.empty(n, np.int64)
        self._places = np.empty((n, 6), np.int64)

    def _scan(self, buf: NDArray[np.uint8], ends: NDArray[np.int64], at: int) -> tuple[int, int, int, int]:
        paths = self._paths
        columns = (self._slots, self._kinds, self._numbers, self._times, self._places)
        return scan(buf, ends, at, paths.table, paths.arena, paths.spans, *columns)

    def _resolve(self, raw: Elements) -> Target:
        target = self._resolver.resolve(raw, self._rows)
        if isinstance(target, Watch):
            self._watches.append(target)
        return target

    def _take(self, data: bytes, buf: NDArray[np.uint8], n: int, gathered: Gathered) -> None:
        """The scanned rows: numbers of known series as columns, the rest one by one."""
        gathered.updates += n
        slots, kinds = self._slots[:n], self._kinds[:n]
        for i in np.flatnonzero(slots == UNKNOWN).tolist():
            _, _, prefix, prefix_n, path, path_n = self._places[i].tolist()
            slots[i] = self._slot(data[prefix : prefix + prefix_n], data[path : path + path_n])
        times, rows, numbers = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n)
        others = np.empty(n, np.int64)
        scanned = (slots, kinds, self._slot_rows, self._times[:n], self._numbers[:n])
        known, other = sort_out(*scanned, times, rows, numbers, others)
        if known:
            gathered.chunks.append((times[:known], rows[:known], numbers[:known]))
            if self._rows.ending:
                self._rows.seen(rows[:known])
        self._take_others(data, buf, others[:other], gathered)

    def _take_others(self, data: bytes, buf: NDArray[np.uint8], others: NDArray[np.int64], gathered: Gathered) -> None:
        scanned = (self._slots, self._kinds, self._numbers, self._times, self._places[:, 0], self._places[:, 1])
        for slot, kind, number, time_ns, place, size in zip(*(c[others].tolist() for c in scanned), strict=True):
            if kind == _JSON:
                self._document(slot, buf[place : place + size], time_ns, gathered)
            elif kind != _TEXT or not self._take_word(slot, data[place : place + size], time_ns, gathered):
                self._put(slot, self._value(kind, data[place : place + size], number), time_ns, gathered)

    def _take_word(self, slot: int, text: bytes, time_ns: int, gathered: Gathered) -> bool:
        """Whether a path has said this word before; the same words come from each port each time."""
        said = self._words.get((slot, text))
        if said is None:
            return False
        gathered.add(time_ns, *said)
        if self._rows.ending:
            self._rows.seen(np.array(said[:1], np.int32))
        return True

    def _document(self, slot: int, data: NDArray[np.uint8], time_ns: int, gathered: Gathered) -> None:
        reading = self._templates.read(slot, data)
        if reading is None:
            body = data.tobytes()
            self._put(slot, self._value(_JSON, body, 0.0), time_ns, gathered)
            if self._templates.wants(slot):
                self._learn(slot, body)
            return
        gathered.chunks.append((np.full(reading.rows.size, time_ns), reading.rows, reading.values))
        gathered.drops.update(reading.drops)
        for watched, text in reading.texts:
            self._observe(Observation(watched, text, time_ns), gathered)
        if self._rows.ending:
            self._rows.seen(reading.rows)

    def _learn(self, slot: int, body: bytes) -> None:
        node = self._nodes[slot]
        template = template_of(body, lambda document, put: self._flattener.flatten(node, document, put), self._say)
        if template is not None and self._resolver.names.version == self._names_version:
            self._templates.learn(slot, template)

    def _say(self, target: Target, scalar: object, said: Said) -> None:
        gathered = Gathered()
        self._leaf(target, scalar, 0, gathered)
        said.fixed(gathered.rows, gathered.values)
        said.drops.update(gathered.drops)
        said.texts.extend((one.watch, one.text) for one in gathered.observations if one.text is not None)

    def _slot(self, prefix: bytes, path: bytes) -> int:
        """The slot of a path, resolved at first sight; UNKNOWN when too many are known or the path is no path."""
        slot = self._paths.find(prefix, path)
        if slot >= 0:
            return slot
        if len(self._paths) >= 4 * self._series_max:
            self._refused += 1
            return UNKNOWN
        try:
            raw = elements_of(gnmi_pb2.Path.FromString(prefix), gnmi_pb2.Path.FromString(path))
        except DecodeError:
            return UNKNOWN
        slot = self._paths.add(prefix, path)
        target = self._resolve(raw)
        self._targets.append(target)
        self._nodes[slot] = Node(raw)
        if slot >= self._slot_rows.size:
            self._slot_rows = np.concatenate((self._slot_rows, np.full(slot, IGNORED, np.int32)))
        self._slot_rows[slot] = target.row if isinstance(target, Leaf) else ASK if target else IGNORED
        return slot

    @staticmethod
    def _value(kind: int, data: bytes, numeric: float) -> object:
        """A scanned value as JSON or Python scalar; None when it cannot be read."""
        if kind == _NUMBER:
            return numeric
        if kind == _TEXT:
            return data.decode("utf-8", "replace")
        if kind == _BYTES:
            return data
        try:
            return orjson.loads(data) if kind == _JSON else scalar_of(gnmi_pb2.TypedValue.FromString(data))
        except (orjson.JSONDecodeError, DecodeError):
            return None

    def _put(self, slot: int, value: object, time_ns: int, gathered: Gathered) -> None:
        """A value that is not a number of a known row."""
        before = len(gathered.rows)
        target = self._targets[slot]
        if isinstance(value, dict | list):
            self._flattener.flatten(
                self._nodes[slot], value, lambda leaf, scalar: self._leaf(leaf, scalar, time_ns, gathered)
            )
        elif target is not None:
            self._leaf(target, value, time_ns, gathered)
            if isinstance(target, Leaf):
                self._slot_rows[slot] = target.row if target.row >= 0 else ASK
                if target.states and len(gathered.rows) > before and len(self._words) < self._series_max:
                    self._words[slot, str(value).encode()] = target.row, gathered.values[-1]
        if self._rows.ending:
            self._rows.seen(np.array(gathered.rows[before:], np.int32))

    def _leaf(self, target: Target, value: object, time_ns: int, gathered: Gathered) -> None:
        if isinstance(target, Watch):
            if isinstance(value, str) and not is_absent(value):
                self._observe(Observation(target, value, time_ns), gathered)
            return
        if target is None or (target.row == ENDED and not self._rows.revive(target)):
            return
        result = state(value, target.states) if target.states else usual_number(value)
        if result is None:
            gathered.drops[DropReason.NO_VALUE if is_absent(value) else DropReason.BAD_FORMAT] += 1
            return
        gathered.add(time_ns, target.row, result)

    def _observe(self, observation: Observation, gathered: Gathered) -> None:
        watch, text = observation.watch, observation.text
        if text and watch.fact in _NAMING:
            self._resolver.names.learn(text, watch.port)
        gathered.observations.append(observation)

    def _odd(self, message: bytes, gathered: Gathered) -> None:
        """A message with deletes or deprecated fields, by the protobuf runtime. Deletes come before updates."""
        try:
            notification = gnmi_pb2.SubscribeResponse.FromString(message).update
        except DecodeError:
            gathered.malformed += 1
            return
        for path in notification.delete:
            self._delete(elements_of(notification.prefix, path), notification.timestamp, gathered)
        prefix = notification.prefix.SerializeToString()
        for update in notification.update:
            gathered.updates += 1
            slot = self._slot(prefix, update.path.SerializeToString())
            if slot != UNKNOWN:
                self._put(slot, scalar_of_update(update), notification.timestamp, gathered)

    def _delete(self, root: Elements, time_ns: int, gathered: Gathered) -> None:
        self._rows.end(root)
        for watch in self._watches:
            if below(watch.raw, root):
                gathered.observations.append(Observation(watch, None, time_ns))

    def _purge(self) -> None:
        """Takes deleted series out of the table; a path of theirs that comes back asks for a new row."""
        moved = self._rows.purge()
        if moved is None:
            return
        self._templates.clear()
        self._words.clear()
        rows = self._slot_rows
        had = rows >= 0
        rows[had] = moved[rows[had]]
        rows[rows == ENDED] = ASK

    def _finish(self, gathered: Gathered, now_ns: int) -> Decoded:
        size = gathered.size
        times, rows, values = np.empty(size, np.int64), np.empty(size, np.uint32), np.empty(size)
        limits, between = (
            (self._rows.scale, self._rows.minimum, self._rows.maximum),
            (now_ns - PAST_NS, now_ns + FUTURE_NS),
        )
        bad, n = np.zeros(len(_BAD), np.int64), 0
        for chunk in gathered.columns():
            n = take_usable(*chunk, *limits, *between, n, times, rows, values, bad)
        gathered.drops.update({reason: count for reason, count in zip(_BAD, bad.tolist(), strict=True) if count})
        return Decoded(
            self._rows.table,
            times[:n],
            rows[:n],
            values[:n],
            gathered.drops,
            gathered.observations,
            gathered.updates,
            gathered.syncs,
            gathered.malformed,
        )


def warm_up() -> None:
    """Compiles what decodes, or loads it from the disk cache: seconds on a fresh machine, so not on the event loop."""
    for part in (wire, json_template, columns):
        part.warm()
