"""What exporters have read of their devices: each group of series as old as its cache lets it be."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.collection.config import Timing
from simulator.collection.groups import GROUPS, SeriesGroup
from simulator.counters.readings import PortReadings, Readings
from simulator.layout import Endpoint, Exporter, Layout
from simulator.servers.collection.plan import CollectionPlan
from simulator.servers.io_time import IoCounts

Array = NDArray[Any]

_WATERMARKS = ("queue_peak", "pg_occupancy_peak", "pg_headroom_peak")
_OF_GROUP: dict[SeriesGroup, tuple[str, ...]] = {
    SeriesGroup.STATES: ("up", "daemon_down", "last_change_ns", "speed"),
    SeriesGroup.QUEUES: (
        *("queue_packets", "queue_bytes", "queue_dropped_packets", "queue_dropped_bytes"),
        *("queue_ecn_packets", "queue_ecn_bytes", "queue_occupancy"),
    ),
    SeriesGroup.WATERMARKS: _WATERMARKS,
    SeriesGroup.OPTICS: ("rx_power_dbm", "tx_power_dbm", "bias_amperes", "module_celsius", "module_volts"),
}
"""Fields of ``PortReadings``; all others are of the group of ports."""


@dataclass(slots=True)
class _Cache:
    """One group of one target. arrays: group of ``Readings`` and field. rows: of the target in those of a group.

    device, endpoint: positions in the layout. reads: when it reads, since the start.
    """

    group: SeriesGroup
    device: int
    endpoint: int
    arrays: tuple[tuple[str, str], ...]
    rows: dict[str, slice]
    reads: Iterator[int]


class ExporterCaches:
    """Reads devices as their exporters do. Its arrays change in place: use what ``serve`` gives in one thread alone.

    first: the readings that all of them begin with. io_times: of the cluster now.
    """

    def __init__(self, plan: CollectionPlan, layout: Layout, first: Readings, io_times: IoCounts) -> None:
        self._start_ns, self._io_times = plan.start_ns, io_times
        self._held: dict[tuple[str, str], Array] = {}
        self._caches = [
            _cache(plan, layout, first, endpoint, group)
            for endpoint in layout.endpoints
            for group in GROUPS.get(endpoint.exporter, ())
            if _is_cached(getattr(plan.config, group), group, plan.cluster.interval_s)
        ]
        for cache in self._caches:
            self._held.update({where: _array(first, where).copy() for where in cache.arrays if where not in self._held})
        self._peaks = {where: self._held[where].copy() for where in self._held if where[1] in _WATERMARKS}
        self.counts = io_times.counts.copy()
        self._holds_io = any(cache.group is SeriesGroup.LUSTRE for cache in self._caches)
        self._on = first.devices.reachable
        self._due = [(next(cache.reads), number) for number, cache in enumerate(self._caches)]
        heapq.heapify(self._due)

    def serve(self, readings: Readings) -> Readings:
        """What is served once the cluster has these readings; they must not change any more."""
        for where, peaks in self._peaks.items():
            np.maximum(peaks, _array(readings, where), out=peaks)
        self._read_due(readings)
        self._read_booted(readings)
        if not self._holds_io:
            self.counts = self._io_times.counts
        groups: dict[str, dict[str, Array]] = {}
        for (group, field), array in self._held.items():
            groups.setdefault(group, {})[field] = array
        return replace(readings, **{group: replace(getattr(readings, group), **held) for group, held in groups.items()})

    def _read_due(self, readings: Readings) -> None:
        elapsed_ns = readings.now_ns - self._start_ns
        while self._due and self._due[0][0] <= elapsed_ns:
            _, number = self._due[0]
            cache = self._caches[number]
            heapq.heapreplace(self._due, (next(at for at in cache.reads if at > elapsed_ns), number))
            if readings.devices.reachable[cache.device] and not readings.frozen[cache.endpoint]:
                self._read(cache, readings)

    def _read_booted(self, readings: Readings) -> None:
        """An exporter whose device was off reads as soon as it begins."""
        booted = readings.devices.reachable & ~self._on
        self._on = readings.devices.reachable
        if booted.any():
            for cache in self._caches:
                if booted[cache.device]:
                    self._read(cache, readings)

    def _read(self, cache: _Cache, readings: Readings) -> None:
        for where in cache.arrays:
            rows = cache.rows[where[0]]
            peaks = self._peaks.get(where)
            self._held[where][rows] = (_array(readings, where) if peaks is None else peaks)[rows]
            if peaks is not None:
                peaks[rows] = 0
        if cache.group is SeriesGroup.LUSTRE:
            rows = cache.rows["storage"]
            self.counts[rows] = self._io_times.counts[rows]


def _is_cached(timing: Timing, group: SeriesGroup, interval_s: float) -> bool:
    """Watermarks that are read less often than the cluster clears them are the highest since they were read last."""
    return bool(timing.refresh_s) or (
        group is SeriesGroup.WATERMARKS and max(timing.interval_s, default=0) > interval_s
    )


def _cache(plan: CollectionPlan, layout: Layout, first: Readings, endpoint: Endpoint, group: SeriesGroup) -> _Cache:
    rows = _rows(layout, endpoint)
    if endpoint.exporter is Exporter.GNMI:
        others = {field for of_group in _OF_GROUP.values() for field in of_group}
        left = tuple(field.name for field in fields(PortReadings) if field.name not in others)
        arrays = tuple(("ports", field) for field in _OF_GROUP.get(group, left))
    else:
        arrays = tuple((name, field.name) for name in rows for field in fields(getattr(first, name)))
    return _Cache(
        group,
        layout.device_index[endpoint.device],
        layout.endpoint_index[endpoint.exporter, endpoint.device],
        arrays,
        rows,
        plan.target(endpoint).times[group].reads(),
    )


def _rows(layout: Layout, endpoint: Endpoint) -> dict[str, slice]:
    """Rows of the target's units, by group of ``Readings``."""
    name = endpoint.device
    match endpoint.exporter:
        case Exporter.GNMI:
            return {"ports": _slice(layout.switch_ports[name])}
        case Exporter.DCGM:
            return {"gpus": _slice(layout.host_gpus[name])}
        case Exporter.NODE:
            at = layout.hosts.index(name)
            return {"nics": _slice(layout.device_nics[name]), "hosts": slice(at, at + 1)}
        case _:
            mine = [at for at, target in enumerate(layout.targets) if target.server == name]
            return {"storage": slice(mine[0], mine[-1] + 1)}


def _slice(units: range) -> slice:
    return slice(units.start, units.stop)


def _array(readings: Readings, where: tuple[str, str]) -> Array:
    found: Array = getattr(getattr(readings, where[0]), where[1])
    return found
