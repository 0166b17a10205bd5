"""The machine: all parts of the simulated cluster, one step of them, and the actions that faults use."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import numpy as np

from common.units import NS_PER_MS, NS_PER_S
from simulator.booting import Booting
from simulator.compute.gpus import Gpus
from simulator.compute.hosts import Hosts
from simulator.compute.scheduler import Scheduler
from simulator.compute.storage import Storage, flow_rows
from simulator.compute.work.registry import flows_per_gpu
from simulator.config import SimulatorConfig
from simulator.counters.publish import GROUPS, Publisher
from simulator.counters.readings import Readings, blank_readings
from simulator.counters.totals import Model
from simulator.fabric import parameters as par
from simulator.fabric.intake import Intake, begin
from simulator.fabric.links import Links
from simulator.fabric.optics import Optics
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric
from simulator.fabric.step import move
from simulator.holds import Holds
from simulator.layout import Exporter, Layout
from simulator.shapes.shape import Shape
from telemetry.topology import TopologyFact

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
        rows = len(layout.gpus) * flows_per_gpu(config.jobs) + flow_rows(layout) + EXTRA_FLOWS
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
            seed=config.seed,
        )
        self.stalled = np.zeros(len(layout.nics))  # part of this step that PCIe takes nothing from a NIC
        self.hiccups = np.zeros(len(layout.nics))  # the same of a healthy host (a condition)
        self.intake = np.full(len(layout.nics), par.PCIE_BYTES_PER_S)  # bytes per second that a healthy host takes
        self.stalled_recently = np.zeros(len(layout.nics))
        self._flowing = False
        self._credit_flow = layout.shape is Shape.INFINIBAND
        self.holds, self._booting = Holds(), Booting(config.seed, config.boot_s)
        self._off: Counter[str] = Counter()  # reasons why a device is off, and why a host takes no job
        self._drained: Counter[int] = Counter()
        self.cable_facts: list[TopologyFact] = []  # what LLDP reported since the start, where cables have changed
        self._swapped: list[tuple[int, int]] = []  # pairs of NICs, in the order of their swaps
        self._frozen: Counter[int] = Counter()
        self._silent = np.zeros(len(layout.devices), dtype=np.int64)  # reasons why a device answers no collection
        self.off_the_bus = np.zeros(len(layout.gpus), dtype=np.bool_)  # GPUs that stay lost when their host boots
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
        if self._booting.takes_time:
            self._end_boots(now_ns)
        fabric = self.fabric
        begin(
            dt,
            fabric.receive(0),
            Intake(self.stalled, self.hiccups, self.intake, self.stalled_recently),
            fabric.queues.capacity,
            fabric.background,
            fabric.background_sent,
        )
        self.jobs.step(now_ns, dt)
        self.storage.set_limits()  # after the jobs: a target is busy in the step of the request
        self._flowing = move(
            self.steps, dt, self._flowing, fabric.flows, fabric.queues, fabric.ports, fabric.events, self._credit_flow
        )
        self.storage.count(dt)
        self._ticks()

    def publish(self, groups: Collection[str] = GROUPS) -> None:
        """Brings these groups of the readings up to now."""
        self._publisher.publish(self.now_ns, groups)
        self.readings.devices.reachable[self._silent > 0] = False

    def power(self, names: list[str], on: bool, reason: str) -> None:
        """Switches devices off (their jobs die, their links go dark) or on (they boot: counters restart at 0).

        A device that was switched off for several reasons is on when the last of them is gone.
        """
        for name in names:
            self._off[name] = max(0, self._off[name] + (-1 if on else 1))
            if not on:
                self._switch_off(name, reason)
            elif not self._off[name]:
                self._switch_on(name)
        self.links.refresh(self.now_ns)

    def booted_ns(self, hosts: Iterable[str]) -> int:
        """When the last of the hosts that boot now will be up; 0 when none boots."""
        return self._booting.ready_ns(hosts)

    def drain(self, name: str, drained: bool) -> None:
        """Takes a host out of scheduling for one more reason, or for one less; running jobs go on."""
        host = self.layout.hosts.index(name)
        self._drained[host] = max(0, self._drained[host] + (1 if drained else -1))
        (self.jobs.drained.add if self._drained[host] else self.jobs.drained.discard)(host)

    def silence(self, names: Iterable[str], silent: bool) -> None:
        """Devices answer no collection though they work, or answer again."""
        for name in names:
            self._silent[self.layout.device_index[name]] += 1 if silent else -1

    def freeze(self, exporter: Exporter, name: str, frozen: bool) -> None:
        """A frozen exporter keeps answering with the values of the moment it froze, until nothing freezes it."""
        at = self.layout.endpoint_index[exporter, name]
        self._frozen[at] += 1 if frozen else -1
        self.readings.frozen[at] = self._frozen[at] > 0

    def lose_gpu(self, gpu: int, xid: int) -> None:
        """The GPU falls off the bus; its job dies."""
        self.gpus.present[gpu] = False
        self.gpus.xid[gpu] = xid
        host = self.layout.hosts.index(self.layout.gpus[gpu].device)
        for slot in self.jobs.jobs_on(host):
            if slot.job is not None and gpu in slot.job.members.gpus:
                self.jobs.end(slot, self.now_ns, f"died of XID {xid}")

    def swap_cables(self, one: int, other: int) -> None:
        """Plugs each of two NICs into the leaf port that is the other's; routes follow, and LLDP reports it."""
        self._swapped.append((one, other))
        self._exchange_cables(one, other)

    def restore_cables(self, one: int, other: int) -> None:
        """Undoes the last such swap; what was swapped after it stays so."""
        at = max(i for i, pair in enumerate(self._swapped) if pair == (one, other))
        later = self._swapped[at + 1 :]
        for pair in (*reversed(later), (one, other), *later):
            self._exchange_cables(*pair)
        del self._swapped[at]

    def stop_jobs(self, name: str, reason: str) -> None:
        """Ends every job that uses the host."""
        for slot in self.jobs.jobs_on(self.layout.hosts.index(name)):
            self.jobs.end(slot, self.now_ns, reason)

    def _exchange_cables(self, one: int, other: int) -> None:
        before = [self.links.cable(nic) for nic in (one, other)]
        for part in (self.fabric, self.routes, self.links, self._publisher):
            part.exchange_cables(one, other)
        self.links.refresh(self.now_ns)
        after = [self.links.cable(nic) for nic in (one, other)]
        facts = [*((cable, True) for cable in before), *((cable, False) for cable in after)]
        self.cable_facts += [TopologyFact(c, self.now_ns, f"lldp/{c.a_device}", gone) for c, gone in facts]

    def _switch_off(self, name: str, reason: str) -> None:
        self.links.device_on[self.layout.device_index[name]] = False
        if self._booting.interrupt(name):
            self.drain(name, False)
        if name in self.layout.host_gpus:
            self.stop_jobs(name, reason)
            self.storage.cancel([self.layout.hosts.index(name)])  # also what ended jobs still had to write

    def _switch_on(self, name: str) -> None:
        if self._booting.takes_time and name in self.layout.host_gpus:
            self.drain(name, True)
            self._booting.start(name, self.now_ns)
            return
        self._booted(name, self.now_ns)

    def _end_boots(self, now_ns: int) -> None:
        if done := self._booting.finished(now_ns):
            for name in done:
                self._booted(name, now_ns)
                self.drain(name, False)
            self.links.refresh(now_ns)

    def _booted(self, name: str, now_ns: int) -> None:
        self.links.device_on[self.layout.device_index[name]] = True
        self.boot_ns[self.layout.device_index[name]] = now_ns
        self._publisher.restart(name)
        if name in self.layout.host_gpus:
            rows = self.layout.host_gpus[name]
            self.gpus.present[rows.start : rows.stop] = ~self.off_the_bus[rows.start : rows.stop]
            self.gpus.xid[rows.start : rows.stop] = 0.0
            self.gpus.bit_errors[rows.start : rows.stop] = 0.0

    def _ticks(self) -> None:
        per_tick = max(1, round(1.0 / GPU_TICKS_PER_S / self.dt))
        if self.steps % per_tick == 0:
            self.gpus.tick(per_tick * self.dt)
        per_second = max(1, round(SLOW_TICK_S / self.dt))
        if self.steps % per_second == 0:
            self.optics.tick(SLOW_TICK_S, self.links.port_up)
            self.hosts.tick(SLOW_TICK_S, self.gpus.activity, self.gpus.watts, self.jobs.cores)
            self._count_timeouts(SLOW_TICK_S)
        if self.steps % max(1, round(self.config.interval_s / self.dt)) == 0:
            self._publisher.begin_interval()

    def _count_timeouts(self, dt: float) -> None:
        """Senders without a route time out and retry."""
        flows = self.fabric.flows
        stuck = flows.used & (flows.backlog > 1.0) & (flows.path[:, 0] < 0)
        np.add.at(self.fabric.timeouts, flows.source[stuck], dt / ACK_TIMEOUT_S)
