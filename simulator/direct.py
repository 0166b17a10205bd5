"""Samples of the simulated cluster without any protocol: what the collectors would publish, for tests and campaigns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.collection.config import CollectionConfig
from simulator.collection.run import CollectionRun
from simulator.config import SimulatorConfig
from simulator.counters import canonical, infiniband
from simulator.counters.canonical import Column
from simulator.counters.readings import Readings
from simulator.fabric.state import Floats
from simulator.faults.schedule import ScheduledFault
from simulator.layout import Endpoint, Exporter, Flavour, Layout, peer_address, topology_facts
from simulator.shapes.shape import Shape
from telemetry import catalogue
from telemetry.changes import Change
from telemetry.samples import Collection, DownReason, SampleBatch, all_rows
from telemetry.series import SeriesTable, series_key
from telemetry.topology import TopologyFact

DURATION_S = 0.01


@dataclass(frozen=True, slots=True)
class _Part:
    """Columns of some units of one target. labels: the unit's own labels, one mapping a unit."""

    columns: tuple[Column, ...]
    units: range
    labels: tuple[Mapping[str, str], ...]


class _Values(NamedTuple):
    """Values of some columns. matrix: [units, columns]."""

    units: range
    matrix: Floats

    def of(self, units: range, there: NDArray[np.bool_]) -> Floats:
        """Of those of ``units`` that are ``there``."""
        rows = self.matrix[units.start - self.units.start : units.stop - self.units.start]
        return rows if there.all() else rows[there]


class DirectCollector:
    """Collects from every endpoint of a simulated cluster at once. Keeps tables, and what frozen exporters repeat.

    sessions: of switches also their BGP sessions, by the address of the neighbour as over gNMI.
    """

    def __init__(self, cluster: SimulatedCluster, *, sessions: bool = False) -> None:
        self._cluster = cluster
        layout = cluster.layout
        self._endpoints = [(i, e) for i, e in enumerate(layout.endpoints) if e.exporter is not Exporter.SLURM]
        self._parts = {i: _parts_of(layout, endpoint, sessions) for i, endpoint in self._endpoints}
        self._whole = {id(group): [_is_whole_number(column.metric) for column in group] for group in _GROUPS}
        self._tables: dict[tuple[int, bytes], SeriesTable] = {}
        self._last: dict[int, tuple[SeriesTable, Floats]] = {}
        self._seq = -1

    @property
    def targets(self) -> Sequence[Endpoint]:
        """All that are collected from, in the order of the layout."""
        return [endpoint for _, endpoint in self._endpoints]

    def collect(self, part: int = 0, parts: int = 1) -> list[SampleBatch]:
        """One batch a target, as of the readings' time; a device that does not answer gives one that is down.

        Of ``parts`` calls, with ``part`` 0, 1, …, each reads its share of the targets.
        """
        self._seq += part == 0
        return self.read(range(part, len(self._endpoints), parts))

    def read(self, positions: Sequence[int]) -> list[SampleBatch]:
        """The batches of these targets alone (positions in ``targets``), all with the newest sequence number."""
        chosen = [self._endpoints[position] for position in positions]
        readings = self._cluster.readings_of({group for _, one in chosen for group in _READ_BY[one.exporter]})
        parts = [part for i, _ in chosen for part in self._parts[i]]
        units = _extents(parts)
        columns = {id(part.columns): part.columns for part in parts}
        tables = {key: _Values(units[key], self._matrix(columns[key], units[key], readings)) for key in columns}
        return [self._batch(i, endpoint, tables, readings) for i, endpoint in chosen]

    def _matrix(self, columns: tuple[Column, ...], units: range, readings: Readings) -> Floats:
        """[units, columns]; counters as the whole numbers that exporters print."""
        found = np.empty((len(columns), len(units)))
        for row, column, whole in zip(found, columns, self._whole[id(columns)], strict=True):
            values = column.of(readings)[units.start : units.stop]
            if whole:
                np.floor(values, out=row)
            else:
                row[:] = values
        return found.T

    def _batch(self, i: int, endpoint: Endpoint, tables: dict[int, "_Values"], readings: Readings) -> SampleBatch:
        target = f"{endpoint.exporter}/{endpoint.address}"
        on = readings.devices.reachable[self._cluster.layout.device_index[endpoint.device]]
        now_ns = readings.now_ns
        if not on:
            return without_samples(
                SeriesTable(target, endpoint.device, ()), self._collection(now_ns, DownReason.TIMEOUT)
            )
        if not readings.frozen[i] or i not in self._last:
            self._last[i] = self._read(i, endpoint, target, tables, readings)
        table, values = self._last[i]
        n = values.size
        if n == 0:  # every GPU is gone: an empty page
            return without_samples(table, self._collection(now_ns, DownReason.NOT_EXPOSITION))
        times = np.full(n, now_ns, dtype=np.int64)
        return SampleBatch(table, self._collection(now_ns), times, all_rows(n), values)

    def _read(
        self, i: int, endpoint: Endpoint, target: str, tables: dict[int, "_Values"], readings: Readings
    ) -> tuple[SeriesTable, Floats]:
        parts = self._parts[i]
        present = [_present(part, readings) for part in parts]
        mask = b"".join(p.tobytes() for p in present)
        table = self._tables.get((i, mask))
        if table is None:
            pairs = zip(parts, present, strict=True)
            keys = tuple(key for part, there in pairs for key in _keys(endpoint.device, part, there))
            table = self._tables[i, mask] = SeriesTable(target, endpoint.device, keys)
        blocks = [
            tables[id(part.columns)].of(part.units, there).ravel() for part, there in zip(parts, present, strict=True)
        ]
        return table, np.concatenate(blocks)

    def _collection(self, now_ns: int, down: DownReason | None = None) -> Collection:
        return Collection(self._cluster.start_ns, self._seq, now_ns, DURATION_S, down)


