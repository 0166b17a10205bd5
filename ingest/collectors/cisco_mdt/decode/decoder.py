"""Telemetry messages of one device in, columns out. No clock, no I/O: the same messages give the same columns.

Rows of a shape that is known never reach Python (``scan_message``). What does: new rows, rows with lists, texts, JSON.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from google.protobuf.message import DecodeError

from common.wire.span_table import SpanTable
from ingest.collectors.cisco_mdt.decode import scan
from ingest.collectors.cisco_mdt.decode.rows import has_lists, leaves, path_elements, plain, with_keys
from ingest.collectors.cisco_mdt.decode.scan import Shape, Stop, scan_message
from ingest.collectors.cisco_mdt.messages import is_json
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import TelemetryField
from ingest.collectors.gnmi.decode import columns
from ingest.collectors.gnmi.decode.columns import IGNORED, Chunk, split_updates
from ingest.collectors.gnmi.decode.decode_buffer import DecodeBuffer, Decoded
from ingest.collectors.gnmi.decode.scan import Scanned
from ingest.collectors.gnmi.decode.values import fast_number, is_absent, state
from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.paths.resolve import Resolved, Resolver
from ingest.collectors.gnmi.paths.series_rows import ENDED, Leaf, SeriesRows
from ingest.collectors.gnmi.paths.unmapped import UnmappedPaths
from ingest.ledger import DropReason
from telemetry.series import SeriesTable

_COLUMNS, _ROWS = 4096, 256
_ROOT = 0
_NS_PER_MS = 1_000_000
_MS_MAX = 9_000_000_000_000  # beyond, nanoseconds do not fit into 64 bits


class Decoder:
    """State of one target: its series, and what its paths are. Used by one task at a time.

    target: the target's name; device: the label that all its series get. series_max: more series are left out and
    counted; eight times as many names and paths are remembered.
    """

    def __init__(self, target: str, device: str, naming: Naming, series_max: int = 50_000) -> None:
        self._resolver, self.unmapped = Resolver(naming), UnmappedPaths(naming.left_out)
        self._rows = SeriesRows(target, device, series_max, naming.kept_max)
        self._known_max = 8 * series_max
        self._nodes = SpanTable()  # what is below what: path, keys, names of containers and leaves
        self._shapes = np.zeros(1024, np.int8)  # by node
        self._slot_rows = np.full(1024, IGNORED, np.int32)  # by node
        self._leaves: dict[int, Leaf] = {}  # by node
        self._resolved: dict[Elements, Resolved] = {}
        self._scanned = Scanned.allocate(_COLUMNS)
        self._others = np.empty((_ROWS, 3), np.int64)
        self._header = np.zeros(6, np.int64)
        self._refused = 0

    @property
    def table(self) -> SeriesTable:
        return self._rows.table

    @property
    def refused(self) -> int:
        """Paths and series above the limits, and messages in compact GPB, which only a device's own files can read."""
        return self._rows.refused + self._refused

    def decode(self, messages: Sequence[bytes], now_ns: int) -> Decoded:
        """Telemetry messages in the order of their arrival."""
        buffer = DecodeBuffer()
        for message in messages:
            if is_json(message):
                self._read_json(message, buffer)
            else:
                self._read_gpb(message, buffer)
        return buffer.decoded(self._rows, now_ns)

    def _read_gpb(self, data: bytes, buffer: DecodeBuffer) -> None:
        buf = np.frombuffer(data, np.uint8)
        while True:
            n, others, why = scan_message(
                buf, (*self._nodes.index,), self._shapes, (*self._scanned,), self._others, self._header
            )
            if why != Stop.FULL:
                break
            self._scanned = Scanned.allocate(2 * self._scanned.slots.size)
            self._others = np.empty((2 * len(self._others), 3), np.int64)
        if why == Stop.MALFORMED:
            buffer.malformed += 1
            return
        buffer.updates += n
        self._read_scanned(data, n, buffer)
        _, _, path_at, path_n, _, compact = self._header.tolist()
        self._refused += compact > 0
        path = data[path_at : path_at + path_n]
        for at, size, time_ns in self._others[:others].tolist():
            self._read_row(data[at : at + size], path, time_ns, buffer)

    def _read_scanned(self, data: bytes, n: int, buffer: DecodeBuffer) -> None:
        known = Chunk(np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n))
        others = np.empty(n, np.int64)
        numbers, rest = split_updates((*self._scanned,), n, self._slot_rows, (*known,), others)
        if numbers:
            buffer.add_chunk(Chunk(known.times[:numbers], known.rows[:numbers], known.values[:numbers]))
        for i in others[:rest].tolist():
            at, size = self._scanned.offsets[i, :2].tolist()
            leaf = self._leaves[int(self._scanned.slots[i])]
            text = data[at : at + size].decode("utf-8", "replace")
            self._read_leaf(leaf, text, int(self._scanned.times[i]), buffer)

    def _read_row(self, data: bytes, path: bytes, time_ns: int, buffer: DecodeBuffer) -> None:
        """A row of an unknown shape, or with lists; the next one of its shape is the scan's."""
        try:
            row = TelemetryField.FromString(data)
        except DecodeError:
            buffer.malformed += 1
            return
        parts = {field.name: field.fields for field in row.fields}
        keys, content = plain(parts.get("keys", ())), plain(parts.get("content", ()))
        if row.delete or not isinstance(keys, dict):
            return  # the end of something, which shows by an absence as well
        elements = with_keys(path_elements(path.decode("utf-8", "replace")), keys, self._key_names)
        self._read_leaves(elements, content, time_ns, buffer)
        if all(isinstance(key, str) for key in keys.values()) and len(self._nodes) < self._known_max:
            self._learn(path, keys, elements, content)

    def _learn(self, path: bytes, keys: dict[str, str], elements: Elements, content: Any) -> None:
        slot = self._nodes.put(path, _ROOT)
        for name, value in keys.items():
            slot = self._nodes.put(value.encode(), self._nodes.put(name.encode(), slot + 1) + 1)
        listed = has_lists(content)
        if not listed:
            self._learn_container(slot, elements, content)
        self._make_room()
        self._shapes[slot] = Shape.LISTED if listed else Shape.FLAT

    def _learn_container(self, parent: int, elements: Elements, content: dict[str, Any]) -> None:
        for name, value in content.items():
            slot = self._nodes.put(name.encode(), parent + 1)
            ((path, _),) = leaves(elements, {name: None}, self._key_names)
            if isinstance(value, dict):
                self._learn_container(slot, path, value)
            elif isinstance(leaf := self._resolve(path), Leaf) and leaf.row != ENDED:
                self._make_room()
                self._slot_rows[slot] = leaf.row
                self._leaves[slot] = leaf

    def _make_room(self) -> None:
        """Places by node for all nodes."""
        while len(self._nodes) > self._shapes.size:
            self._shapes = np.concatenate((self._shapes, np.zeros_like(self._shapes)))
            self._slot_rows = np.concatenate((self._slot_rows, np.full_like(self._slot_rows, IGNORED)))

    def _read_json(self, data: bytes, buffer: DecodeBuffer) -> None:
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError:
            buffer.malformed += 1
            return
        if not isinstance(document, dict):
            buffer.malformed += 1
            return
        path = path_elements(str(document.get("encoding_path", "")))
        rows = document.get("data_json", document.get("data", ()))
        for row in rows if isinstance(rows, list) else [rows]:
            if not isinstance(row, dict):
                continue
            stated = row.get("keys", {})
            parts = [part for part in (stated if isinstance(stated, list) else [stated]) if isinstance(part, dict)]
            keys = {name: value for part in parts for name, value in part.items()}
            elements = with_keys(path, keys, self._key_names)
            time_ns = _time_ns(row.get("timestamp") or document.get("msg_timestamp"))
            self._read_leaves(elements, row.get("content"), time_ns, buffer)

    def _read_leaves(self, elements: Elements, content: Any, time_ns: int, buffer: DecodeBuffer) -> None:
        for path, value in leaves(elements, content, self._key_names):
            buffer.updates += 1
            leaf = self._resolve(path)
            if isinstance(leaf, Leaf):
                self._read_leaf(leaf, value, time_ns, buffer)

    def _read_leaf(self, leaf: Leaf, value: object, time_ns: int, buffer: DecodeBuffer) -> None:
        result = state(value, leaf.states) if leaf.states else fast_number(value)
        if leaf.named.kept:
            if result is None or (leaf.row == ENDED and not self._rows.assign_row(leaf)):
                return
            self.unmapped.keep(leaf.raw)
        if result is None:
            is_none = is_absent(value) or value != value  # NaN
            buffer.drops[DropReason.NO_VALUE if is_none else DropReason.BAD_FORMAT] += 1
            return
        buffer.add(time_ns, leaf.row, result)

    def _resolve(self, path: Elements) -> Resolved:
        try:
            return self._resolved[path]
        except KeyError:
            if len(self._resolved) >= self._known_max:
                self._refused += 1
                return None
        unnamed = self._resolver.unnamed
        resolved = self._resolved[path] = self._resolver.resolve(path, self._rows)
        if resolved is None and self._resolver.unnamed == unnamed:
            self.unmapped.add(path)
            resolved = self._resolved[path] = self._resolver.keep(path)
        return resolved

    @property
    def _key_names(self) -> dict[str, set[str]]:
        return self._resolver.naming.key_names


def _time_ns(milliseconds: object) -> int:
    """0, which is no event time, for what is none."""
    try:
        stated = int(str(milliseconds))
    except ValueError:
        return 0
    return stated * _NS_PER_MS if 0 <= stated < _MS_MAX else 0


def warm_up() -> None:
    """Compiles what decodes, or loads it from the disk cache: seconds on a fresh machine, so not on the event loop."""
    scan.warm_up()
    columns.warm_up()
