"""Telemetry messages of one device in, columns out. No clock, no I/O: the same messages give the same columns.

Rows of a shape that is known never reach Python (``scan_messages``). What does: new rows, rows with lists, texts, JSON.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isfinite
from typing import Any

import numpy as np
import orjson
from google.protobuf.message import DecodeError

from ingest.collectors.cisco_mdt.decode import scan
from ingest.collectors.cisco_mdt.decode.giving_paths import GivingPaths
from ingest.collectors.cisco_mdt.decode.learn_objects import learn_objects
from ingest.collectors.cisco_mdt.decode.learnt import Learnt, Shape
from ingest.collectors.cisco_mdt.decode.objects import Managed, elements_of, objects_in, root_of
from ingest.collectors.cisco_mdt.decode.rows import has_lists, is_command, leaves, path_elements, plain, with_keys
from ingest.collectors.cisco_mdt.decode.scan import Stop, scan_messages
from ingest.collectors.cisco_mdt.messages import is_json
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import TelemetryField
from ingest.collectors.gnmi.decode import columns
from ingest.collectors.gnmi.decode.columns import Chunk, split_updates
from ingest.collectors.gnmi.decode.decode_buffer import DecodeBuffer, Decoded
from ingest.collectors.gnmi.decode.scan import Scanned, ValueKind
from ingest.collectors.gnmi.decode.values import fast_number, is_absent, state
from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.metadata import MetadataPath, MetadataUpdate
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
        self._learnt = Learnt(self._known_max)  # paths, keys, objects, names of containers and leaves
        self._resolved: dict[Elements, Resolved] = {}
        self._giving = GivingPaths()
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
        for in_json, some in groupby(messages, is_json):
            if in_json:
                for message in some:
                    self._read_json(message, buffer)
            else:
                self._read_gpb(list(some), buffer)
        decoded = buffer.decoded(self._rows, now_ns)
        if self._giving.are_silent(decoded.rows, now_ns):
            self._forget_paths()
        return decoded

    def _forget_paths(self) -> None:
        """What each path is, so that all are asked again; series stay."""
        self._learnt, self._giving = Learnt(self._known_max), GivingPaths()
        self._resolved.clear()

    def _read_gpb(self, messages: Sequence[bytes], buffer: DecodeBuffer) -> None:
        data = b"".join(messages)
        buf = np.frombuffer(data, np.uint8)
        ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
        at = 0
        while at < ends.size:
            names, shapes = (*self._learnt.names.index,), self._learnt.shapes
            n, others, at, why, left_out = scan_messages(
                buf, ends, at, names, shapes, (*self._scanned,), self._others, self._header
            )
            buffer.updates += left_out
            if n:
                buffer.updates += n
                self._read_scanned(data, n, buffer)
            if why == Stop.NEEDS_PYTHON:
                self._read_others(data, others, buffer)
                at += 1
            elif why == Stop.MALFORMED:
                buffer.malformed += 1
                at += 1
            elif why == Stop.FULL and n == 0:
                self._scanned = Scanned.allocate(2 * self._scanned.slots.size)
                self._others = np.empty((2 * len(self._others), 3), np.int64)

    def _read_others(self, data: bytes, others: int, buffer: DecodeBuffer) -> None:
        """What the scan leaves of a message: so many rows, and compact GPB."""
        _, _, path_at, path_n, _, compact = self._header.tolist()
        self._refused += compact > 0
        path = data[path_at : path_at + path_n]
        for at, size, time_ns in self._others[:others].tolist():
            self._read_row(data[at : at + size], path, time_ns, buffer)

    def _read_scanned(self, data: bytes, n: int, buffer: DecodeBuffer) -> None:
        known = Chunk(np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n))
        others = np.empty(n, np.int64)
        numbers, rest = split_updates((*self._scanned,), n, self._learnt.slot_rows, (*known,), others)
        if numbers:
            buffer.add_chunk(Chunk(known.times[:numbers], known.rows[:numbers], known.values[:numbers]))
        for i in others[:rest].tolist():
            at, size = self._scanned.offsets[i, :2].tolist()
            leaf = self._learnt.leaves[int(self._scanned.slots[i])]
            is_number = self._scanned.kinds[i] == ValueKind.NUMBER
            value = float(self._scanned.numbers[i]) if is_number else data[at : at + size].decode("utf-8", "replace")
            self._read_value(leaf, value, int(self._scanned.times[i]), buffer, {})

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
        encoding_path = path.decode("utf-8", "replace")
        if (root := root_of(encoding_path)) is not None:
            objects, resolved = self._read_objects(content, encoding_path, root, time_ns, buffer)
            if self._learnt.has_room:
                learn_objects(self._learnt, self._learnt.put(path, _ROOT), objects, resolved)
            return
        elements = self._elements(encoding_path, keys)
        self._read_leaves(elements, content, time_ns, buffer)
        if all(isinstance(key, str) for key in keys.values()) and self._learnt.has_room:
            self._learn(path, keys, elements, content)

    def _learn(self, path: bytes, keys: dict[str, str], elements: Elements, content: Any) -> None:
        learnt = self._learnt
        slot = learnt.put(path, _ROOT)
        for name, value in keys.items():
            slot = learnt.put(value.encode(), learnt.put(name.encode(), slot + 1) + 1)
        listed = has_lists(content) or is_command(elements)
        if not listed:
            self._learn_container(slot, elements, content)
        learnt.shapes[slot] = Shape.LISTED if listed else Shape.FLAT

    def _learn_container(self, parent: int, elements: Elements, content: dict[str, Any]) -> None:
        for name, value in content.items():
            slot = self._learnt.put(name.encode(), parent + 1)
            ((path, _),) = leaves(elements, {name: None}, self._key_names)
            if isinstance(value, dict):
                self._learn_container(slot, path, value)
            else:
                self._learnt.bind(slot, self._resolve(path))

    def _read_json(self, data: bytes, buffer: DecodeBuffer) -> None:
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError:
            buffer.malformed += 1
            return
        if not isinstance(document, dict):
            buffer.malformed += 1
            return
        encoding_path = str(document.get("encoding_path", ""))
        root = root_of(encoding_path)
        rows = document.get("data_json", document.get("data", ()))
        for row in rows if isinstance(rows, list) else [rows]:
            if not isinstance(row, dict):
                continue
            stated, keys, content = _parts(row)
            time_ns = _time_ns(stated or document.get("msg_timestamp"))
            if root is not None:
                self._read_objects(content, encoding_path, root, time_ns, buffer)
            else:
                self._read_leaves(self._elements(encoding_path, keys), content, time_ns, buffer)

    def _read_objects(
        self, content: Any, encoding_path: str, root: str, time_ns: int, buffer: DecodeBuffer
    ) -> tuple[list[Managed], list[dict[str, Resolved]]]:
        """The objects of a row, and what their attributes are."""
        found = objects_in(content, root)
        all_resolved = []
        for one in found.objects:
            elements = elements_of(one, self._key_names)
            resolved = {name: self._resolve((*elements, (name, ()))) for name in one.attributes}
            all_resolved.append(resolved)
            buffer.updates += len(resolved)
            for name, value in one.attributes.items():
                self._read_value(resolved[name], value, time_ns, buffer, {})
        for name, value in found.rest:
            self._read_leaves((*path_elements(encoding_path), (name, ())), value, time_ns, buffer)
        return found.objects, all_resolved

    def _elements(self, encoding_path: str, keys: Mapping[str, Any]) -> Elements:
        path = path_elements(encoding_path)
        return path if is_command(path) else with_keys(path, keys, self._key_names)  # a command's key is itself

    def _read_leaves(self, elements: Elements, content: Any, time_ns: int, buffer: DecodeBuffer) -> None:
        sums: dict[int, float] = {}
        for path, value in leaves(elements, content, self._key_names):
            buffer.updates += 1
            self._read_value(self._resolve(path), value, time_ns, buffer, sums)
        for row, total in sums.items():
            buffer.add(time_ns, row, total)

    def _read_value(
        self, resolved: Resolved, value: object, time_ns: int, buffer: DecodeBuffer, sums: dict[int, float]
    ) -> None:
        """sums: by row, what adds up in this message, by now."""
        if isinstance(resolved, MetadataPath):
            number = isinstance(value, bool | int | float) and isfinite(value)
            text = f"{float(value):.0f}" if number else str(value)  # type: ignore[arg-type]  # it is a number
            buffer.metadata.append(MetadataUpdate(resolved, text, time_ns))
        elif isinstance(resolved, Leaf):
            self._read_leaf(resolved, value, time_ns, buffer, sums)

    def _read_leaf(self, leaf: Leaf, value: object, time_ns: int, buffer: DecodeBuffer, sums: dict[int, float]) -> None:
        result = state(value, leaf.states) if leaf.states else fast_number(value)
        if leaf.named.kept:
            if result is None or (leaf.row == ENDED and not self._rows.assign_row(leaf)):
                return
            self.unmapped.keep(leaf.raw)
        if result is None:
            is_none = is_absent(value) or value != value  # NaN
            buffer.drops[DropReason.NO_VALUE if is_none else DropReason.BAD_FORMAT] += 1
        elif leaf.named.origin.sum:
            sums[leaf.row] = sums.get(leaf.row, 0.0) + result
        else:
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
        elif isinstance(resolved, Leaf) and not (resolved.named.origin.sum or self._giving.gives(resolved.row, path)):
            self.unmapped.add(path)
            resolved = self._resolved[path] = None
        return resolved

    @property
    def _key_names(self) -> dict[str, set[str]]:
        return self._resolver.naming.key_names


def _parts(row: Mapping[str, Any]) -> tuple[Any, dict[str, Any], Any]:
    """Time, keys and content of a row in JSON. NX-OS sends the content alone."""
    if "content" not in row and "keys" not in row:
        return None, {}, row
    stated = row.get("keys", {})
    parts = [part for part in (stated if isinstance(stated, list) else [stated]) if isinstance(part, dict)]
    return row.get("timestamp"), {name: value for part in parts for name, value in part.items()}, row.get("content")


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
