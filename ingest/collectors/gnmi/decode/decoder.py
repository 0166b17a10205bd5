"""Messages of one target in, columns out. No clock, no I/O: the same messages give the same columns.

Known numeric paths never reach Python (``scan_messages``). What does: new paths, texts, JSON, deletes.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import orjson
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from common.wire.hashed_bytes import UNKNOWN
from ingest.collectors.base import SourceSeries
from ingest.collectors.event_time import accepted
from ingest.collectors.gnmi.decode import columns, json_scan, scan
from ingest.collectors.gnmi.decode.columns import Chunk, Samples, read_numbered, split_updates
from ingest.collectors.gnmi.decode.decode_buffer import DecodeBuffer, Decoded, no_bad
from ingest.collectors.gnmi.decode.flatten import Flattener
from ingest.collectors.gnmi.decode.json_template import JsonTemplates, LeafValues, template_of
from ingest.collectors.gnmi.decode.known_updates import KnownUpdates
from ingest.collectors.gnmi.decode.scan import Scanned, Stop, ValueKind, scan_messages
from ingest.collectors.gnmi.decode.slots import PathSlots
from ingest.collectors.gnmi.decode.values import fast_number, is_absent, scalar_of, scalar_of_update, state
from ingest.collectors.gnmi.paths.elements import Elements, below, elements_of, text_of
from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataPath, MetadataUpdate
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.paths.resolve import Resolved, Resolver
from ingest.collectors.gnmi.paths.series_rows import ENDED, Leaf, SeriesRows
from ingest.collectors.gnmi.paths.unmapped import UnmappedPaths
from ingest.collectors.left_out import why_left_out
from ingest.ledger import DropReason
from telemetry.gnmi import gnmi_pb2
from telemetry.series import SeriesTable

_COLUMNS = 8192
# Plain integers: looking up a member of an enumeration costs a microsecond.
_NUMBER, _TEXT, _JSON, _BYTES, *_ = map(int, ValueKind)
_PORT_NAMES = (MetadataKind.ALIAS, MetadataKind.COMPONENT)


class Decoder:
    """State of one target: its series, and what its paths are. Used by one task at a time.

    target: the target's name; device: the label that all its series get; naming: of the sources that it may use.
    series_max: more series are left out and counted; four times as many paths are remembered.
    """

    def __init__(self, target: str, device: str, naming: Naming, series_max: int = 50_000) -> None:
        self._target, self._device, self._series_max = target, device, series_max
        self._resolver = Resolver(naming)
        self._templates = JsonTemplates()
        self._scanned = Scanned.allocate(_COLUMNS)
        self._forget()

    @property
    def table(self) -> SeriesTable:
        return self._rows.table

    @property
    def refused(self) -> int:
        """Paths and series above the limits, and entries of ports without a known name."""
        return self._rows.refused + self._flattener.refused + self._slots.refused + self._resolver.unnamed

    def source_series(self) -> Iterator[SourceSeries]:
        """What became of each path so far; paths that nothing maps are without the objects that they are of."""
        for key, leaf in self._rows.leaves():
            yield SourceSeries(text_of(leaf.raw), (key,))
        for path in self._metadata_paths:
            yield SourceSeries(text_of(path.raw), reason=f"a fact, not a series: {path.kind}", left_out=True)
        for name in sorted(self.unmapped.names):
            yield SourceSeries(name, reason="nothing maps this path")
        for name in sorted(self.unmapped.names_left_out):
            why = why_left_out(self._resolver.naming.ignored, name)
            yield SourceSeries(name, reason=f"left out: {why}", left_out=True)

    def decode(self, messages: Sequence[bytes], now_ns: int) -> Decoded:
        """Serialised SubscribeResponses in the order of their arrival."""
        return self.decode_any((messages,), now_ns)

    def decode_any(self, parts: Iterable[Sequence[bytes] | KnownUpdates], now_ns: int) -> Decoded:
        """The same of messages, and of what stands for messages, in the order of their arrival."""
        if self._resolver.names.version != self._names_version:
            self._forget()
        self._purge()
        buffer = DecodeBuffer()
        for part in parts:
            if isinstance(part, KnownUpdates):
                self._read_numbered(part, now_ns, buffer)
            else:
                self._read_messages(part, buffer)
        return buffer.decoded(self._rows, now_ns)

    def _read_messages(self, messages: Sequence[bytes], buffer: DecodeBuffer) -> None:
        data = b"".join(messages)
        buf = np.frombuffer(data, np.uint8)
        ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
        at = 0
        while at < ends.size:
            n, at, why, syncs = scan_messages(buf, ends, at, (*self._slots.index,), (*self._scanned,))
            buffer.syncs += syncs
            self._read_scanned(data, buf, n, buffer)
            if why == Stop.NEEDS_PROTOBUF:
                self._read_with_protobuf(messages[at], buffer)
                at += 1
            elif why == Stop.MALFORMED:
                buffer.malformed += 1
                at += 1
            elif why == Stop.FULL and n == 0:
                self._scanned = Scanned.allocate(2 * self._scanned.slots.size)

    def _read_numbered(self, known: KnownUpdates, now_ns: int, buffer: DecodeBuffer) -> None:
        n = len(known)
        buffer.updates += n
        samples, others, bad = Samples.allocate(n), np.empty(n, np.int64), no_bad()
        by_path = known.known.slots_by_path(known.paths, self._slots)
        taken, rest, unknown = self._take_numbers(known, by_path, now_ns, samples, others, bad)
        if unknown:
            known.known.slots(known.paths, self._slots)
            bad[:] = 0
            by_path = known.known.slots_by_path(known.paths, self._slots)
            taken, rest, _ = self._take_numbers(known, by_path, now_ns, samples, others, bad)
        if taken:
            buffer.add_chunk(samples.first(taken))
        if taken + rest < n:
            buffer.add_bad(bad)
        if self._rows.ending:
            slots = by_path[known.paths]
            rows = self._slots.rows[slots[(slots >= 0) & (known.kinds == _NUMBER)]]
            self._rows.keep(rows[rows >= 0])
        if rest:
            columns = Scanned(by_path[known.paths], known.kinds, known.numbers, known.times_ns, known.texts)
            self._read_others(known.data, np.frombuffer(known.data, np.uint8), columns, others[:rest], buffer)

    def _take_numbers(
        self,
        known: KnownUpdates,
        by_path: NDArray[np.int32],
        now_ns: int,
        samples: Samples,
        others: NDArray[np.int64],
        bad: NDArray[np.int64],
    ) -> tuple[int, int, int]:
        """The valid numbers of known series as samples, and the indices of what Python reads, as ``read_numbered``."""
        columns = known.paths, known.kinds, known.numbers, known.times_ns
        tables = by_path, self._slots.rows, self._rows.limits
        return read_numbered(columns, *tables, *accepted(now_ns), (*samples,), others, bad)

    def _forget(self) -> None:
        """Starts over: a port has a new name, so any path may be another series."""
        self._names_version = self._resolver.names.version
        self._templates.clear()
        self._words: dict[tuple[int, bytes], tuple[int, float]] = {}  # row and value of a word at a path
        naming = self._resolver.naming
        self._rows = SeriesRows(self._target, self._device, self._series_max, naming.kept_max)
        self._slots = PathSlots(self._resolve, self._resolve_leaf, 4 * self._series_max)
        self._metadata_paths: list[MetadataPath] = []
        self.unmapped = UnmappedPaths(naming.left_out)
        self._flattener = Flattener(self._resolve_leaf, naming.key_names, 8 * self._series_max)

    def _resolve(self, raw: Elements) -> Resolved:
        resolved = self._resolver.resolve(raw, self._rows)
        if isinstance(resolved, MetadataPath):
            self._metadata_paths.append(resolved)
        return resolved

    def _resolve_leaf(self, raw: Elements) -> Resolved:
        """The same of a path that is a leaf for certain, where that of a document may be a container."""
        unnamed = self._resolver.unnamed
        resolved = self._resolve(raw)
        if resolved is None and self._resolver.unnamed == unnamed:
            self.unmapped.add(raw)
            return self._resolver.keep(raw)
        return resolved

    def _read_scanned(self, data: bytes, buf: NDArray[np.uint8], n: int, buffer: DecodeBuffer) -> None:
        """The scanned updates, after the slots of new paths."""
        buffer.updates += n
        scanned = self._scanned
        slots = scanned.slots[:n]
        for i in np.flatnonzero(slots == UNKNOWN).tolist():
            _, _, prefix, prefix_n, path, path_n = scanned.offsets[i].tolist()
            is_leaf = scanned.kinds[i] != _JSON
            slots[i] = self._slots.slot(data[prefix : prefix + prefix_n], data[path : path + path_n], is_leaf=is_leaf)
        self._read_columns(data, buf, scanned, n, buffer)

    def _read_columns(
        self, data: bytes, buf: NDArray[np.uint8], scanned: Scanned, n: int, buffer: DecodeBuffer
    ) -> None:
        """Numbers of known series as columns, the rest one by one."""
        known = Chunk(np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n))
        others = np.empty(n, np.int64)
        numbers, rest = split_updates((*scanned,), n, self._slots.rows, (*known,), others)
        if numbers:
            known = Chunk(known.times[:numbers], known.rows[:numbers], known.values[:numbers])
            buffer.add_chunk(known)
            if self._rows.ending:
                self._rows.keep(known.rows)
        if rest:
            self._read_others(data, buf, scanned, others[:rest], buffer)

    def _read_others(
        self, data: bytes, buf: NDArray[np.uint8], scanned: Scanned, others: NDArray[np.int64], buffer: DecodeBuffer
    ) -> None:
        slots, kinds, numbers, times, offsets = scanned
        columns = (slots, kinds, numbers, times, offsets[:, 0], offsets[:, 1])
        for slot, kind, number, time_ns, at, size in zip(*(column[others].tolist() for column in columns), strict=True):
            if kind == _JSON:
                self._read_document(slot, buf[at : at + size], time_ns, buffer)
            elif kind != _TEXT or not self._read_known_word(slot, data[at : at + size], time_ns, buffer):
                self._read_value(slot, _scalar(kind, data[at : at + size], number), time_ns, buffer)

    def _read_known_word(self, slot: int, text: bytes, time_ns: int, buffer: DecodeBuffer) -> bool:
        """Whether a path had this word before; each port sends the same few words again and again."""
        known = self._words.get((slot, text))
        if known is None:
            return False
        buffer.add(time_ns, *known)
        if self._rows.ending:
            self._rows.keep(np.array(known[:1], np.int32))
        return True

    def _read_document(self, slot: int, data: NDArray[np.uint8], time_ns: int, buffer: DecodeBuffer) -> None:
        found = self._templates.read(slot, data)
        if found is None:
            body = data.tobytes()
            self._read_value(slot, _scalar(_JSON, body, 0.0), time_ns, buffer)
            if self._templates.wants(slot):
                self._learn_document(slot, body)
            return
        buffer.add_chunk(Chunk(np.full(found.rows.size, time_ns), found.rows, found.values))
        buffer.drops.update(found.drops)
        for path, text in found.texts:
            self._add_metadata(MetadataUpdate(path, text, time_ns), buffer)
        if self._rows.ending:
            self._rows.keep(found.rows)

    def _learn_document(self, slot: int, body: bytes) -> None:
        node = self._slots.node(slot)
        template = template_of(
            body, lambda document, put: self._flattener.flatten(node, document, put), self._add_fixed_leaf
        )
        if template is not None and self._resolver.names.version == self._names_version:
            self._templates.learn(slot, template)

    def _add_fixed_leaf(self, resolved: Resolved, scalar: object, leaves: LeafValues) -> None:
        buffer = DecodeBuffer()
        self._read_leaf(resolved, scalar, 0, buffer)
        leaves.add_fixed(buffer.rows, buffer.values)
        leaves.drops.update(buffer.drops)
        leaves.texts.extend((update.path, update.text) for update in buffer.metadata if update.text is not None)

    def _read_value(self, slot: int, value: object, time_ns: int, buffer: DecodeBuffer) -> None:
        """A value that is not a number of a known row."""
        before = len(buffer.rows)
        resolved = self._slots.resolved(slot)
        if isinstance(value, dict) or (isinstance(value, list) and not isinstance(resolved, Leaf)):
            self._flattener.flatten(
                self._slots.node(slot), value, lambda leaf, scalar: self._read_leaf(leaf, scalar, time_ns, buffer)
            )
        elif resolved is not None:
            self._read_leaf(resolved, value, time_ns, buffer)
            if isinstance(resolved, Leaf):
                self._slots.update_row(slot, resolved)
                if resolved.states and len(buffer.rows) > before and len(self._words) < self._series_max:
                    self._words[slot, str(value).encode()] = resolved.row, buffer.values[-1]
        if self._rows.ending:
            self._rows.keep(np.array(buffer.rows[before:], np.int32))

    def _read_leaf(self, resolved: Resolved, value: object, time_ns: int, buffer: DecodeBuffer) -> None:
        if isinstance(resolved, MetadataPath):
            if isinstance(value, str) and not is_absent(value):
                self._add_metadata(MetadataUpdate(resolved, value, time_ns), buffer)
            return
        if resolved is None:
            return
        result = state(value, resolved.states) if resolved.states else fast_number(value)
        if result is None and resolved.named.kept:
            return
        if resolved.row == ENDED and not self._rows.assign_row(resolved):
            return
        if resolved.named.kept:
            self.unmapped.keep(resolved.raw)
        if result is None:
            buffer.drops[DropReason.NO_VALUE if is_absent(value) else DropReason.BAD_FORMAT] += 1
            return
        buffer.add(time_ns, resolved.row, result)

    def _add_metadata(self, update: MetadataUpdate, buffer: DecodeBuffer) -> None:
        if update.text and update.path.kind in _PORT_NAMES:
            self._resolver.names.learn(update.text, update.path.port)
        buffer.metadata.append(update)

    def _read_with_protobuf(self, message: bytes, buffer: DecodeBuffer) -> None:
        """A message with deletes or deprecated fields. Deletes come before updates."""
        try:
            notification = gnmi_pb2.SubscribeResponse.FromString(message).update
        except DecodeError:
            buffer.malformed += 1
            return
        for path in notification.delete:
            self._delete(elements_of(notification.prefix, path), notification.timestamp, buffer)
        prefix = notification.prefix.SerializeToString()
        for update in notification.update:
            buffer.updates += 1
            value = scalar_of_update(update)
            slot = self._slots.slot(prefix, update.path.SerializeToString(), is_leaf=not isinstance(value, dict | list))
            if slot != UNKNOWN:
                self._read_value(slot, value, notification.timestamp, buffer)

    def _delete(self, root: Elements, time_ns: int, buffer: DecodeBuffer) -> None:
        self._rows.end(root)
        for path in self._metadata_paths:
            if below(path.raw, root):
                buffer.metadata.append(MetadataUpdate(path, None, time_ns))

    def _purge(self) -> None:
        """Removes deleted series from the table; what remembers rows follows."""
        moved = self._rows.purge()
        if moved is None:
            return
        self._templates.clear()
        self._words.clear()
        self._slots.move_rows(moved)


def _scalar(kind: int, data: bytes, number: float) -> object:
    """A scanned value as JSON or Python scalar; None when it cannot be read."""
    if kind == _NUMBER:
        return number
    if kind == _TEXT:
        return data.decode("utf-8", "replace")
    if kind == _BYTES:
        return data
    try:
        return orjson.loads(data) if kind == _JSON else scalar_of(gnmi_pb2.TypedValue.FromString(data))
    except (orjson.JSONDecodeError, DecodeError):
        return None


def warm_up() -> None:
    """Compiles what decodes, or loads it from the disk cache: seconds on a fresh machine, so not on the event loop."""
    for part in (scan, json_scan, columns):
        part.warm_up()
