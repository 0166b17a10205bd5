"""Work whose GPUs do not exchange between hosts: what they do holds for a phase, then the kind says what follows."""

from abc import abstractmethod

import numpy as np

from common.jit import compiled
from common.units import NS_PER_S
from simulator.compute import storage as fs
from simulator.compute.figures import COMPUTE, WAIT
from simulator.compute.gpus import Gpus
from simulator.compute.record import RunningJob
from simulator.compute.work.base import Members, Resources, Work
from simulator.fabric.state import Flags, Floats, Ints

NOTHING = -1


class PhasedWork(Work):
    """A job in phases; a phase that waits for the file system lasts until its hosts have their data.

    In a phase the GPUs of the job, [k], spend parts of their time: ``_parts`` [k, 5] by activity, ``_kernels`` [k, 4].
    """

    def __init__(
        self,
        record: RunningJob,
        members: Members,
        resources: Resources,
        rng: np.random.Generator,
        first_checkpoint_ns: int = 0,
    ) -> None:
        super().__init__(record, members, resources, rng)
        self._rows = members.gpus.ravel()
        self._parts: Floats = np.zeros((self._rows.size, 5))
        self._kernels: Floats = np.zeros((self._rows.size, 4))
        self._until_ns, self._awaited, self._hangs = 0, NOTHING, False
        self._prepare()

    def _prepare(self) -> None:
        """Draws what is the job's own."""
        return

    @abstractmethod
    def _next_phase(self, now_ns: int, gpus: Gpus) -> float:
        """Begins the next phase; its seconds, if it waits for nothing."""

    def step(self, now_ns: int, dt: float, gpus: Gpus) -> None:
        if now_ns >= self._until_ns and not self._waits():
            self._awaited = NOTHING
            self._parts[:], self._kernels[:] = 0.0, 0.0
            self._until_ns = now_ns + int(self._next_phase(now_ns, gpus) * NS_PER_S)
            self._spend(gpus)
        elif gpus.any_hung or self._hangs:
            self._spend(gpus)

    def close(self) -> None:
        gpus = self._resources.gpus
        gpus.steady[self._rows], gpus.steady_kernels[self._rows] = 0.0, 0.0
        if not self.record.gpu_indices:  # else others share the hosts; what was written is flushed in any case
            self._storage.cancel(self.members.hosts)

    def _spend(self, gpus: Gpus) -> None:
        """Says what the GPUs do from now on: most steps change nothing of it."""
        parts, kernels = self._parts, self._kernels
        self._hangs = gpus.any_hung and bool(parts.any()) and _any_of(gpus.hung, self._rows)
        if self._hangs:
            parts, kernels = self._stuck(gpus.hung[self._rows])
        gpus.steady[self._rows], gpus.steady_kernels[self._rows] = parts, kernels

    def _waits(self) -> bool:
        return self._awaited != NOTHING and self._storage.pending(self._awaited, self.members.hosts)

    def _transfer(self, kind: int, each: float) -> float:
        """Begins a phase that waits until every host has read or written ``each`` bytes."""
        self._storage.request(kind, self.members.hosts, each)
        self._awaited = kind
        self._parts[:, WAIT] = 1.0
        return 0.0

    def _load(self, iterations: float) -> float:
        """The same for reading as many iterations' data."""
        return self._transfer(fs.READ, iterations * self._mix.load_bytes)

    def _compute(self, busy: Floats | float, kernel: int, part: Floats | float = 1.0) -> None:
        """The GPUs compute for a part of the time, [k], ``part`` of it in kernels of one sort."""
        self._parts[:, COMPUTE] = busy
        self._kernels[:, kernel] = busy * part

    def _stuck(self, hung: Flags) -> tuple[Floats, Floats]:
        """What the GPUs do while kernels of those that are ``hung`` never return: others serve on."""
        parts = self._parts.copy()
        parts[hung] = [0.0, 1.0, 0.0, 0.0, 0.0]
        return parts, self._kernels


@compiled
def _any_of(flags: Flags, rows: Ints) -> bool:
    for row in rows:  # noqa: SIM110  # what is compiled has no any()
        if flags[row]:
            return True
    return False


def lognormal_s(rng: np.random.Generator, median_s: float, sigma: float) -> float:
    """Seconds from a lognormal distribution: durations of jobs and of people's work have long tails."""
    return float(median_s * rng.lognormal(0.0, sigma))