@dataclass(frozen=True, slots=True)
class CampaignTick:
    """One collection interval, or a part of it: batches, and the facts and changes that are new since the last tick."""

    now_ns: int
    batches: list[SampleBatch]
    facts: list[TopologyFact]
    changes: list[Change]
    cluster: SimulatedCluster


def campaign(
    config: SimulatorConfig,
    faults: Iterable[ScheduledFault],
    lasts_s: float,
    start_ns: int = 1_700_000_000 * NS_PER_S,
    parts: int = 1,
    collection: CollectionConfig | None = None,
    collection_seed: int = 1,
) -> Iterator[CampaignTick]:
    """Simulated time in collection intervals of ``config.interval_s``. The ground truth is in ``tick.cluster.truth``.

    parts: ticks of an interval; each target is read in one of them, as collectors spread their targets over it.
    collection: how telemetry is collected (``simulator.collection.presets.PRESETS``), with a seed of its own. There is
    a tick for each moment at which something arrives, too. None: perfect values of all targets in every interval.
    """
    cluster = SimulatedCluster(config, start_ns)
    for fault in faults:
        cluster.inject(fault)
    collector = DirectCollector(cluster, sessions=collection is not None and collection.sessions)
    if collection is not None:
        run = CollectionRun(collection, collection_seed, cluster, collector, parts)
        ends_s = int(lasts_s / config.interval_s) * parts * (config.interval_s / parts)
        yield from _arrivals(run, cluster, int(ends_s * NS_PER_S))
        return
    facts = topology_facts(cluster.layout, start_ns)
    known: set[tuple[str, bool]] = set()
    changes_seen = cables_seen = 0
    tick_s = config.interval_s / parts
    for k in range(int(lasts_s / config.interval_s) * parts):
        cluster.advance(start_ns + int((k + 1) * tick_s * NS_PER_S))
        for fact in cluster.job_facts():
            if (fact.entity.key, fact.gone) not in known:
                known.add((fact.entity.key, fact.gone))
                facts.append(fact)
        facts += cluster.cable_facts[cables_seen:]
        cables_seen = len(cluster.cable_facts)
        yield CampaignTick(
            cluster.now_ns, collector.collect(k % parts, parts), facts, cluster.changes[changes_seen:], cluster
        )
        facts, changes_seen = [], len(cluster.changes)


def _arrivals(run: CollectionRun, cluster: SimulatedCluster, until_ns: int) -> Iterator[CampaignTick]:
    inventory = run.inventory()
    for arrived in run.arrivals(until_ns):
        yield CampaignTick(cluster.now_ns, arrived.batches, [*inventory, *arrived.facts], arrived.changes, cluster)
        inventory = []


_READ_BY = {
    Exporter.GNMI: ("ports",),
    Exporter.DCGM: ("gpus",),
    Exporter.NODE: ("nics", "hosts"),
    Exporter.LUSTRE: ("storage",),
}
"""Groups of readings by the exporter that shows them."""
_GROUPS = (
    canonical.SONIC,
    canonical.ARISTA,
    canonical.SESSIONS,
    canonical.NICS,
    canonical.GPUS,
    canonical.HOSTS,
    canonical.STORAGE,
    infiniband.PORTS,
    infiniband.NICS,
)


