"""What detectors see of one tick: the newest trustworthy value of every series, as columns."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.jobs.activity import WorkBook
from analytics.models import baseline
from analytics.state.columns import Columns
from analytics.state.implausible import with_doubts
from analytics.state.quality import Trust, series_trust
from analytics.state.registry import Registry
from analytics.state.topology_index import Places, find_places
from telemetry import catalogue
from telemetry.catalogue import Kind
from telemetry.changes import Change
from telemetry.topology import Topology

_NO_SIDS = np.zeros(0, np.int64)
_DENSE_TIMES = 16  # a table of so many times the rows is quicker than a sort
FRESH = int(Trust.FRESH)
DOUBTFUL = (int(Trust.STALE), int(Trust.FROZEN), int(Trust.ZERO))
Accept = Callable[[Mapping[str, str]], bool]
T = TypeVar("T")


class Column:
    """Some series at one tick, k rows; what is asked for is gathered once.

    sids: int64[k], series numbers. objects: int64[k], registry's number of what each series is about.
    values: float64[k], newest rate (per second) or gauge. times_ns: int64[k], its event time.
    fresh: bool[k], whether the value may be believed now; a detector leaves the others out.
    score: float64[k], standard deviations from the own baseline. level: float64[k], the baseline's level.
    Both are NaN where nothing is learned yet.
    anomaly: float64[k], calibrated by the own past, 1.0 is the alert level; NaN for metrics that are not ``scored``.
    """

    def __init__(self, view: "View", sids: NDArray[np.int64]) -> None:
        self._view, self.sids = view, sids

    def __len__(self) -> int:
        return self.sids.size

    @cached_property
    def objects(self) -> NDArray[np.int64]:
        return np.asarray(self._view.registry.columns["object"][self.sids])

    @cached_property
    def targets(self) -> NDArray[np.int32]:
        return np.asarray(self._view.registry.columns["target"][self.sids])

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return np.asarray(self._view.series["value"][self.sids])

    @cached_property
    def times_ns(self) -> NDArray[np.int64]:
        return np.asarray(self._view.series["value_ns"][self.sids])

    @cached_property
    def fresh(self) -> NDArray[np.bool_]:
        return np.asarray(self._view.trust[self.sids] == FRESH)

    @cached_property
    def score(self) -> NDArray[np.float64]:
        return np.asarray(self._view.series["score"][self.sids])

    @cached_property
    def anomaly(self) -> NDArray[np.float64]:
        return np.asarray(self._view.series["anomaly"][self.sids])

    @cached_property
    def level(self) -> NDArray[np.float64]:
        model = self._view.series["baseline"]
        learned = model[self.sids, baseline.COUNT] >= baseline.WARMUP
        return np.where(learned, model[self.sids, baseline.LEVEL], np.nan)

    def about(self, objects: NDArray[np.int64]) -> NDArray[np.float64]:
        """The value about each of ``objects``, NaN where there is none."""
        return np.append(self.values, np.nan)[lookup(self.objects, objects)]

    @property
    def watching(self) -> bool:
        """Whether any object at all is watched."""
        return self._view.watching

    @cached_property
    def watched(self) -> NDArray[np.bool_]:
        """bool[k]: see ``View``."""
        return np.asarray(self._view.watched[self.objects])

    def moving(self) -> "Column":
        """The rows above 0 and those of watched objects. Of a counter of bad news the others say nothing."""
        above = self.values > 0
        return self.only(above | self.watched if self.watching else above)

    def only(self, rows: NDArray[Any]) -> "Column":
        """Some rows, by mask or index."""
        return Column(self._view, self.sids[rows])


class Selections:
    """What only depends on which series there are, or on that and the topology, remembered until either changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._version = registry, -1
        self._topology: Topology | None = None
        self._known: dict[Any, Any] = {}
        self._placed: dict[Any, Any] = {}

    def sids(self, metric: str, accept: Accept | None) -> NDArray[np.int64]:
        """The series of a metric, see ``Registry.select``."""
        return self._remembered((metric, accept), lambda: self._registry.select(metric, accept))

    def worked_out(self, work: Callable[[Registry], T]) -> T:
        """What ``work``, a named function, makes of the registry."""
        return self._remembered(work, lambda: work(self._registry))

    def placed(self, work: Callable[["View"], T], view: "View") -> T:
        """What ``work``, a named function, makes of the series and the topology."""
        self._forget()
        if view.topology is not self._topology:
            self._topology = view.topology
            self._placed.clear()
        if work not in self._placed:
            self._placed[work] = work(view)
        return cast(T, self._placed[work])

    def _remembered(self, name: object, work: Callable[[], T]) -> T:
        self._forget()
        if name not in self._known:
            self._known[name] = work()
        return cast(T, self._known[name])

    def _forget(self) -> None:
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._known.clear()
            self._placed.clear()


