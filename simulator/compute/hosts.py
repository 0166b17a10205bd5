"""Hosts besides their GPUs and NICs: load, memory, the local disk, power and inlet air."""

import numpy as np

from simulator.fabric.state import Floats
from simulator.layout import Layout

CORES = 112
MEMORY_BYTES = 2.0 * 2**40
LOG_BYTES_PER_S = 0.4e6  # logs and metrics that every host writes to its local disk
BASE_WATTS, WATTS_PER_CORE = 900.0, 3.5


class Hosts:
    """All hosts, [H]; counters since boot."""

    def __init__(self, layout: Layout, rng: np.random.Generator) -> None:
        n = len(layout.hosts)
        self._rng = rng
        self._gpus = np.array([list(layout.host_gpus[name]) for name in layout.hosts])
        self.load = np.full(n, 1.0)
        self.others = np.zeros(n)  # cores that are busy with something else than jobs
        self.network_cores = np.zeros(n)  # that copy packets, where the NICs do not
        self.idle_s, self.busy_s = np.zeros(n), np.zeros(n)
        self.available = np.full(n, MEMORY_BYTES * 0.97)
        self.watts, self.inlet = np.full(n, BASE_WATTS), rng.normal(24.0, 0.8, n)
        self.written, self.writes, self.read, self.reads, self.io_s = (np.zeros(n) for _ in range(5))

    def tick(self, dt: float, activity: Floats, gpu_watts: Floats, cores_more: Floats | float = 0.0) -> None:
        """activity: [G, 5] parts of time by activity. A rank keeps one core polling and three feeding it.

        cores_more: [H] cores that work without GPUs keeps busy.
        """
        engaged = activity[self._gpus][:, :, 1:].sum(axis=2).sum(axis=1)
        ranks = 1.5 + 4.0 * engaged * self._rng.normal(1.0, 0.03, len(engaged))
        cores = np.minimum(CORES, ranks + self.others + self.network_cores + cores_more)
        self.load += (cores - self.load) * (1.0 - np.exp(-dt / 60.0))
        self.busy_s += cores * dt
        self.idle_s += (CORES - cores) * dt
        self.available = MEMORY_BYTES * (0.97 - 0.05 * engaged / self._gpus.shape[1])
        self.watts = BASE_WATTS + WATTS_PER_CORE * cores + gpu_watts[self._gpus].sum(axis=1)
        blocks = self._rng.poisson(LOG_BYTES_PER_S * dt / 65536.0, len(engaged))
        self.written += blocks * 65536.0
        self.writes += blocks
        self.io_s += blocks * 60e-6
