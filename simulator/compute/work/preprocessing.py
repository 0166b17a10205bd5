"""Preprocessing: CPUs read raw data, clean and tokenise them, and write them back. No GPU works.

Such jobs are bound by CPU and memory bandwidth (Zhao et al., Understanding Data Storage and Ingestion for Large-Scale
Deep Recommendation Model Training, ISCA 2022). The sizes are assumptions: 1 GB/s read and half of it written by a host.
"""

from simulator.compute import storage as fs
from simulator.compute.gpus import Gpus
from simulator.compute.work.phases import PhasedWork, lognormal_s

READ_BYTES, WRITTEN_BYTES = 8e9, 4e9  # of one part of the data, by each host
WORKS_S, WORKS_SIGMA = 6.0, 0.2
CORES_USED = 90.0


class Preprocessing(PhasedWork):
    """Read, work, write, and again; all hosts of the job in step."""

    partition = "cpu"
    uses_gpus = False
    _at = -1
    _cores = 0.0

    def _next_phase(self, now_ns: int, gpus: Gpus) -> float:
        self._at = (self._at + 1) % 3
        self._use(CORES_USED if self._at == 1 else 0.0)
        if self._at == 0:
            return self._transfer(fs.READ, READ_BYTES)
        if self._at == 1:
            return lognormal_s(self._rng, WORKS_S, WORKS_SIGMA)
        self.record.iterations += 1
        return self._transfer(fs.WRITE, WRITTEN_BYTES)

    def close(self) -> None:
        self._use(0.0)
        super().close()

    def _use(self, cores: float) -> None:
        self._resources.cores[self.members.hosts] += cores - self._cores
        self._cores = cores
