"""SimulatedCluster: advance it in event time, inject faults, read it."""

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from common.units import NS_PER_S
from simulator.compute.record import RunningJob
from simulator.conditions.registry import CONDITIONS
from simulator.config import SimulatorConfig
from simulator.counters.publish import GROUPS
from simulator.counters.readings import Readings
from simulator.faults import FAULTS
from simulator.faults.injected import InjectedFault
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from simulator.layout import Layout
from simulator.machine import Machine
from simulator.wiring import build_layout
from telemetry.changes import Change
from telemetry.topology import Job, TopologyFact


class SimulatedCluster:
    """A simulated cluster that runs from ``start_ns`` on. A function of (config, faults), however time is sliced.

    >>> from simulator.faults.schedule import parse_fault
    >>> cluster = SimulatedCluster(SimulatorConfig(hosts=2, gpus_per_host=2), start_ns=0)
    >>> cluster.inject(parse_fault("xid@1s:node1/0"))
    >>> cluster.advance(2_000_000_000)
    >>> [(t.fault, str(t.expected), t.start_ns) for t in cluster.truth]
    [('xid', 'gpu_fault', 1000000000)]
    >>> int(cluster.readings.gpus.present.sum())
    3
    """

    def __init__(self, config: SimulatorConfig, start_ns: int) -> None:
        self.config, self.start_ns = config, start_ns
        self.layout: Layout = build_layout(config)
        self.machine = Machine(config, self.layout, start_ns)
        self.conditions = [CONDITIONS[each.name](self.machine, each.strength) for each in config.conditions]
        self.truth: list[Truth] = []
        self.observers: list[Callable[[], None]] = []  # called after every step of the model; they change nothing
        self._injected: list[InjectedFault] = []
        self._outdated: frozenset[str] = frozenset()  # groups of readings that are older than the model

    @property
    def now_ns(self) -> int:
        """Event time up to which the model has run."""
        return self.machine.now_ns

    @property
    def readings(self) -> Readings:
        """All of them, as of the last ``advance``."""
        return self.readings_of(GROUPS)

    def readings_of(self, groups: Collection[str]) -> Readings:
        """The same, of which these groups at least are up to date."""
        if outdated := self._outdated.intersection(groups):
            self.machine.publish(outdated)
            self._outdated -= outdated
        return self.machine.readings

    @property
    def changes(self) -> list[Change]:
        """Change events so far, in order: jobs that started and ended, announced maintenance."""
        return self.machine.jobs.changes

    @property
    def jobs(self) -> list[RunningJob]:
        """Running jobs."""
        return self.machine.readings.jobs

    @property
    def cable_facts(self) -> list[TopologyFact]:
        """Links that LLDP has seen come and go since the start; the inventory still has the old ones."""
        return self.machine.cable_facts

    def inject(self, fault: ScheduledFault) -> None:
        """Schedules a fault; one whose time has passed begins with the next step.

        ``advance`` raises ConfigError when the fault is due and its target does not exist.
        """
        kind = FAULTS[fault.fault]
        rng = np.random.default_rng([self.config.seed, len(self._injected), *fault.fault.encode()])
        starts_ns = max(self.start_ns + int(fault.at_s * NS_PER_S), self.now_ns)
        lasts_s = fault.lasts_s or kind.lasts_s
        ends_ns = starts_ns + int(lasts_s * NS_PER_S) if lasts_s else 0
        self._injected.append(
            InjectedFault(
                fault=kind(self.machine, rng, fault.target, fault.strength),
                starts_ns=starts_ns,
                ends_ns=ends_ns,
                on_ns=int(fault.on_s * NS_PER_S),
                off_ns=int(fault.off_s * NS_PER_S),
                silent=fault.silent,
            )
        )

    def remove_faults(self, positions: Collection[int]) -> None:
        """Removes faults that have not begun. positions: in the order in which they were injected.

        ValueError for one that has begun: what it broke stays broken.
        """
        if begun := [at for at in positions if self._injected[at].truth >= 0]:
            raise ValueError(f"faults {begun} have begun")
        self._injected = [one for at, one in enumerate(self._injected) if at not in positions]

    def end_fault(self, name: str) -> None:
        """Ends every active fault of this name."""
        for injected in self._injected:
            if injected.fault.name == name and injected.truth >= 0 and not injected.ended:
                injected.ends_ns = self.now_ns
                self.truth[injected.truth] = replace(self.truth[injected.truth], end_ns=self.now_ns)

    def drop_rejected_fault(self) -> str:
        """Removes the fault that ``advance`` raised ConfigError for; else every step would try it again.

        Returns its target, '' when it named none.
        """
        rejected = next(one for one in self._injected if one.truth < 0 and one.starts_ns <= self.now_ns)
        self._injected.remove(rejected)
        return rejected.fault.target

    def advance(self, to_ns: int, groups: Collection[str] = GROUPS) -> None:
        """Runs the model up to the last whole internal step at or before ``to_ns``, then publishes the readings.

        groups: of the readings; who reads others brings them up to date with ``readings_of``.
        """
        stepped = False
        while self.now_ns + self.machine.step_ns <= to_ns:
            self._apply_faults()
            for condition in self.conditions:
                condition.step()
            self.machine.step()
            for observe in self.observers:
                observe()
            stepped = True
        if stepped:
            self._outdated = GROUPS
            self.machine.publish(())
        self.readings_of(groups)

    def job_facts(self) -> list[TopologyFact]:
        """One fact for every job that runs, and one with ``gone`` for every job that has ended.

        Jobs without GPUs have none: the collector of Slurm's jobs leaves them out too.
        """
        running = [TopologyFact(_entity(job), self.now_ns, "slurm") for job in self.jobs if job.uses_gpus]
        over = (job for job in self.machine.jobs.ended if job.uses_gpus)
        ended = [TopologyFact(_entity(job), job.ends_ns, "slurm", gone=True) for job in over]
        return [*ended, *running]

    def _apply_faults(self) -> None:
        now_ns = self.now_ns
        for injected in self._injected:
            if injected.ended or now_ns < injected.starts_ns:
                continue
            if injected.truth < 0:
                truth = injected.begin()
                injected.truth = len(self.truth)
                self.truth.append(truth)
            injected.step(now_ns)
            if injected.ended and (ready_ns := self.machine.booted_ns(injected.fault.reach)):
                self.truth[injected.truth] = replace(self.truth[injected.truth], end_ns=ready_ns)


def _entity(job: RunningJob) -> Job:
    return Job(job.job_id, job.nodes, job.name, job.user, job.partition, job.gpu_indices, job.started_ns)