def _parts_of(layout: Layout, endpoint: Endpoint, sessions: bool) -> list[_Part]:
    name = endpoint.device
    match endpoint.exporter:
        case Exporter.GNMI:
            sonic = layout.flavours[name] is Flavour.SONIC
            units = layout.switch_ports[name]
            labels = tuple({"port": layout.ports[i].name} for i in units)
            ethernet = canonical.SONIC if sonic else canonical.ARISTA
            if layout.shape is Shape.INFINIBAND:
                return [_Part(infiniband.PORTS, units, labels)]
            return [_Part(ethernet, units, labels), *(_sessions_of(layout, units) if sessions else ())]
        case Exporter.DCGM:
            units = layout.host_gpus[name]
            return [_Part(canonical.GPUS, units, tuple({"gpu": layout.gpus[i].uuid} for i in units))]
        case Exporter.NODE:
            at, units = layout.hosts.index(name), layout.device_nics[name]
            columns = infiniband.NICS if layout.shape is Shape.INFINIBAND else canonical.NICS
            nics = _Part(columns, units, tuple({"port": layout.nics[i].name} for i in units))
            return [nics, _Part(canonical.HOSTS, range(at, at + 1), ({},))]
        case _:
            mine = [i for i, target in enumerate(layout.targets) if target.server == name]
            fixed = {"system": "lustre", "fs": layout.filesystem, "side": "server"}
            labels = tuple({**fixed, "target": layout.targets[i].name} for i in mine)
            return [_Part(canonical.STORAGE, range(mine[0], mine[-1] + 1), labels)]


def _sessions_of(layout: Layout, ports: range) -> list[_Part]:
    """Of the ports towards other switches, which come last on every switch."""
    between = [i for i in ports if layout.ports[i].nic < 0]
    if not between:
        return []
    units = range(between[0], ports.stop)
    assert len(units) == len(between)
    return [_Part(canonical.SESSIONS, units, tuple({"peer": peer_address(layout, i)} for i in units))]


def _extents(parts: Iterable[_Part]) -> dict[int, range]:
    """From the first to the last unit that has these columns, by the id of the columns."""
    found: dict[int, range] = {}
    for part in parts:
        known = found.get(id(part.columns), part.units)
        first, last = min(known.start, part.units.start), max(known.stop, part.units.stop)
        found[id(part.columns)] = range(first, last)
    return found


def _present(part: _Part, readings: Readings) -> NDArray[np.bool_]:
    """Units that have series now: all but GPUs that fell off the bus."""
    if part.columns is canonical.GPUS:
        return readings.gpus.present[part.units.start : part.units.stop]
    return np.ones(len(part.units), dtype=np.bool_)


def _keys(device: str, part: _Part, present: NDArray[np.bool_]) -> Iterator[str]:
    names = ("device", *(part.labels[0] if part.labels else ()))
    form = _key_form(part.columns, names)
    for labels, there in zip(part.labels, present.tolist(), strict=True):
        if there:
            values = {"device": device, **labels}
            yield from (form % {name: _escaped(value) for name, value in values.items()}).split("\n")


@lru_cache
def _key_form(columns: tuple[Column, ...], names: tuple[str, ...]) -> str:
    """The keys of one unit, one a line, with a place for the value of each of its own labels."""
    own = {name: f"%({name})s" for name in names}
    fixed = [{name: text.replace("%", "%%") for name, text in column.labels} for column in columns]
    return "\n".join(series_key(column.metric, {**own, **more}) for column, more in zip(columns, fixed, strict=True))


@lru_cache(maxsize=1 << 16)
def _escaped(value: str) -> str:
    """A label's value as it stands in a key."""
    return series_key("", {"": value})[len('{="') : -len('"}')]


def _is_whole_number(metric: str) -> bool:
    known = catalogue.metrics()[metric]
    return known.kind is catalogue.Kind.COUNTER and known.unit not in ("seconds", "joules")


def without_samples(table: SeriesTable, collection: Collection) -> SampleBatch:
    """What a failed collection publishes."""
    nothing = np.zeros(0)
    return SampleBatch(table, collection, nothing.astype(np.int64), nothing.astype(np.uint32), nothing)
