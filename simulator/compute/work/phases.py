"""Work whose GPUs do not exchange between hosts: what they do holds for a phase, then the kind says what follows."""

from abc import abstractmethod

import numpy as np

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
        self._place = _place(self._rows)
        self._parts: Floats = np.zeros((self._rows.size, 5))
        self._kernels: Floats = np.zeros((self._rows.size, 4))
        self._until_ns, self._awaited, self._busy = 0, NOTHING, False
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
            self._busy = bool(self._parts.any())
        if not self._busy:
            return
        parts, kernels, hung = self._parts, self._kernels, gpus.hung[self._place]
        if hung.any():
            parts, kernels = self._stuck(hung)
        gpus.spent[self._place] += parts * dt
        gpus.kernels[self._place] += kernels * dt

    def close(self) -> None:
        if not self.record.gpu_indices:  # else others share the hosts; what was written is flushed in any case
            self._storage.cancel(self.members.hosts)

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


def _place(rows: Ints) -> slice | Ints:
    """The rows as a slice if they are adjacent, as those of one host are: quicker in every step."""
    adjacent = rows.size > 0 and bool((np.diff(rows) == 1).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if adjacent else rows


def lognormal_s(rng: np.random.Generator, median_s: float, sigma: float) -> float:
    """Seconds from a lognormal distribution: durations of jobs and of people's work have long tails."""
    return float(median_s * rng.lognormal(0.0, sigma))
