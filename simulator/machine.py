"""The machine: all parts of the simulated cluster, one step of them, and the actions that faults use."""

from typing import Final

import numpy as np

from common.units import NS_PER_MS, NS_PER_S
from simulator.compute.gpus import Gpus
from simulator.compute.hosts import Hosts
from simulator.compute.scheduler import Scheduler
from simulator.compute.storage import Storage, flow_rows
from simulator.config import SimulatorConfig
from simulator.counters.publish import Publisher
from simulator.counters.readings import Readings, blank_readings
from simulator.counters.totals import Model
from simulator.fabric import kernel
from simulator.fabric import parameters as par
from simulator.fabric.links import Links
from simulator.fabric.optics import Optics
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric
from simulator.layout import Exporter, Layout
from simulator.shapes.shape import Shape
from telemetry.topology import Role

DAY_NS: Final = 86_400 * NS_PER_S
SLOW_TICK_S: Final = 1.0
GPU_TICKS_PER_S: Final = 20
ACK_TIMEOUT_S: Final = 0.5
EXTRA_FLOWS: Final = 1024  # for faults that bring their own traffic


class Machine:
    """State of everything, moved by ``step``. Only faults and the cluster call the other methods."""

    def __init__(self, config: SimulatorConfig, layout: Layout, start_ns: int) -> None:
        self.config, self.layout, self.start_ns = config, layout, start_ns
        self.dt = config.step_ms / 1000.0
        self.step_ns = config.step_ms * NS_PER_MS
        self.steps = 0
        rng = np.random.default_rng(config.seed)
        rows = len(layout.gpus) * 4 + flow_rows(layout) + EXTRA_FLOWS
        self.fabric, self.routes = Fabric(layout, rows), Routes(layout)
        self.links = Links(layout, self.fabric, self.routes, start_ns)
        self.optics = Optics(self.fabric, rng)
        self.gpus = Gpus(layout, rng, min(5.0, max(1.0, config.interval_s / 2)))
        self.hosts = Hosts(layout, rng)
        self.storage = Storage(layout, self.fabric, self.routes, rng)
        window = 1.5 * self.dt * config.nic_gbps * 1e9 / 8
        self.jobs = Scheduler(
            layout=layout,
            fabric=self.fabric,
            routes=self.routes,
            storage=self.storage,
            gpus=self.gpus,
            mix=config.jobs,
            rng=rng,
            window=window,
            start_ns=start_ns,
        )
        self.stalled = np.zeros(len(layout.nics))  # part of this step that PCIe takes nothing from a NIC
        self.hiccups = np.zeros(len(layout.nics))  # the same of a healthy host (a condition)
        self.intake = np.full(len(layout.nics), par.PCIE_BYTES_PER_S)  # bytes per second that a healthy host takes
        self.stalled_recently = np.zeros(len(layout.nics))
        self._flowing = False
        self._credit_flow = layout.shape is Shape.INFINIBAND
        self.boot_ns = start_ns - rng.integers(3, 90, len(layout.devices)) * DAY_NS
        self.readings: Readings = blank_readings(layout, start_ns)
        model = Model(
            layout=layout,
            fabric=self.fabric,
            links=self.links,
            optics=self.optics,
            gpus=self.gpus,
            hosts=self.hosts,
            storage=self.storage,
            jobs=self.jobs,
            pcie_stalled=self.stalled_recently,
            boot_ns=self.boot_ns,
        )
        self._publisher = Publisher(model, self.readings)
        self.links.refresh(start_ns)
        self.optics.tick(SLOW_TICK_S, self.links.port_up)
        self._publisher.publish(start_ns)

    @property
    def now_ns(self) -> int:
        return self.start_ns + self.steps * self.step_ns

    def step(self) -> None:
        """Moves everything on by one internal step."""
        self.steps += 1
        now_ns, dt = self.now_ns, self.dt
        fabric = self.fabric
        kernel.begin(
            dt,
            fabric.receive(0),
            kernel.Intake(self.stalled, self.hiccups, self.intake, self.stalled_recently),
            fabric.queues.capacity,
            fabric.background,
            fabric.background_sent,
        )
        self.jobs.step(now_ns, dt)
        self.storage.set_limits()  # after the jobs: a target is busy in the step of the request
        active = kernel.pick_active(fabric.flows)
        if active.size or self._flowing:  # one step more than needed leaves empty queues behind
            kernel.advance(
                self.steps, dt, active, fabric.flows, fabric.queues, fabric.ports, fabric.events, self._credit_flow
            )
        self._flowing = bool(active.size)
        self.storage.count(dt)
        self._ticks()

    def publish(self) -> None:
        """Brings the readings up to now."""
        self._publisher.publish(self.now_ns)

    def power(self, names: list[str], on: bool, reason: str) -> None:
        """Switches devices off (their jobs die, their links go dark) or on (they boot: counters restart at 0)."""
        now_ns = self.now_ns
        for name in names:
            d = self.layout.device_index[name]
            self.links.device_on[d] = on
            if on:
                self._booted(name, now_ns)
            elif self.layout.devices[d].role is Role.HOST:
                self.stop_jobs(name, reason)
        self.links.refresh(now_ns)

    def drain(self, name: str, drained: bool) -> None:
        """Takes a host out of scheduling, or returns it; running jobs go on."""
        host = self.layout.hosts.index(name)
        (self.jobs.drained.add if drained else self.jobs.drained.discard)(host)

    def freeze(self, exporter: Exporter, name: str, frozen: bool) -> None:
        """A frozen exporter keeps answering with the values of the moment it froze."""
        self.readings.frozen[self.layout.endpoint_index[exporter, name]] = frozen

    def lose_gpu(self, gpu: int, xid: int) -> None:
        """The GPU falls off the bus; its job dies."""
        self.gpus.present[gpu] = False
        self.gpus.xid[gpu] = xid
        self.stop_jobs(self.layout.gpus[gpu].device, f"died of XID {xid}")

    def stop_jobs(self, name: str, reason: str) -> None:
        """Ends every job that uses the host."""
        for slot in self.jobs.jobs_on(self.layout.hosts.index(name)):
            self.jobs.end(slot, self.now_ns, reason)

    def _booted(self, name: str, now_ns: int) -> None:
        self.boot_ns[self.layout.device_index[name]] = now_ns
        self._publisher.restart(name)
        if name in self.layout.host_gpus:
            rows = self.layout.host_gpus[name]
            self.gpus.present[rows.start : rows.stop] = True
            self.gpus.xid[rows.start : rows.stop] = 0.0
            self.gpus.bit_errors[rows.start : rows.stop] = 0.0

    def _ticks(self) -> None:
        per_tick = max(1, round(1.0 / GPU_TICKS_PER_S / self.dt))
        if self.steps % per_tick == 0:
            self.gpus.tick(per_tick * self.dt)
        per_second = max(1, round(SLOW_TICK_S / self.dt))
        if self.steps % per_second == 0:
            self.optics.tick(SLOW_TICK_S, self.links.port_up)
            self.hosts.tick(SLOW_TICK_S, self.gpus.activity, self.gpus.watts)
            self._count_timeouts(SLOW_TICK_S)
        if self.steps % max(1, round(self.config.interval_s / self.dt)) == 0:
            self._publisher.begin_interval()

    def _count_timeouts(self, dt: float) -> None:
        """Senders without a route time out and retry."""
        flows = self.fabric.flows
        stuck = flows.used & (flows.backlog > 1.0) & (flows.path[:, 0] < 0)
        np.add.at(self.fabric.timeouts, flows.source[stuck], dt / ACK_TIMEOUT_S)
