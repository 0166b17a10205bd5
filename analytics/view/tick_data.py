"""All state at the end of one tick, to be read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.state.columns import ReadOnlyColumns, locked, read_only
from analytics.state.physical_index import PhysicalIndex
from analytics.state.series_index import SeriesIndex
from analytics.state.topology_index import TopologyIndex
from telemetry.changes import Change
from telemetry.selectors import Selector
from telemetry.topology import Topology

T = TypeVar("T")


class SelectionCache:
    """Caches what depends on the set of series, until it changes: alone, with the topology, with its physical part."""

    def __init__(self, index: SeriesIndex) -> None:
        self._index, self._version = index, -1
        self._topology_index: TopologyIndex | None = None
        self._physical: PhysicalIndex | None = None
        self._by_series: dict[Any, Any] = {}
        self._by_topology: dict[Any, Any] = {}
        self._by_physical: dict[Any, Any] = {}

    def sids(self, metric: str, selector: Selector | None) -> NDArray[np.int64]:
        """The series of a metric, see ``SeriesIndex.select``; the same object until the series change."""
        return self.per_series((metric, selector), lambda index: read_only(index.select(metric, selector)))

    def places(self, metric: str, selector: Selector | None) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The object and the target of each of these series; the same arrays until the series change."""
        sids = self.sids(metric, selector)
        return self.per_series(("places", metric, selector), lambda index: _places(index, sids))

    def per_series(self, name: object, work: Callable[[SeriesIndex], T]) -> T:
        """The result of ``work`` on the index, cached by ``name``."""
        self._expire(self._topology_index)
        if name not in self._by_series:
            self._by_series[name] = work(self._index)
        return cast(T, self._by_series[name])

    def per_topology(self, name: object, topology_index: TopologyIndex, work: Callable[[], T]) -> T:
        """The result of ``work`` on the series and the topology, cached by ``name``."""
        self._expire(topology_index)
        if name not in self._by_topology:
            self._by_topology[name] = work()
        return cast(T, self._by_topology[name])

    def per_physical(self, name: object, physical: PhysicalIndex, work: Callable[[], T]) -> T:
        """The same for what depends on devices, links and GPUs, and not on jobs."""
        self._expire(self._topology_index)
        if physical is not self._physical:
            self._physical = physical
            self._by_physical.clear()
        if name not in self._by_physical:
            self._by_physical[name] = work()
        return cast(T, self._by_physical[name])

    def _expire(self, topology_index: TopologyIndex | None) -> None:
        if self._version != self._index.version:
            self._version = self._index.version
            for cache in (self._by_series, self._by_topology, self._by_physical):
                cache.clear()
        if topology_index is not self._topology_index:
            self._topology_index = topology_index
            self._by_topology.clear()


def _places(index: SeriesIndex, sids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return locked(index.columns["object"].take(sids)), locked(index.columns["target"].take(sids))


@dataclass(frozen=True)
class TickData:
    """end_ns: of the tick, in event time; nothing depends on the wall clock.

    series, targets: columns of ``series_state`` and ``target_state``. changes: of the last day.
    """

    end_ns: int
    config: EngineConfig
    index: SeriesIndex
    series: ReadOnlyColumns
    targets: ReadOnlyColumns
    topology: Topology
    topology_index: TopologyIndex
    changes: tuple[Change, ...]
    selections: SelectionCache

    def sids(self, metric: str, selector: Selector | None = None) -> NDArray[np.int64]:
        """int64[k], ascending: the series of a metric that a named function selects."""
        return self.selections.sids(metric, selector)

    def per_series(self, work: Callable[[SeriesIndex], T]) -> T:
        """The result of ``work``, a named function of the series; computed again when these change."""
        return self.selections.per_series(work, work)
