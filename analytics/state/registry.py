"""Which series there are: every (target, series) once, as a number, with what it measures and what it is about."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from analytics.state import string_table
from analytics.state.columns import Columns
from common.errors import BadInput
from telemetry import catalogue, objects
from telemetry.catalogue import Kind
from telemetry.objects import ObjectRef
from telemetry.series import SeriesTable, parse_series_key

_LAYOUT: dict[str, tuple[str, float, int]] = {
    "metric": ("i4", -1, 1),
    "object": ("i8", -1, 1),
    "target": ("i4", -1, 1),
    "variant": ("i4", -1, 1),
    "seen_ns": ("i8", np.iinfo(np.int64).min, 1),
}
_NAMES = ("metrics", "targets", "variants", "objects")
# Labels that say what a series is about; the others tell series of one object apart (direction, priority, reason).
_IDENTITY = frozenset({"device", "port", "gpu", "fs", "target", "system", "job_id"})
# Of a source's refresh period: a collection that comes early by its jitter still counts as one period later.
_REFRESH_SHARE = 0.9
_COUNTER_SUFFIX = re.compile("(_total|_sum|_count)$")


def object_of(metric: str, labels: Mapping[str, str], device: str) -> ObjectRef:
    """What a series is about, from its labels.

    >>> str(object_of("gpu_power_watts", {"device": "node1", "gpu": "GPU-1"}, "node1"))
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


