"""The telemetry of a simulated cluster in the order in which it arrives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.collection.config import CollectionConfig
from simulator.collection.draws import Draws
from simulator.collection.events import Due, Event, Events, Kind
from simulator.collection.groups import GROUPS, SeriesGroup
from simulator.collection.inventory import recorded
from simulator.collection.jobs import ChangeFeed
from simulator.collection.losses import Fate
from simulator.collection.schedule import Turn, on_grid
from simulator.collection.target import Target, arrives_after_ns
from simulator.layout import Endpoint, topology_facts
from telemetry.changes import Change
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact


class Reader(Protocol):
    """Reads the devices of a simulated cluster as they are now."""

    @property
    def targets(self) -> Sequence[Endpoint]: ...

    def read(self, positions: Sequence[int]) -> list[SampleBatch]:
        """All series of these targets (positions in ``targets``), or that a target is down, in their order."""
        ...


@dataclass(slots=True)
class Arrived:
    """What arrived at one moment: batches in order, and the facts and changes that became known."""

    batches: list[SampleBatch] = field(default_factory=list)
    facts: list[TopologyFact] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


class CollectionRun:
    """Collects from a cluster as ``config`` says. A function of its arguments, whatever else draws random numbers.

    seed: of everything here. parts: of the cluster's interval, for targets without an interval of their own.
    Times are nanoseconds since the start of the cluster.
    """

    def __init__(
        self, config: CollectionConfig, seed: int, cluster: SimulatedCluster, reader: Reader, parts: int = 1
    ) -> None:
        self._config, self._cluster, self._reader = config, cluster, reader
        self._interval_s, self._parts = cluster.config.interval_s, parts
        self._draws = Draws(config, seed, self._interval_s, cluster.start_ns)
        self._events = Events()
        self._times: dict[tuple[int, SeriesGroup], Iterator[tuple[int, int]]] = {}
        self._read_ns: dict[tuple[int, SeriesGroup], int] = {}
        self._targets: list[Target] = []
        self._arrived_ns: list[int] = []
        self._slow_peaks: list[int] = []  # targets whose watermarks are read less often than the cluster's interval
        self._ticks = 0
        for position, endpoint in enumerate(reader.targets):
            self._add(position, endpoint)
        every_s, first_poll_ns = self._draws.job_polls()
        self._jobs_every_s = every_s if config.jobs_known else 0.0
        self._feed = ChangeFeed(cluster, bool(self._jobs_every_s), config.maintenance_announced, config.jobs_known)
        self._poll_losses = self._draws.job_losses()
        self._push_tick()
        if self._jobs_every_s:
            self._events.add(first_poll_ns, Kind.POLL_JOBS)

    def inventory(self) -> list[TopologyFact]:
        """What the records say about the cluster at the start."""
        facts = topology_facts(self._cluster.layout, self._cluster.start_ns)
        return recorded(facts, self._config.inventory, self._draws.rng("inventory"))

    def arrivals(self, until_ns: int) -> Iterator[Arrived]:
        """Advances the cluster up to ``until_ns``, and stops at each moment at which something arrives.

        It also stops at every part of the cluster's interval, as the campaign without a collection does.
        """
        while (at_ns := self._events.next_ns) <= until_ns:
            due = Due()
            for event in self._events.pop():
                self._take(event, due)
            self._cluster.advance(self._cluster.start_ns + at_ns, groups=())
            arrived = self._perform(at_ns, due)
            if due.is_tick or arrived.batches or arrived.facts or arrived.changes:
                yield arrived

    def _take(self, event: Event, due: Due) -> None:
        """Adds the event to what is due, and the one that follows it to the events."""
        kind, position, what = event.kind, event.position, event.what
        if kind is Kind.READ and isinstance(what, SeriesGroup):
            due.reads[position].append(what)
        elif kind is Kind.COLLECT and isinstance(what, SeriesGroup):
            due.collections[position].append(what)
            self._schedule(position, what)
        elif isinstance(what, SampleBatch):
            due.arrivals.append((position, what))
        elif kind is Kind.POLL_JOBS:
            due.polls_jobs = True
            self._events.add(event.at_ns + round(self._jobs_every_s * NS_PER_S), Kind.POLL_JOBS)
        else:
            self._ticks += 1
            due.is_tick, due.ends_interval = True, self._ticks % self._parts == 0
            self._push_tick()

    def _perform(self, at_ns: int, due: Due) -> Arrived:
        holds = self._slow_peaks if due.ends_interval else ()
        positions = sorted({*due.reads, *due.collections, *holds})
        pages = dict(zip(positions, self._reader.read(positions), strict=True)) if positions else {}
        for position in holds:
            self._targets[position].hold_peaks(pages[position])
        for position, groups in due.reads.items():
            self._targets[position].read(pages[position], groups)
        for position in sorted(due.collections):
            groups = [group for group in SeriesGroup if group in due.collections[position]]
            batch = self._collect(position, groups, pages[position], at_ns)
            if batch is not None:
                self._publish(position, batch, at_ns, due)
        arrived = Arrived([batch for _, batch in sorted(due.arrivals, key=lambda arrival: arrival[0])])
        self._learn(at_ns, due, arrived)
        return arrived

    def _collect(self, position: int, groups: list[SeriesGroup], page: SampleBatch, at_ns: int) -> SampleBatch | None:
        target = self._targets[position]
        if not target.is_read:  # its exporter has just begun
            target.read(page, GROUPS[target.endpoint.exporter])
        return target.collect(page, groups, at_ns)

    def _publish(self, position: int, batch: SampleBatch, at_ns: int, due: Due) -> None:
        """At the end of the collection; batches of one target never overtake each other."""
        arrives_ns = max(self._arrived_ns[position], at_ns + on_grid(arrives_after_ns(batch)))
        self._arrived_ns[position] = arrives_ns
        if arrives_ns == at_ns:
            due.arrivals.append((position, batch))
        else:
            self._events.add(arrives_ns, Kind.ARRIVE, position, batch)

    def _learn(self, at_ns: int, due: Due, arrived: Arrived) -> None:
        """What becomes known about jobs and changes."""
        if due.is_tick or due.polls_jobs:
            arrived.changes = self._feed.changes()
        if due.is_tick and not self._jobs_every_s:
            arrived.facts = self._feed.facts()
        if due.polls_jobs and (self._poll_losses is None or self._poll_losses.fate(at_ns) is Fate.ARRIVES):
            arrived.facts, of_jobs = self._feed.poll()
            arrived.changes += of_jobs
        if due.is_tick:
            arrived.facts = [*arrived.facts, *self._feed.cables()]

    def _add(self, position: int, endpoint: Endpoint) -> None:
        config, draws = self._config, self._draws.target(endpoint, position % self._parts, self._parts)
        for group, times in draws.times.items():
            self._times[position, group] = iter(times)
            self._schedule(position, group)
            if group is SeriesGroup.WATERMARKS and times.reads_every_s > self._interval_s:
                self._slow_peaks.append(position)
        absent = frozenset(config.absent)
        self._targets.append(Target(endpoint, self._cluster.start_ns, absent, config.durations, draws))
        self._arrived_ns.append(0)

    def _schedule(self, position: int, group: SeriesGroup) -> None:
        """The next collection of a group, and the read before it."""
        at_ns, read_ns = next(self._times[position, group])
        if read_ns != self._read_ns.get((position, group)):
            self._read_ns[position, group] = read_ns
            self._events.add(read_ns, Kind.READ, position, group)
        self._events.add(at_ns, Kind.COLLECT, position, group)

    def _push_tick(self) -> None:
        self._events.add(Turn(self._interval_s / self._parts, 0, 1).at_ns(self._ticks), Kind.TICK)
