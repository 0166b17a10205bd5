"""The scheduler: divides the hosts among jobs, starts the next one when a job ends or dies, and logs the changes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from common.units import NS_PER_S
from simulator.compute.gpus import Gpus
from simulator.compute.record import RunningJob
from simulator.compute.storage import Storage
from simulator.compute.work.base import Members, Resources, Work
from simulator.compute.work.kind import WorkKind
from simulator.compute.work.registry import WORK
from simulator.config import JobMix
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Floats
from simulator.layout import Layout
from telemetry import objects
from telemetry.changes import Change, ChangeKind

NAMES = ("pretrain-llm", "finetune-moe", "vision-pretrain", "rl-rollout")
USERS = ("alice", "bob", "carol", "dave")
FIRST_JOB_ID = 4711
STARTS_WITHIN_S = 60.0  # users start jobs that share hosts at different times (assumption)


@dataclass(slots=True)
class Slot:
    """Hosts that one job at a time uses, and when the next one may start. gpus: indices on each host, () means all."""

    hosts: list[int]
    starts_ns: int
    ends_ns: int = 0
    job: Work | None = None
    kind: WorkKind = WorkKind.DATA_PARALLEL
    gpus: tuple[int, ...] = ()


@dataclass(slots=True)
class Scheduler:
    """Divides the hosts among ``mix.jobs`` slots of one kind of work each; some kinds divide theirs further.

    drained: hosts that take no job (positions in ``Layout.hosts``). cores: [H] CPU cores that work without GPUs uses.
    seed: of the numbers of all kinds but data-parallel, whose jobs share ``rng``.
    """

    layout: Layout
    fabric: Fabric
    routes: Routes
    storage: Storage
    gpus: Gpus
    mix: JobMix
    rng: np.random.Generator
    window: float
    start_ns: int
    seed: int = 0
    drained: set[int] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    ended: list[RunningJob] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    cores: Floats = field(default_factory=lambda: np.zeros(0))
    _next_id: int = FIRST_JOB_ID

    def __post_init__(self) -> None:
        count = len(self.layout.hosts)
        jobs = min(self.mix.jobs, max(1, count // 2)) if self.mix.jobs else 0
        self.cores = np.zeros(count)
        for j in range(jobs):
            kind = self.mix.kinds[j % len(self.mix.kinds)]
            if kind is not WorkKind.IDLE:
                self._divide(kind, list(range(j, count, jobs)), self.start_ns + (2 + 7 * j) * NS_PER_S)

    def _divide(self, kind: WorkKind, hosts: list[int], starts_ns: int) -> None:
        rng = np.random.default_rng([self.seed, *b"slots", len(self.slots)])
        gpus = min(len(gpus) for gpus in self.layout.host_gpus.values())
        allocations = WORK[kind].allocations(hosts, gpus, rng)
        for number, allocation in enumerate(allocations):
            waits_ns = int(rng.uniform(0.0, STARTS_WITHIN_S) * NS_PER_S) if number else 0
            self.slots.append(Slot(allocation.hosts, starts_ns + waits_ns, kind=kind, gpus=allocation.gpus))

    @property
    def running(self) -> list[Work]:
        return [slot.job for slot in self.slots if slot.job is not None]

    def step(self, now_ns: int, dt: float) -> None:
        """Starts what is due, ends what is over and advances the rest by ``dt`` seconds."""
        self.gpus.any_hung = bool(self.gpus.hung.any())
        for number, slot in enumerate(self.slots):
            if slot.job is None:
                if now_ns >= slot.starts_ns:
                    self._start(number, slot, now_ns)
            elif now_ns >= slot.ends_ns:
                self.end(slot, now_ns, "completed")
            else:
                slot.job.step(now_ns, dt, self.gpus)
        self.gpus.spend(dt)

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
        work = WORK[slot.kind]
        if work.cyclic:
            hosts = _alternate(hosts, lambda h: self.layout.devices[self.layout.device_index[self.layout.hosts[h]]].pod)
        record = RunningJob(
            job_id=str(self._next_id),
            name=self._name(number, slot.kind),
            user=USERS[number % len(USERS)],
            partition=work.partition,
            nodes=tuple(self.layout.hosts[h] for h in hosts),
            started_ns=now_ns,
            gpu_indices=slot.gpus,
            uses_gpus=work.uses_gpus,
        )
        rng = self.rng if slot.kind is WorkKind.DATA_PARALLEL else self._numbers_of(self._next_id)
        self._next_id += 1
        first = now_ns + int(self.mix.checkpoint_period_s * (0.4 + 0.3 * (number % 3)) * NS_PER_S)
        slot.job = work(record, self._members(hosts, slot.gpus, work.uses_gpus), self._resources(), rng, first)
        slot.ends_ns = now_ns + int(work.lifetime_s(self.mix, number, rng) * NS_PER_S)
        self._log(ChangeKind.JOB_START, record, now_ns, f"{record.name} of {record.user} starts")

    def _name(self, number: int, kind: WorkKind) -> str:
        """Of a cluster with one kind of work only, data-parallel jobs are named by their models."""
        return NAMES[number % len(NAMES)] if set(self.mix.kinds) == {WorkKind.DATA_PARALLEL} else str(kind)

    def _numbers_of(self, job: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *b"work", job])

    def _members(self, hosts: list[int], indices: tuple[int, ...], uses_gpus: bool) -> Members:
        ranges = [self.layout.host_gpus[self.layout.hosts[h]] for h in hosts]
        if not uses_gpus:
            return Members(hosts, np.zeros((len(hosts), 0), dtype=np.int64))
        return Members(hosts, np.array([[r[i] for i in indices] if indices else list(r) for r in ranges]))

    def _resources(self) -> Resources:
        return Resources(
            layout=self.layout,
            fabric=self.fabric,
            routes=self.routes,
            storage=self.storage,
            gpus=self.gpus,
            mix=self.mix,
            window=self.window,
            cores=self.cores,
        )

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