class Names:
    """Strings as small numbers, in order of first sight."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self.packed = string_table.Packed(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def number(self, name: str) -> int:
        known = self._numbers.get(name)
        if known is None:
            known = self._numbers[name] = len(self.names)
            self.names.append(name)
        return known

    def find(self, name: str) -> int | None:
        return self._numbers.get(name)


@dataclass
class MetricRules:
    """What the arithmetic needs to know of each metric, by metric number. to_score: names of those with a score."""

    to_score: Collection[str]
    counter: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    modulus: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    refresh_ns: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rests: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))  # stands still when nobody works
    scored: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    def extend(self, names: list[str]) -> None:
        """Rules of ``names[len(rules):]``. A metric that the catalogue lacks is taken by its suffix."""
        for name in names[self.counter.size :]:
            known = catalogue.metrics().get(name)
            counter = known.kind is Kind.COUNTER if known else bool(_COUNTER_SUFFIX.search(name))
            wraps = counter and known is not None and known.width < 64
            self.counter = np.append(self.counter, counter)
            self.modulus = np.append(self.modulus, 2.0**known.width if wraps and known else 0.0)
            refresh_ns = round(_REFRESH_SHARE * known.refresh_s * 1e9) if known else 0
            self.refresh_ns = np.append(self.refresh_ns, refresh_ns)
            self.rests = np.append(self.rests, name.startswith("storage_"))
            self.scored = np.append(self.scored, name in self.to_score)


class Registry:
    """Series by number, in order of first sight; tables map their rows to these numbers.

    Registering is the cold path: once for each table. ``version`` changes with every new series or compaction.
    """

    def __init__(self, series_max: int, to_score: Collection[str] = ()) -> None:
        self._series_max = series_max
        self.columns = Columns(_LAYOUT)
        self._name([])
        self.metrics, self.targets, self.variants, self.objects = Names(), Names(), Names(), Names()
        self.devices: list[str] = []  # by target
        self.rules = MetricRules(to_score)
        self.version = 0
        self._tables: dict[bytes, NDArray[np.int64]] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        self._refs: dict[int, ObjectRef] = {}
        self._device_numbers: tuple[tuple[int, int], NDArray[np.int64]] = ((-1, -1), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return self.columns.size

    def _name(self, keys: list[str]) -> None:
        self.keys = keys
        self._packed_keys = string_table.Packed(keys)

    def target(self, table: SeriesTable) -> int:
        number = self.targets.number(table.target)
        if number == len(self.devices):
            self.devices.append(table.device)
        return number

    def rows(self, table: SeriesTable) -> NDArray[np.int64]:
        """int64[len(table)]: the series number of each row; -1 where the limit of series is reached."""
        known = self._tables.get(table.digest)
        return known if known is not None else self._register(table)

    def _register(self, table: SeriesTable) -> NDArray[np.int64]:
        target = self.target(table)
        rows = np.fromiter((self._series(target, table.device, key) for key in table.keys), np.int64, len(table))
        self._tables[table.digest] = rows
        self.rules.extend(self.metrics.names)
        self.version += 1
        return rows

    def _series(self, target: int, device: str, key: str) -> int:
        known = self._numbers.get((target, key))
        if known is not None:
            return known
        number = self.columns.size
        if number >= self._series_max:
            return -1
        try:
            metric, labels = parse_series_key(key)
        except BadInput:
            return -1
        self.columns.grow(number + 1)
        self.columns["metric"][number] = self.metrics.number(metric)
        self.columns["object"][number] = self.objects.number(str(object_of(metric, labels, device)))
        self.columns["target"][number] = target
        rest = {name: value for name, value in sorted(labels.items()) if name not in _IDENTITY}
        self.columns["variant"][number] = self.variants.number(orjson.dumps(rest).decode())
        self.keys.append(key)
        self._numbers[(target, key)] = number
        return number

    def object_ref(self, number: int) -> ObjectRef:
        known = self._refs.get(number)
        if known is None:
            known = self._refs[number] = objects.parse_object(self.objects.names[number])
        return known

    def object_number(self, ref: ObjectRef) -> int:
        return self.objects.number(str(ref))

    def device_numbers(self) -> NDArray[np.int64]:
        """int64[targets]: object number of the device of each target."""
        key = (self.version, len(self.devices))
        if self._device_numbers[0] != key:
            numbers = [self.object_number(objects.device(name)) for name in self.devices]
            self._device_numbers = (key, np.array(numbers, np.int64))
        return self._device_numbers[1]

    def select(self, metric: str, accept: Callable[[Mapping[str, str]], bool] | None = None) -> NDArray[np.int64]:
        """int64[k], ascending: the series of one metric whose non-identity labels ``accept`` takes."""
        number = self.metrics.find(metric)
        if number is None:
            return np.zeros(0, np.int64)
        sids = np.flatnonzero(self.columns["metric"] == number)
        if accept is None:
            return sids
        variants = self.columns["variant"][sids]
        taken = [v for v in np.unique(variants).tolist() if accept(orjson.loads(self.variants.names[v]))]
        return np.asarray(sids[np.isin(variants, taken)])

    def labels(self, sid: int) -> dict[str, str]:
        """The non-identity labels of one series."""
        labels: dict[str, str] = orjson.loads(self.variants.names[self.columns["variant"][sid]])
        return labels

    def forget(self, live: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keeps only the live series, renumbered in order; returns their old numbers.

        Tables with a forgotten series go too: they register again when they come back.
        """
        keep = np.flatnonzero(live)
        renumbered = np.full(live.size, -1, np.int64)
        renumbered[keep] = np.arange(keep.size)
        tables = self._tables.items()
        self._tables = {d: renumbered[rows] for d, rows in tables if (rows >= 0).all() and live[rows].all()}
        self.columns.keep(keep)
        self._name([self.keys[old] for old in keep])
        self._renumber_names()
        self._refs.clear()
        self.version += 1
        return keep

    def _renumber_names(self) -> None:
        for column, attribute in (("object", "objects"), ("variant", "variants")):
            used, numbers = np.unique(self.columns[column], return_inverse=True)
            old: Names = getattr(self, attribute)
            setattr(self, attribute, Names(old.names[number] for number in used))
            self.columns[column][:] = numbers
        targets = self.columns["target"].tolist()
        self._numbers = {(target, key): n for n, (target, key) in enumerate(zip(targets, self.keys, strict=True))}

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON part and arrays."""
        names = {n: getattr(self, n).packed.array() for n in _NAMES}
        tables = {"digests": [digest.hex() for digest in self._tables], "rows": [len(r) for r in self._tables.values()]}
        head = {"devices": self.devices, "version": self.version, **tables}
        rows = np.concatenate([np.zeros(0, np.int64), *self._tables.values()])
        return head, {"keys": self._packed_keys.array(), "table_rows": rows, **names, **self.columns.state()}

    def restore(self, head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        for name in _NAMES:
            setattr(self, name, Names(string_table.unpack(arrays[name])))
        self._name(string_table.unpack(arrays["keys"]))
        self.devices, self.version = list(head["devices"]), head["version"]
        self.columns.restore(arrays)
        self.rules = MetricRules(self.rules.to_score)
        self.rules.extend(self.metrics.names)
        ends = np.cumsum(head["rows"], dtype=np.int64)
        blocks = np.split(arrays["table_rows"], ends[:-1]) if len(ends) else []
        self._tables = {bytes.fromhex(d): block for d, block in zip(head["digests"], blocks, strict=True)}
        targets = self.columns["target"].tolist()
        self._numbers = {(target, key): n for n, (target, key) in enumerate(zip(targets, self.keys, strict=True))}
