"""Training in lockstep: load data, compute, all-reduce, and checkpoint now and then. The slowest member gates the rest.

As it is, data-parallel over rings; the other kinds of training in ``work`` differ in how they compute and exchange.
"""

from enum import Enum
from typing import ClassVar, Protocol

import numpy as np

from common.jit import compiled
from common.units import NS_PER_S
from simulator.compute import storage as fs
from simulator.compute.figures import COMPUTE, SPIN, WAIT
from simulator.compute.gpus import Gpus
from simulator.compute.record import RunningJob
from simulator.compute.rings import QUEUE_PAIRS, Rings
from simulator.compute.work.base import Members, Resources, Work
from simulator.fabric.state import Flags, Floats, Ints

FIRST_LOAD = 5.0  # a job that starts reads this many iterations' data before it computes
FRAMEBUFFER_USED = 66e9


class Phase(Enum):
    LOAD = "load"
    TRAIN = "train"
    CHECKPOINT = "checkpoint"


class Collective(Protocol):
    """An all-reduce among the members of a job."""

    def begin(self, gradient: float) -> None:
        """Starts one of ``gradient`` bytes a rail."""

    def step(self, ready: Flags) -> bool:
        """Queues what the members ``ready`` [n, R] may send; True once every member has received everything."""

    def close(self) -> None:
        """Removes its flows."""


@compiled
def compute(dt: float, gpus: Ints, clock: Floats, hung: Flags, left: Floats, spent: Floats, ready: Flags) -> None:
    """Each GPU computes what is left at its clock; one that is done polls in NCCL until all are.

    gpus: [n, R] positions. clock: [G] seconds of compute in a second. hung: [G]. left: [n, R] seconds of compute at
    full clock. spent: [G, 5] seconds by activity. ready: [n, R] set when nothing is left.
    """
    for i in range(gpus.shape[0]):
        for rail in range(gpus.shape[1]):
            g = gpus[i, rail]
            if hung[g]:
                spent[g, COMPUTE] += dt
                ready[i, rail] = False
                continue
            computing = min(dt, max(0.0, left[i, rail] / clock[g]))
            left[i, rail] -= dt * clock[g]
            spent[g, COMPUTE] += computing
            spent[g, SPIN] += dt - computing
            ready[i, rail] = left[i, rail] <= 0.0


class JobRun(Work):
    """One job that trains.

    framebuffer_used: bytes of memory on each GPU. gradient_part: part of ``JobMix.allreduce_bytes`` that it reduces.
    """

    flows_per_gpu = QUEUE_PAIRS
    framebuffer_used: ClassVar[float] = FRAMEBUFFER_USED
    gradient_part: ClassVar[float] = 1.0

    def __init__(
        self,
        record: RunningJob,
        members: Members,
        resources: Resources,
        rng: np.random.Generator,
        first_checkpoint_ns: int = 0,
    ) -> None:
        super().__init__(record, members, resources, rng)
        self._rings = self._connect()
        self.phase = Phase.LOAD
        self.hung = False  # a collective that never completes: every rank polls, and nothing is sent
        self.next_checkpoint_ns = first_checkpoint_ns
        self._left: Floats = np.zeros(members.gpus.shape)  # seconds of compute at full clock
        self._ready = np.zeros(members.gpus.shape, dtype=np.bool_)
        self._storage.request(fs.READ, members.hosts, FIRST_LOAD * self._mix.load_bytes)

    def step(self, now_ns: int, dt: float, gpus: Gpus) -> None:
        if self.hung:
            gpus.spent[self.members.gpus, SPIN] += dt
            return
        match self.phase:
            case Phase.TRAIN:
                self._train(now_ns, dt, gpus)
            case Phase.LOAD:
                gpus.spent[self.members.gpus, WAIT] += dt
                if not self._storage.pending(fs.READ, self.members.hosts):
                    self._begin_iteration(gpus)
            case Phase.CHECKPOINT:
                gpus.spent[self.members.gpus, WAIT] += dt
                if not self._storage.pending(fs.WRITE, self.members.hosts):
                    self._end_checkpoint(now_ns, gpus)

    def close(self) -> None:
        self._rings.close()
        self._storage.cancel(self.members.hosts)

    def _connect(self) -> Collective:
        """The all-reduce of the job."""
        r = self._resources
        return Rings(r.layout, r.fabric, r.routes, self.members.hosts, r.window)

    def _begin_compute(self) -> None:
        """Sets what the members compute and exchange in the iteration that begins."""
        self._left = self._seconds(self._mix.compute_s)
        self._rings.begin(self.gradient_part * self._mix.allreduce_bytes)

    def _advance(self, dt: float, gpus: Gpus) -> bool:
        """Moves the iteration on by ``dt`` seconds; True once it is complete."""
        compute(dt, self.members.gpus, gpus.work_rate, gpus.hung, self._left, gpus.spent, self._ready)
        return self._rings.step(self._ready)

    def _seconds(self, mean_s: float) -> Floats:
        """[n, R] seconds of compute: batches differ by 1 %, members by 0.4 %."""
        return mean_s * self._rng.normal(1.0, 0.01) * self._rng.normal(1.0, 0.004, self.members.gpus.shape)

    def _begin_iteration(self, gpus: Gpus) -> None:
        self.phase = Phase.TRAIN
        gpus.framebuffer[self.members.gpus] = self.framebuffer_used
        self._begin_compute()
        self._storage.request(fs.READ, self.members.hosts, self._mix.load_bytes)  # the next iteration's data

    def _train(self, now_ns: int, dt: float, gpus: Gpus) -> None:
        if not self._advance(dt, gpus):
            return
        self.record.iterations += 1
        if now_ns >= self.next_checkpoint_ns:
            self.phase = Phase.CHECKPOINT
            self._storage.request(fs.WRITE, self.members.hosts, self._mix.checkpoint_bytes)
        elif self._storage.pending(fs.READ, self.members.hosts):
            self.phase = Phase.LOAD
        else:
            self._begin_iteration(gpus)

    def _end_checkpoint(self, now_ns: int, gpus: Gpus) -> None:
        self.record.checkpoints += 1
        self.record.last_checkpoint_ns = now_ns
        self.next_checkpoint_ns = now_ns + int(self._mix.checkpoint_period_s * NS_PER_S)
        self._begin_iteration(gpus)
