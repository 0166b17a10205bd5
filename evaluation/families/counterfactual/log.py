"""What a simulated cluster really did: the work of its jobs, the ways of its traffic, the GPUs that were gone."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.compute.record import RunningJob
from simulator.compute.scheduler import Slot
from simulator.fabric.state import Ints

WORK_EVERY_S, ROUTES_EVERY_S = 0.2, 1.0
SAME_SPAN_NS = 30 * NS_PER_S  # a flow that rests for less than this, in computing or checkpoints, is in use


class Span(NamedTuple):
    """From ``first_ns`` to ``last_ns``, both included."""

    first_ns: int
    last_ns: int


class Route(NamedTuple):
    """A way that bytes took. source, destination: positions in ``Layout.nics``. path: queue ids, -1 where skipped."""

    source: int
    destination: int
    path: tuple[int, ...]


@dataclass(slots=True)
class JobLog:
    """The course of one job. gpus: positions in ``Layout.gpus``. ended_ns: 0 while it runs.

    times_ns, work: how much was complete from when on, in iterations or in GPU-seconds of requests; empty for work
    that nothing can delay.
    """

    nodes: tuple[str, ...]
    gpus: tuple[int, ...]
    started_ns: int
    ended_ns: int = 0
    times_ns: list[int] = field(default_factory=list)
    work: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """All that was logged. jobs: by id. gone: when each GPU was off the bus, or its host without power."""

    jobs: dict[str, JobLog] = field(default_factory=dict)
    routes: dict[Route, list[Span]] = field(default_factory=dict)
    gone: dict[int, list[Span]] = field(default_factory=dict)

    def used(self, first_ns: int, last_ns: int) -> Iterable[Route]:
        """Ways on which something was sent in this time."""
        for route, spans in self.routes.items():
            if any(span.first_ns <= last_ns and span.last_ns >= first_ns for span in spans):
                yield route


class ClusterLog:
    """Observes a cluster from now on, and changes nothing in it."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster, machine = cluster, cluster.machine
        self._work_steps = max(1, round(WORK_EVERY_S / machine.dt))
        self._route_steps = max(1, round(ROUTES_EVERY_S / machine.dt))
        flows, layout = machine.fabric.flows, cluster.layout
        self._keys: Ints = np.full((len(flows.used), 2 + flows.path.shape[1]), -1, dtype=np.int64)
        self._first_ns: Ints = np.zeros(len(flows.used), dtype=np.int64)
        self._last_ns: Ints = np.zeros(len(flows.used), dtype=np.int64)
        self._gone_ns: Ints = np.zeros(len(layout.gpus), dtype=np.int64)
        self._hosts: Ints = np.array([layout.device_index[gpu.device] for gpu in layout.gpus])
        self._running: dict[str, RunningJob] = {}
        self._record = ClusterRecord()
        cluster.observers.append(self._observe)

    def record(self) -> ClusterRecord:
        """Everything so far."""
        for row in np.flatnonzero(self._first_ns).tolist():
            self._end_span(row)
        for gpu in np.flatnonzero(self._gone_ns).tolist():
            self._end_absence(gpu, self._cluster.now_ns)
        return self._record

    def _observe(self) -> None:
        machine = self._cluster.machine
        if machine.steps % self._work_steps == 0:
            self._see_jobs(machine.now_ns, machine.jobs.slots)
        if machine.steps % self._route_steps == 0:
            self._see_routes(machine.now_ns)
            self._see_gpus(machine.now_ns)

    def _see_jobs(self, now_ns: int, slots: list[Slot]) -> None:
        jobs = self._record.jobs
        for name in [name for name, known in self._running.items() if known.ends_ns]:
            jobs[name].ended_ns = self._running.pop(name).ends_ns
        for slot in slots:
            if slot.job is None:
                continue
            record, members = slot.job.record, slot.job.members
            if record.job_id not in self._running:
                self._running[record.job_id] = record
                gpus = tuple(int(gpu) for gpu in members.gpus.ravel())
                jobs[record.job_id] = JobLog(record.nodes, gpus, record.started_ns)
            log, done = jobs[record.job_id], record.served_s or float(record.iterations)
            if done != (log.work[-1] if log.work else 0.0):
                log.times_ns.append(now_ns)
                log.work.append(done)

    def _see_routes(self, now_ns: int) -> None:
        machine = self._cluster.machine
        flows = machine.fabric.flows
        rows = np.flatnonzero(flows.used & (flows.last_active > machine.steps - self._route_steps))
        keys = np.column_stack((flows.source[rows], flows.destination[rows], flows.path[rows]))
        same = (keys == self._keys[rows]).all(axis=1) & (self._last_ns[rows] >= now_ns - SAME_SPAN_NS)
        for row in rows[~same].tolist():
            self._end_span(row)
        new = rows[~same]
        self._keys[new], self._first_ns[new] = keys[~same], now_ns - int(ROUTES_EVERY_S * NS_PER_S)
        self._last_ns[rows] = now_ns

    def _end_span(self, row: int) -> None:
        if not self._first_ns[row]:
            return
        source, destination, *path = self._keys[row].tolist()
        span = Span(int(self._first_ns[row]), int(self._last_ns[row]))
        self._record.routes.setdefault(Route(source, destination, tuple(path)), []).append(span)
        self._first_ns[row] = 0

    def _see_gpus(self, now_ns: int) -> None:
        machine = self._cluster.machine
        gone = ~machine.gpus.present | ~machine.links.device_on[self._hosts]
        for gpu in np.flatnonzero(gone != (self._gone_ns > 0)).tolist():
            if gone[gpu]:
                self._gone_ns[gpu] = now_ns
            else:
                self._end_absence(gpu, now_ns)

    def _end_absence(self, gpu: int, now_ns: int) -> None:
        self._record.gone.setdefault(gpu, []).append(Span(int(self._gone_ns[gpu]), now_ns))
        self._gone_ns[gpu] = 0
