"""Gives every (target, series) a number, once, and forgets series that are gone."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from analytics.snapshot import string_table
from analytics.snapshot.stateful import State
from analytics.state.series_index import Interner, MetricRules, SeriesIndex
from common.errors import BadInput
from telemetry import objects
from telemetry.objects import ObjectRef
from telemetry.series import SeriesTable, parse_series_key

_INTERNERS = ("metrics", "targets", "variants", "objects")
# Labels that name the object of a series; the others distinguish series of one object (direction, priority, reason).
_IDENTITY = frozenset({"device", "port", "gpu", "fs", "target", "system", "job_id"})


def object_of(labels: Mapping[str, str], device: str) -> ObjectRef:
    """The object that a series is about, by its labels.

    >>> str(object_of({"device": "node1", "gpu": "GPU-1"}, "node1"))
    'gpu:node1/GPU-1'
    """
    owner = labels.get("device", device)
    if labels.get("fs") and labels.get("target") and labels.get("side") == "server":
        return objects.storage_target(labels["fs"], labels["target"])
    if labels.get("gpu"):
        return objects.gpu(owner, labels["gpu"])
    if labels.get("port"):
        return objects.port(owner, labels["port"])
    return objects.device(owner)


class _Place(NamedTuple):
    """The numbers of what a series is about, and of its other labels."""

    object: int
    variant: int


class Registry(SeriesIndex):
    """The index, and the tables whose rows are mapped to its numbers.

    Registering is the cold path: once for each table.
    """

    def __init__(self, series_max: int, to_score: Collection[str] = ()) -> None:
        super().__init__(to_score)
        self._series_max = series_max
        self._packed_keys = string_table.Packed(self.keys)
        self._tables: dict[bytes, NDArray[np.int64]] = {}
        self._numbers: dict[tuple[int, str], int] = {}

    def target(self, table: SeriesTable) -> int:
        """The number of the target of a table."""
        number = self.targets.intern(table.target)
        if number == len(self.devices):
            self.devices.append(table.device)
        return number

    def rows(self, table: SeriesTable) -> NDArray[np.int64]:
        """int64[len(table)]: the series number of each row; -1 where the limit of series is reached."""
        known = self._tables.get(table.digest)
        return known if known is not None else self._register(table)

    def update_seen(self, sids: NDArray[np.int64], seen_ns: NDArray[np.int64]) -> None:
        """These series were in scrape bodies of these times."""
        self._columns["seen_ns"][sids] = seen_ns

    def intern_devices(self) -> None:
        """Gives the device of every target an object number."""
        new = self.devices[self._device_objects.size :]
        if new:
            numbers = [self.objects.intern(str(objects.device(name))) for name in new]
            self._device_objects = np.concatenate([self._device_objects, np.array(numbers, np.int64)])

    def _intern_devices_again(self) -> None:
        self._device_objects = np.zeros(0, np.int64)
        self.intern_devices()

    def _register(self, table: SeriesTable) -> NDArray[np.int64]:
        target, first = self.target(table), self._columns.size
        places: dict[str, _Place | None] = {}  # by labels as they are written, which many series of a table share
        new: list[tuple[int, _Place]] = []
        rows = np.empty(len(table), np.int64)
        for row, key in enumerate(table.keys):
            number = self._numbers.get((target, key), -1)
            if number < 0 and first + len(new) < self._series_max and (found := self._read(key, table.device, places)):
                number = first + len(new)
                new.append(found)
                self.keys.append(key)
                self._numbers[target, key] = number
            rows[row] = number
        self._add(target, new)
        self._tables[table.digest] = rows
        self.rules.extend(self.metrics.names)
        self.version += 1
        return rows

    def _read(self, key: str, device: str, places: dict[str, _Place | None]) -> tuple[int, _Place] | None:
        """The number of its metric, and its place; None for what is no series."""
        metric, _, inside = key.partition("{")
        if inside not in places:
            places[inside] = self._place(key, device)
        place = places[inside]
        return place and (self.metrics.intern(metric), place)

    def _place(self, key: str, device: str) -> _Place | None:
        try:
            _, labels = parse_series_key(key)
        except BadInput:
            return None
        rest = {name: value for name, value in sorted(labels.items()) if name not in _IDENTITY}
        return _Place(
            self.objects.intern(str(object_of(labels, device))), self.variants.intern(orjson.dumps(rest).decode())
        )

    def _add(self, target: int, new: Sequence[tuple[int, _Place]]) -> None:
        first = self._columns.size
        self._columns.grow(first + len(new))
        added = np.array([(metric, target, *place) for metric, place in new], np.int64).reshape(-1, 4)
        for name, numbers in zip(("metric", "target", "object", "variant"), added.T, strict=True):
            self._columns[name][first:] = numbers

    def forget(self, live: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keeps only the live series, renumbered in order; returns their old numbers.

        Tables with a forgotten series go too: they register again when they come back.
        """
        keep = np.flatnonzero(live)
        renumbered = np.full(live.size, -1, np.int64)
        renumbered[keep] = np.arange(keep.size)
        tables = self._tables.items()
        self._tables = {d: renumbered[rows] for d, rows in tables if (rows >= 0).all() and live[rows].all()}
        self._columns.keep(keep)
        self._set_keys([self.keys[old] for old in keep])
        self._renumber()
        self._refs.clear()
        self._intern_devices_again()
        self.version += 1
        return keep

    def move_target(self, old: str, new: str) -> bool:
        """A target goes on under another name, with its series; False where the new name is known already."""
        if old not in self.targets.names or new in self.targets.names:
            return False
        self.targets = Interner(new if name == old else name for name in self.targets.names)
        self.version += 1
        return True

    def forget_targets(self, names: Collection[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Keeps only the other targets and their series, renumbered in order; the old numbers of series and targets."""
        live = np.array([name not in names for name in self.targets.names], bool)
        kept = self.forget(live[self._columns["target"]])
        targets = np.flatnonzero(live)
        self._columns["target"][:] = (np.cumsum(live) - 1)[self._columns["target"]]
        self.targets = Interner(self.targets.names[number] for number in targets)
        self.devices = [self.devices[number] for number in targets]
        self._set_keys(self.keys)
        self._renumber()
        self._intern_devices_again()
        return kept, targets

    def _renumber(self) -> None:
        """Objects and variants without a series go."""
        for column, attribute in (("object", "objects"), ("variant", "variants")):
            used, numbers = np.unique(self._columns[column], return_inverse=True)
            old: Interner = getattr(self, attribute)
            setattr(self, attribute, Interner(old.names[number] for number in used))
            self._columns[column][:] = numbers

    def _set_keys(self, keys: list[str]) -> None:
        self.keys, self._packed_keys = keys, string_table.Packed(keys)
        targets = self._columns["target"].tolist()
        self._numbers = {(target, key): n for n, (target, key) in enumerate(zip(targets, keys, strict=True))}

    def state(self) -> State:
        names = {name: getattr(self, name).packed.array() for name in _INTERNERS}
        tables = {"digests": [digest.hex() for digest in self._tables], "rows": [len(r) for r in self._tables.values()]}
        rows = np.concatenate([np.zeros(0, np.int64), *self._tables.values()])
        arrays = {"keys": self._packed_keys.array(), "table_rows": rows, **names, **self._columns.state().arrays}
        return State({"devices": self.devices, "version": self.version, **tables}, arrays)

    def restore(self, state: State) -> None:
        head, arrays = state
        for name in _INTERNERS:
            setattr(self, name, Interner(string_table.unpack(arrays[name])))
        self.devices, self.version = list(head["devices"]), head["version"]
        self._columns.restore(state)
        self._set_keys(string_table.unpack(arrays["keys"]))
        self._refs.clear()
        self._intern_devices_again()
        self.rules = MetricRules(self.rules.to_score)
        self.rules.extend(self.metrics.names)
        ends = np.cumsum(head["rows"], dtype=np.int64)
        blocks = np.split(arrays["table_rows"], ends[:-1]) if len(ends) else []
        self._tables = {bytes.fromhex(d): block for d, block in zip(head["digests"], blocks, strict=True)}