class View:
    """One tick. ``end_ns`` is its end in event time; nothing in it depends on the wall clock.

    watched: bool[objects], those of which the findings book has something, so that also good news of them counts; None
    for all.
    """

    def __init__(
        self,
        end_ns: int,
        config: EngineConfig,
        registry: Registry,
        series: Columns,
        targets: Columns,
        selections: Selections,
        topology: Topology,
        changes: tuple[Change, ...] = (),
        work: WorkBook | None = None,
        watched: NDArray[np.bool_] | None = None,
    ) -> None:
        self.end_ns, self.config, self.registry = end_ns, config, registry
        self.series, self.targets, self.topology, self.changes = series, targets, topology, changes
        self._selections = selections
        self._known: dict[object, object] = {}
        self._columns: dict[tuple[str, Accept | None], Column] = {}
        self.work = WorkBook() if work is None else work
        self.watched = np.ones(len(registry.objects), bool) if watched is None else watched

    @cached_property
    def watching(self) -> bool:
        return bool(self.watched.any())

    @cached_property
    def places(self) -> Places:
        return self.of_places(_places)

    @cached_property
    def trust(self) -> NDArray[np.uint8]:
        """uint8[series]: Trust of each."""
        frozen = self.targets["frozen"][self.registry.columns["target"]]
        valued_ns, status = self.series["valued_ns"], self.series["status"]
        return with_doubts(self, series_trust(valued_ns, status, frozen, self.end_ns, self.config.interval_ns))

    @cached_property
    def belief(self) -> NDArray[np.float64]:
        """float64[targets]: 1 where all that a target brings may be believed, down to a half where nothing may."""
        targets, doubtful = self.registry.columns["target"], np.isin(self.trust, DOUBTFUL)
        size = len(self.registry.targets)
        known = np.maximum(1, np.bincount(targets, minlength=size))
        return np.asarray(1.0 - 0.5 * np.bincount(targets, weights=doubtful, minlength=size) / known)

    @property
    def trust_counts(self) -> dict[str, int]:
        """How many series are in each state."""
        counts = np.bincount(self.trust, minlength=len(Trust)).tolist()
        return {state.name.lower(): counts[state] for state in Trust}

    def column(self, metric: str, accept: Accept | None = None) -> Column:
        """The series of a metric; ``accept`` chooses by labels such as direction and must be a named function."""
        known = self._columns.get((metric, accept))
        if known is None:
            known = self._columns[(metric, accept)] = Column(self, self._selections.sids(metric, accept))
        return known

    def of_series(self, work: Callable[[Registry], T]) -> T:
        """What a detector needs to know of the series themselves; ``work`` must be a named function."""
        return self._selections.worked_out(work)

    def of_places(self, work: Callable[["View"], T]) -> T:
        """What a detector needs to know of series and topology; ``work`` must be a named function."""
        return self._selections.placed(work, self)

    def once(self, work: Callable[["View"], T]) -> T:
        """What ``work``, a named function, makes of this tick; several detectors may need it."""
        if work not in self._known:
            self._known[work] = work(self)
        return cast(T, self._known[work])

    def joined(self, columns: Sequence[Column]) -> Column:
        """Columns of several metrics one below the other."""
        return Column(self, np.concatenate([_NO_SIDS, *(column.sids for column in columns)]))

    def learn(
        self,
        sids: NDArray[np.int64],
        values: NDArray[np.float64],
        model: NDArray[np.float64],
        score: NDArray[np.float64],
        newest_score: NDArray[np.float64],
    ) -> None:
        """``baseline.score_and_learn`` with the configured speeds."""
        pace = self.config.baseline
        baseline.score_and_learn(sids, values, model, pace.alpha, pace.warmup, pace.follow, score, newest_score)

    def unit(self, sid: int) -> str:
        """Unit of the value of a series: that of its metric, per second where it is a counter."""
        metric = catalogue.metrics().get(self.registry.metrics.names[self.registry.columns["metric"][sid]])
        if metric is None:
            return ""
        return f"{metric.unit}/s" if metric.kind is Kind.COUNTER else metric.unit


def worst_of_each(objects: NDArray[np.int64], score: NDArray[np.float64]) -> NDArray[np.int64]:
    """The row with the highest score of each object, ordered by object; the first such row where scores tie."""
    if (objects[1:] > objects[:-1]).all():
        return np.arange(objects.size)
    # From behind, since the sort keeps the order of ties and the last row of each object is taken.
    order = objects.size - 1 - np.lexsort((score[::-1], objects[::-1]))
    sorted_objects = objects[order]
    return np.asarray(order[np.append(sorted_objects[1:] != sorted_objects[:-1], True)])


def lookup(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row in ``known`` (any order) of each wanted number, the first where it stands twice, -1 where it does not."""
    if not known.size or not wanted.size:
        return np.full(wanted.size, -1, np.int64)
    size = 1 + int(max(known.max(), wanted.max()))
    if size <= _DENSE_TIMES * (known.size + wanted.size):
        row_of = np.full(size, -1, np.int64)
        row_of[known[::-1]] = np.arange(known.size)[::-1]
        return np.asarray(row_of[wanted])
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)
    rows = order[at]
    return np.where(known[rows] == wanted, rows, -1)


def _places(view: View) -> Places:
    return find_places(view.registry, view.topology)
