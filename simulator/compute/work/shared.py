"""GPUs that people hold rather than use: notebooks, and GPUs in partitions (MIG)."""

import numpy as np

from simulator.compute.figures import ALONE, PARTITIONED
from simulator.compute.gpus import Gpus
from simulator.compute.work.base import Allocation
from simulator.compute.work.phases import PhasedWork, lognormal_s
from simulator.config import JobMix

# A notebook: minutes of reading and typing between cells (assumption).
THINKS_MEAN_S, CELL_MEDIAN_S, CELL_SIGMA = 240.0, 8.0, 1.0
CELL_BUSY, NOTEBOOK_BYTES = (0.2, 0.9), (2e9, 40e9)
NOTEBOOK_LIFETIMES, NOTEBOOK_SIGMA = 2.0, 0.5  # of JobMix.lifetime_s
# Seven instances of 1g.10gb are what an H100 80GB divides into (NVIDIA MIG User Guide); their use: assumption.
INSTANCES, INSTANCE_BYTES, INSTANCE_BUSY = 7, 8e9, (0.2, 1.0)
MIG_PHASE_S, STARTS_AFTER_S, ENDS_AFTER_S = 5.0, 180.0, 120.0


class OneGpuWork(PhasedWork):
    """Work of one GPU; others have the rest of its host."""

    @classmethod
    def allocations(cls, hosts: list[int], gpus_per_host: int, rng: np.random.Generator) -> list[Allocation]:
        return [Allocation([host], (gpu,)) for host in hosts for gpu in range(gpus_per_host)]

    @classmethod
    def lifetime_s(cls, mix: JobMix, number: int, rng: np.random.Generator) -> float:
        return lognormal_s(rng, NOTEBOOK_LIFETIMES * mix.lifetime_s, NOTEBOOK_SIGMA)


class Notebook(OneGpuWork):
    """Mostly idle with its memory held; a cell that somebody runs keeps the GPU busy for seconds."""

    partition = "interactive"
    _runs = True

    def _next_phase(self, now_ns: int, gpus: Gpus) -> float:
        if gpus.framebuffer[self._rows[0]] == 0.0:
            gpus.framebuffer[self._rows] = self._rng.uniform(*NOTEBOOK_BYTES)
        self._runs = not self._runs
        if not self._runs:
            return float(self._rng.exponential(THINKS_MEAN_S))
        self._compute(float(self._rng.uniform(*CELL_BUSY)), ALONE)
        return lognormal_s(self._rng, CELL_MEDIAN_S, CELL_SIGMA)


class PartitionedGpu(OneGpuWork):
    """A GPU in seven instances, each with a process that comes and goes. What DCGM shows for the parent GPU.

    Power, clocks, temperature and used memory are the board's; the profiling ratios are averages over the instances;
    the utilisation is 0, as exporters report it for GPUs in MIG mode (NVIDIA/dcgm-exporter issue 216).
    """

    partition = "mig"

    def _prepare(self) -> None:
        rng = self._rng
        self._on = rng.random(INSTANCES) < ENDS_AFTER_S / (ENDS_AFTER_S + STARTS_AFTER_S)
        self._loads = rng.uniform(*INSTANCE_BUSY, INSTANCES)

    def _next_phase(self, now_ns: int, gpus: Gpus) -> float:
        changes = self._rng.random(INSTANCES) < MIG_PHASE_S / np.where(self._on, ENDS_AFTER_S, STARTS_AFTER_S)
        self._on ^= changes
        self._loads = np.where(changes, self._rng.uniform(*INSTANCE_BUSY, INSTANCES), self._loads)
        self._compute(float((self._loads * self._on).mean()), PARTITIONED)
        gpus.framebuffer[self._rows] = INSTANCE_BYTES * self._on.sum()
        return MIG_PHASE_S
