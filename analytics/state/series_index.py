"""The series by number, to be read: what each measures, which object it is about, and which target reports it."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import orjson
from numpy.typing import NDArray

from analytics.snapshot import string_table
from analytics.state.columns import Columns, ReadOnlyColumns, read_only
from telemetry import catalogue, objects
from telemetry.catalogue import Kind
from telemetry.objects import ObjectRef
from telemetry.selectors import Selector

LAYOUT: dict[str, tuple[str, float, int]] = {
    "metric": ("i4", -1, 1),
    "object": ("i8", -1, 1),
    "target": ("i4", -1, 1),
    "variant": ("i4", -1, 1),
    "seen_ns": ("i8", np.iinfo(np.int64).min, 1),
}
# Of a source's refresh period: a collection that is early by its jitter still counts as one period later.
_REFRESH_SHARE = 0.9
_COUNTER_SUFFIX = re.compile("(_total|_sum|_count|_bucket)$")


class Interner:
    """Strings as small numbers, in the order in which they appear."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self.packed = string_table.Packed(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def intern(self, name: str) -> int:
        """The number of a name, a new one for a new name."""
        known = self._numbers.get(name)
        if known is None:
            known = self._numbers[name] = len(self.names)
            self.names.append(name)
        return known

    def get(self, name: str) -> int | None:
        """The number of a name, None for an unknown one."""
        return self._numbers.get(name)


@dataclass
class MetricRules:
    """What rates and scores need to know of each metric, by metric number. to_score: names of scored metrics."""

    to_score: Collection[str]
    counter: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    modulus: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    refresh_ns: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    idles: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))  # unchanged while no job works
    scored: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    def extend(self, names: list[str]) -> None:
        """Rules of ``names[len(rules):]``. For a metric that is not in the catalogue its suffix decides."""
        for name in names[self.counter.size :]:
            known = catalogue.metrics().get(name)
            counter = known.kind is Kind.COUNTER if known else bool(_COUNTER_SUFFIX.search(name))
            wraps = counter and known is not None and known.width < 64
            self.counter = np.append(self.counter, counter)
            self.modulus = np.append(self.modulus, 2.0**known.width if wraps and known else 0.0)
            refresh_ns = round(_REFRESH_SHARE * known.refresh_s * 1e9) if known else 0
            self.refresh_ns = np.append(self.refresh_ns, refresh_ns)
            self.idles = np.append(self.idles, name.startswith("storage_"))
            self.scored = np.append(self.scored, name in self.to_score)


class SeriesIndex:
    """Series by number, in the order in which they appear. Arrays are read-only; ``Registry`` writes them.

    columns: number of the metric, object, target and variant (labels that name no object) of each, and when it was last
    in a scrape body. devices: name of the device of each target. version: changes with every new series.
    """

    def __init__(self, to_score: Collection[str] = ()) -> None:
        self._columns = Columns(LAYOUT)
        self.keys: list[str] = []
        self.metrics, self.targets, self.variants, self.objects = Interner(), Interner(), Interner(), Interner()
        self.devices: list[str] = []
        self.rules = MetricRules(to_score)
        self.version = 0
        self._refs: dict[int, ObjectRef] = {}
        self._device_objects = np.zeros(0, np.int64)
        self._read_only: tuple[tuple[int, int], ReadOnlyColumns] | None = None

    def __len__(self) -> int:
        return self._columns.size

    @property
    def columns(self) -> ReadOnlyColumns:
        """Of all series, by name."""
        known = self._read_only
        if known is None or known[0] != (self.version, self._columns.size):
            known = self._read_only = ((self.version, self._columns.size), ReadOnlyColumns(self._columns))
        return known[1]

    @property
    def device_objects(self) -> NDArray[np.int64]:
        """int64[targets]: object number of the device of each target."""
        return read_only(self._device_objects)

    def object_ref(self, number: int) -> ObjectRef:
        known = self._refs.get(number)
        if known is None:
            known = self._refs[number] = objects.parse_object(self.objects.names[number])
        return known

    def object_number(self, ref: ObjectRef) -> int:
        """KeyError for an object that no series and no topology has named."""
        number = self.objects.get(str(ref))
        if number is None:
            raise KeyError(ref)
        return number

    def select(self, metric: str, selector: Selector | None = None) -> NDArray[np.int64]:
        """int64[k], ascending: the series of one metric whose non-identity labels ``selector`` accepts."""
        number = self.metrics.get(metric)
        if number is None:
            return np.zeros(0, np.int64)
        sids = np.flatnonzero(self._columns["metric"] == number)
        if selector is None:
            return sids
        variants = self._columns["variant"][sids]
        accepted = [v for v in np.unique(variants).tolist() if selector(orjson.loads(self.variants.names[v]))]
        return np.asarray(sids[np.isin(variants, accepted)])

    def labels(self, sid: int) -> Mapping[str, str]:
        """The non-identity labels of one series."""
        labels: dict[str, str] = orjson.loads(self.variants.names[self._columns["variant"][sid]])
        return labels
