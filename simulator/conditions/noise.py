"""noise-with-memory: power, temperature, load and disk of real hosts wander and jump, they are not white noise."""

import numpy as np

from simulator.compute.hosts import CORES
from simulator.conditions.base import Condition
from simulator.conditions.processes import SlowNoise, log_normal_of_mean
from simulator.fabric.state import Floats
from simulator.machine import Machine

# All amplitudes and times are assumptions. Shapes: node and rack power of a production cluster is autocorrelated over
# minutes (Patel et al., POLCA, ASPLOS 2024, show it for GPUs); load and disk rates of hosts are heavy-tailed.
POWER_SIGMA, POWER_S, POWER_TAIL = 0.03, 20.0, 4.0
AIR_SIGMA_C, AIR_S = 1.2, 300.0
CORES_MEAN, CORES_SIGMA, CORES_S = 3.0, 1.2, 90.0
DISK_MEAN, DISK_SIGMA, DISK_S = 5e6, 1.6, 30.0
WRITE_BYTES, WRITE_S = 65536.0, 60e-6  # as ``Hosts`` counts its log writes


class NoiseWithMemory(Condition):
    """Slow noise, with heavy tails where the field has them. strength scales all amplitudes."""

    name = "noise-with-memory"

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        layout = machine.layout
        hosts, gpus = len(layout.hosts), len(layout.gpus)
        self._host_of = np.array([layout.hosts.index(gpu.device) for gpu in layout.gpus])
        self._power = SlowNoise(self.rng, gpus, POWER_S, POWER_TAIL)
        self._air = SlowNoise(self.rng, hosts, AIR_S)
        self._cores = SlowNoise(self.rng, hosts, CORES_S)
        self._disk = SlowNoise(self.rng, hosts, DISK_S)
        self._demand: Floats = np.ones(gpus)
        self._warmer_c: Floats = np.zeros(hosts)

    def step(self) -> None:
        if not self.every(1.0):
            return
        self._vary_power()
        self._vary_air()
        self._burden_hosts()

    def _vary_power(self) -> None:
        factor = np.clip(1.0 + POWER_SIGMA * self.strength * self._power.advance(1.0), 0.5, 1.5)
        self.machine.gpus.demand *= factor / self._demand
        self._demand = factor

    def _vary_air(self) -> None:
        warmer_c = AIR_SIGMA_C * self.strength * self._air.advance(1.0)
        more = warmer_c - self._warmer_c
        self._warmer_c = warmer_c
        self.machine.hosts.inlet += more
        self.machine.gpus.inlet += more[self._host_of]

    def _burden_hosts(self) -> None:
        hosts = self.machine.hosts
        cores = CORES_MEAN * self.strength * log_normal_of_mean(self._cores.advance(1.0), CORES_SIGMA)
        hosts.others[:] = np.minimum(0.5 * CORES, cores)
        rate = DISK_MEAN * self.strength * log_normal_of_mean(self._disk.advance(1.0), DISK_SIGMA)
        writes = self.rng.poisson(rate / WRITE_BYTES)
        hosts.written += writes * WRITE_BYTES
        hosts.writes += writes
        hosts.io_s += np.minimum(1.0, writes * WRITE_S)
