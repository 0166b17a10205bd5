"""The detectors' view of one tick: the newest value of every series and its quality, as columns."""

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from analytics.models import baseline
from analytics.state.columns import locked, read_only
from analytics.state.lookup import lookup
from analytics.state.topology_index import TopologyIndex
from analytics.view.cadence import series_cadence, target_cadence, target_refresh
from analytics.view.derived import Derived
from analytics.view.implausible import with_implausible
from analytics.view.quality import FRESH, IS_UNUSABLE, series_quality
from analytics.view.tick_data import TickData
from telemetry import catalogue
from telemetry.catalogue import Kind
from telemetry.selectors import Selector

_NO_SIDS = np.zeros(0, np.int64)
T = TypeVar("T")


class Column:
    """Some series at one tick, k rows; each array is gathered once, when it is first read, and cannot be written.

    sids: int64[k], series numbers. objects: int64[k], number of the object of each series.
    values: float64[k], newest rate (per second) or gauge. times_ns: int64[k], its event time.
    fresh: bool[k], whether the value is usable now; a detector skips the others.
    score: float64[k], standard deviations from the own baseline. level: float64[k], the baseline's level.
    Both are NaN where nothing is learned yet.
    anomaly: float64[k], calibrated by the series' own past, 1.0 is the alert level; NaN for metrics not ``scored``.
    """

    def __init__(self, view: "TickView", sids: NDArray[np.int64]) -> None:
        self._view = view
        self.sids: NDArray[np.int64] = locked(sids)

    def __len__(self) -> int:
        return self.sids.size

    @cached_property
    def objects(self) -> NDArray[np.int64]:
        return locked(self._view.index.columns["object"].take(self.sids))

    @cached_property
    def targets(self) -> NDArray[np.int32]:
        return locked(self._view.index.columns["target"][self.sids])

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return locked(self._view.series["value"].take(self.sids))

    @cached_property
    def times_ns(self) -> NDArray[np.int64]:
        return locked(self._view.series["value_ns"].take(self.sids))

    @cached_property
    def fresh(self) -> NDArray[np.bool_]:
        return locked(self._view.fresh_of(self.sids))

    @cached_property
    def new(self) -> NDArray[np.bool_]:
        """bool[k], whether this tick brought the value."""
        view = self._view
        return locked(view.series["valued_ns"][self.sids] >= view.end_ns - view.config.tick_ns)

    @cached_property
    def score(self) -> NDArray[np.float64]:
        return locked(self._view.series["score"][self.sids])

    @cached_property
    def anomaly(self) -> NDArray[np.float64]:
        return locked(self._view.series["anomaly"][self.sids])

    @cached_property
    def level(self) -> NDArray[np.float64]:
        return locked(baseline.levels(self._view.series["baseline"][self.sids]))

    def about(self, objects: NDArray[np.int64]) -> NDArray[np.float64]:
        """The value about each of ``objects``, NaN where there is none."""
        return self._values_and_none[lookup(self.objects, objects)]

    @cached_property
    def _values_and_none(self) -> NDArray[np.float64]:
        return np.append(self.values, np.nan)

    @property
    def watching(self) -> bool:
        """Whether any object is watched."""
        return self._view.watching

    @cached_property
    def watched(self) -> NDArray[np.bool_]:
        """bool[k]: see ``TickView``."""
        return locked(self._view.watched.take(self.objects))

    def moving(self) -> "Column":
        """The rows above 0 and those of watched objects: other rows of an error counter are healthy."""
        above = self.values > 0
        return self.only(above | self.watched if self.watching else above)

    def only(self, rows: NDArray[Any]) -> "Column":
        """Some rows, by mask or index; itself, with all that was gathered, where a mask leaves none out."""
        if rows.dtype == bool and rows.all():
            return self
        return Column(self._view, self.sids[rows])


