"""Jobs of one host or of some of its GPUs: many short ones, and several on one host.

Most jobs of shared clusters are of this sort: most ask for one GPU, and GPUs of running jobs are used 52 % on average
because input, parameter updates and the program between kernels take the rest (Jeon et al., ATC 2019; Weng et al.,
NSDI 2022). The median GPU job of Acme runs for two minutes (Hu et al., NSDI 2024).
"""

import numpy as np

from simulator.compute import storage as fs
from simulator.compute.figures import ALONE, COMPUTE, EXCHANGE, SPIN, WAIT
from simulator.compute.gpus import Gpus
from simulator.compute.work.base import Allocation
from simulator.compute.work.phases import PhasedWork, lognormal_s
from simulator.config import JobMix
from simulator.fabric.state import Flags, Floats

DUTY = (0.1, 0.95)  # part of the time that kernels run, by job: uniform, mean 52 % (Jeon et al.)
MEMORY_BYTES = (8e9, 70e9)  # uniform (assumption)
PHASE_S = 2.0
FIRST_LOAD = 5.0  # iterations' data that a job reads when it starts
EXCHANGE_PART = 0.1  # of the kernels, between the GPUs of the job (assumption)
SMALL_MEDIAN_S, SMALL_SIGMA = 120.0, 1.0  # median: Hu et al.; sigma: assumption
SUB_NODE_LIFETIMES, SUB_NODE_SIGMA = 0.4, 0.8  # of JobMix.lifetime_s (assumption)
SIZES, SIZE_SHARES = (1, 2, 4), (0.6, 0.2, 0.2)  # GPUs of a job: most ask for one (Jeon et al.); shares: assumption
SHORTEST_S = 15.0


class SmallJob(PhasedWork):
    """Training on all GPUs of one host: they wait for each other, and for nobody else."""

    @classmethod
    def allocations(cls, hosts: list[int], gpus_per_host: int, rng: np.random.Generator) -> list[Allocation]:
        return [Allocation([host]) for host in hosts]

    @classmethod
    def lifetime_s(cls, mix: JobMix, number: int, rng: np.random.Generator) -> float:
        return max(SHORTEST_S, lognormal_s(rng, SMALL_MEDIAN_S, SMALL_SIGMA))

    def _prepare(self) -> None:
        rng = self._rng
        self._duty, self._memory = rng.uniform(*DUTY), rng.uniform(*MEMORY_BYTES)
        self._loaded = False

    def _next_phase(self, now_ns: int, gpus: Gpus) -> float:
        if not self._loaded:
            self._loaded = True
            return self._load(FIRST_LOAD * self._share(gpus))
        if self._storage.pending(fs.READ, self.members.hosts):
            return self._load(0.0)  # the data of the next phase are late
        gpus.framebuffer[self._rows] = self._memory
        self.record.iterations += 1
        self._storage.request(fs.READ, self.members.hosts, self._share(gpus) * self._mix.load_bytes)
        clock = gpus.work_rate[self._rows]
        pace = float(clock.min())
        duty = min(1.0, self._duty * self._rng.normal(1.0, 0.05))
        kernels_s = duty / pace  # of one second's work at full clock
        busy = kernels_s / (kernels_s + 1.0 - duty)
        if not gpus.hung[self._rows].any():
            self.record.served_s += self._rows.size * PHASE_S / (kernels_s + 1.0 - duty)
        alone = self._rows.size == 1
        self._compute(busy * pace / clock, ALONE if alone else EXCHANGE, 1.0 if alone else EXCHANGE_PART)
        self._parts[:, SPIN] = busy - self._parts[:, COMPUTE]
        self._parts[:, WAIT] = 1.0 - busy
        return PHASE_S

    def _share(self, gpus: Gpus) -> float:
        """Part of the GPUs of its host."""
        return self._rows.size * len(self._resources.layout.hosts) / len(gpus.present)

    def _stuck(self, hung: Flags) -> tuple[Floats, Floats]:
        """The others poll for the one that hangs."""
        parts: Floats = np.zeros(self._parts.shape)
        parts[hung, COMPUTE], parts[~hung, SPIN] = 1.0, 1.0
        return parts, np.zeros(self._kernels.shape)


class SubNodeJob(SmallJob):
    """The same on one, two or four GPUs of a host that other jobs share."""

    @classmethod
    def allocations(cls, hosts: list[int], gpus_per_host: int, rng: np.random.Generator) -> list[Allocation]:
        found = []
        for host in hosts:
            first = 0
            while first < gpus_per_host:
                size = min(int(rng.choice(SIZES, p=SIZE_SHARES)), gpus_per_host - first)
                found.append(Allocation([host], tuple(range(first, first + size))))
                first += size
        return found

    @classmethod
    def lifetime_s(cls, mix: JobMix, number: int, rng: np.random.Generator) -> float:
        return max(SHORTEST_S, lognormal_s(rng, SUB_NODE_LIFETIMES * mix.lifetime_s, SUB_NODE_SIGMA))
