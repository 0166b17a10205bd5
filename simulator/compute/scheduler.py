"""The scheduler: divides the hosts among jobs, starts the next one when a job ends or dies, and logs the changes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from common.units import NS_PER_S
from simulator.compute.gpus import Gpus
from simulator.compute.jobs import JobRun, Members
from simulator.compute.record import RunningJob
from simulator.compute.rings import Rings
from simulator.compute.storage import Storage
from simulator.config import JobMix
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric
from simulator.layout import Layout
from telemetry import objects
from telemetry.changes import Change, ChangeKind

NAMES = ("pretrain-llm", "finetune-moe", "vision-pretrain", "rl-rollout")
USERS = ("alice", "bob", "carol", "dave")
FIRST_JOB_ID = 4711


@dataclass(slots=True)
class Slot:
    """Hosts that one job at a time uses, and when the next one may start."""

    hosts: list[int]
    starts_ns: int
    ends_ns: int = 0
    job: JobRun | None = None


@dataclass(slots=True)
class Scheduler:
    """drained: hosts that take no job (positions in ``Layout.hosts``)."""

    layout: Layout
    fabric: Fabric
    routes: Routes
    storage: Storage
    gpus: Gpus
    mix: JobMix
    rng: np.random.Generator
    window: float
    start_ns: int
    drained: set[int] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    ended: list[RunningJob] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    _next_id: int = FIRST_JOB_ID

    def __post_init__(self) -> None:
        count = len(self.layout.hosts)
        jobs = min(self.mix.jobs, max(1, count // 2)) if self.mix.jobs else 0
        for j in range(jobs):
            self.slots.append(Slot(list(range(j, count, jobs)), self.start_ns + (2 + 7 * j) * NS_PER_S))

    @property
    def running(self) -> list[JobRun]:
        return [slot.job for slot in self.slots if slot.job is not None]

    def step(self, now_ns: int, dt: float) -> None:
        """Starts what is due, ends what is over and advances the rest by ``dt`` seconds."""
        for number, slot in enumerate(self.slots):
            if slot.job is None:
                if now_ns >= slot.starts_ns:
                    self._start(number, slot, now_ns)
            elif now_ns >= slot.ends_ns:
                self.end(slot, now_ns, "completed")
            else:
                slot.job.step(now_ns, dt, self.gpus)

    def jobs_on(self, host: int) -> list[Slot]:
        """Busy slots that use a host, by its position in ``Layout.hosts``."""
        return [slot for slot in self.slots if slot.job is not None and host in slot.job.members.hosts]

    def end(self, slot: Slot, now_ns: int, reason: str) -> None:
        """Ends the job of ``slot``; the next one starts after the gap."""
        if slot.job is None:
            return
        job, slot.job = slot.job, None
        job.close()
        job.record.ends_ns = now_ns
        self.gpus.framebuffer[job.members.gpus] = 0.0
        self.ended.append(job.record)
        slot.starts_ns = now_ns + int(self.mix.gap_s * NS_PER_S)
        self._log(ChangeKind.JOB_END, job.record, now_ns, f"{job.record.name} {reason}")

    def _start(self, number: int, slot: Slot, now_ns: int) -> None:
        hosts = [h for h in slot.hosts if h not in self.drained]
        if not hosts:
            return
        hosts = _alternate(hosts, lambda h: self.layout.devices[self.layout.device_index[self.layout.hosts[h]]].pod)
        ranges = [self.layout.host_gpus[self.layout.hosts[h]] for h in hosts]
        record = RunningJob(
            job_id=str(self._next_id),
            name=NAMES[number % len(NAMES)],
            user=USERS[number % len(USERS)],
            partition="gpu",
            nodes=tuple(self.layout.hosts[h] for h in hosts),
            started_ns=now_ns,
        )
        self._next_id += 1
        rings = Rings(self.layout, self.fabric, self.routes, hosts, self.window)
        members = Members(hosts, np.array([list(r) for r in ranges]))
        first = now_ns + int(self.mix.checkpoint_period_s * (0.4 + 0.3 * (number % 3)) * NS_PER_S)
        slot.job = JobRun(record, members, rings, self.storage, self.mix, self.rng, first)
        slot.ends_ns = now_ns + int(self.mix.lifetime_s * (1.0 + 0.2 * number) * NS_PER_S)
        self._log(ChangeKind.JOB_START, record, now_ns, f"{record.name} of {record.user} starts")

    def _log(self, kind: ChangeKind, record: RunningJob, now_ns: int, summary: str) -> None:
        what = (objects.job(record.job_id), *(objects.device(node) for node in record.nodes))
        self.changes.append(Change(f"{kind}/{record.job_id}", kind, what, now_ns, 0, record.user, summary))


def _alternate(hosts: list[int], pod_of: Callable[[int], str]) -> list[int]:
    """Ranks alternate between the pods (cyclic distribution), so that every hop of a ring crosses the spines."""
    pods: dict[str, list[int]] = {}
    for host in hosts:
        pods.setdefault(pod_of(host), []).append(host)
    ordered = [
        (place, number, host) for number, members in enumerate(pods.values()) for place, host in enumerate(members)
    ]
    return [host for _, _, host in sorted(ordered)]