class TickView:
    """One tick, read-only: ``data``, and what follows from it.

    watched: bool[objects], those with a finding or a breach, whose healthy values count too.
    reported: bool[series], those with a finding, from which nothing is learned; see ``view.reported``.
    derived: results of the parts that run before the detectors.
    """

    def __init__(self, data: TickData, watched: NDArray[np.bool_], reported: NDArray[np.bool_] | None = None) -> None:
        self.data = data
        self.reported = read_only(np.zeros(len(data.index), bool) if reported is None else reported)
        self.end_ns, self.config, self.index = data.end_ns, data.config, data.index
        self.series, self.targets = data.series, data.targets
        self.topology, self.topology_index, self.changes = data.topology, data.topology_index, data.changes
        self.watched = read_only(watched)
        self.derived = Derived()
        self._columns: dict[tuple[str, Selector | None], Column] = {}

    def with_derived(self, derived: Derived) -> "TickView":
        """The same tick, with everything that was gathered already."""
        view = copy.copy(self)
        view.derived = derived
        return view

    def with_topology_index(self, index: TopologyIndex) -> "TickView":
        """The same tick by another topology."""
        view = copy.copy(self)
        view.topology_index = index
        return view

    @cached_property
    def watching(self) -> bool:
        return bool(self.watched.any())

    @cached_property
    def cadence_s(self) -> NDArray[np.float64]:
        """float64[series]: seconds from one value to the next, as they usually come; see ``view.cadence``."""
        return locked(series_cadence(self.data))

    @cached_property
    def target_cadence_s(self) -> NDArray[np.float64]:
        """float64[targets]: seconds from one collection to the next."""
        return locked(target_cadence(self.data))

    @cached_property
    def target_refresh_s(self) -> NDArray[np.float64]:
        """float64[targets]: seconds from one collection to the next that says something new."""
        return locked(target_refresh(self.data))

    @cached_property
    def quality(self) -> NDArray[np.uint8]:
        """uint8[series]: ``Quality`` of each."""
        targets, frozen = self.index.columns["target"], self.targets["frozen"]
        quality = series_quality(
            self.series["valued_ns"], self.series["status"], targets, frozen, self.end_ns, self.cadence_s
        )
        return locked(with_implausible(self.data, quality))

    @cached_property
    def fresh(self) -> NDArray[np.bool_]:
        """bool[series]: whether the value is usable now."""
        return locked(self.quality == FRESH)

    def fresh_of(self, sids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[k]: the same of some series."""
        return self.fresh.take(sids)

    def cadence_of(self, sids: NDArray[np.int64]) -> NDArray[np.float64]:
        """float64[k]: ``cadence_s`` of some series."""
        return self.cadence_s.take(sids)

    @cached_property
    def target_quality(self) -> NDArray[np.float64]:
        """float64[targets]: 1 where all values of a target are usable, down to a half where none is."""
        targets, unusable = self.index.columns["target"], IS_UNUSABLE.take(self.quality)
        size = len(self.index.targets)
        known = np.maximum(1, np.bincount(targets, minlength=size))
        return locked(1.0 - 0.5 * np.bincount(targets, weights=unusable, minlength=size) / known)

    def column(self, metric: str, selector: Selector | None = None) -> Column:
        """The series of a metric; ``selector`` chooses by labels such as direction and must be a named function."""
        known = self._columns.get((metric, selector))
        if known is None:
            known = self._columns[(metric, selector)] = Column(self, self.data.sids(metric, selector))
            known.objects, known.targets = self.data.selections.places(metric, selector)
        return known

    def per_topology(self, work: Callable[["TickView"], T]) -> T:
        """The result of ``work``, a named function of series and topology; computed again when these change."""
        return self.data.selections.per_topology(work, self.topology_index, lambda: work(self))

    def per_physical(self, work: Callable[["TickView"], T]) -> T:
        """The same for ``work`` on series, devices, links and GPUs alone, which does not look at jobs."""
        return self.data.selections.per_physical(work, self.topology_index.physical, lambda: work(self))

    def joined(self, columns: Sequence[Column]) -> Column:
        """The rows of several columns as one."""
        return Column(self, np.concatenate([_NO_SIDS, *(column.sids for column in columns)]))

    def unit(self, sid: int) -> str:
        """Unit of the value of a series: that of its metric, per second where it is a counter."""
        metric = catalogue.metrics().get(self.index.metrics.names[self.index.columns["metric"][sid]])
        if metric is None:
            return ""
        return f"{metric.unit}/s" if metric.kind is Kind.COUNTER else metric.unit


class LightView(TickView):
    """A light tick, in which quality and cadence are those of the series that are asked for.

    Nothing is watched, as findings end with whole ticks. Hard evidence is never implausible, so that is not looked for.
    """

    def __init__(self, data: TickData) -> None:
        super().__init__(data, np.zeros(len(data.index.objects), np.bool_))

    def fresh_of(self, sids: NDArray[np.int64]) -> NDArray[np.bool_]:
        columns = self.series["valued_ns"], self.series["status"], self.index.columns["target"]
        valued_ns, status, targets = (locked(column[sids]) for column in columns)
        frozen, cadence_s = self.targets["frozen"], self.cadence_of(sids)
        quality = series_quality(valued_ns, status, targets, frozen, self.end_ns, cadence_s)
        return locked(quality == FRESH)

    def cadence_of(self, sids: NDArray[np.int64]) -> NDArray[np.float64]:
        return series_cadence(self.data, sids)
