"""pcie-hiccups: hosts that take nothing from their NICs for a moment, as healthy hosts do."""

import math

import numpy as np

from common.jit import compiled
from simulator.conditions.base import Condition
from simulator.conditions.processes import SlowNoise, log_normal_of_mean
from simulator.fabric import parameters as par
from simulator.fabric.state import Floats
from simulator.machine import Machine

# Queueing of hundreds of microseconds in healthy hosts: the IOMMU's translation misses and a busy memory bus (Agarwal
# et al., Understanding host interconnect congestion, HotNets 2022). Guo et al., RDMA over Commodity Ethernet at Scale,
# SIGCOMM 2016: NICs that miss their translation cache pause the switch. Log-normal lengths of milliseconds: assumption,
# between those and the tens of milliseconds of a host that is really slow (the fault slow-receiver).
MEDIAN_S, SIGMA = 3e-3, 1.0
MEAN_S = MEDIAN_S * math.exp(0.5 * SIGMA**2)
# Rate at strength 1, so that ports with traffic are paused for about 0.3 % of the time (tests measure it).
STALLS_PER_S = 2.7
PCIE = par.PCIE_BYTES_PER_S
# Bad minutes: what else uses a host's memory changes over tens of seconds. Assumption: factor 1/3 to 3 (one sigma).
MEMORY_S, INTENSITY_SIGMA = 40.0, 1.1
# A host that stalls for more of the time is a slow receiver, and not healthy: the weakest of those faults takes nothing
# for 12 % of the time. Without a limit one host of 128 stood still for a minute in every few hours.
STALLED_MAX = 0.1


class PcieHiccups(Condition):
    """Stalls of some milliseconds come at random to each NIC, with an intensity that each host has for a while."""

    name = "pcie-hiccups"

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        layout = machine.layout
        names = list(layout.device_nics)
        self._device_of = np.array([names.index(nic.device) for nic in layout.nics])
        self._line = np.array([nic.bits_per_second / 8 * par.GOODPUT for nic in layout.nics])
        self._noise = SlowNoise(self.rng, len(names), MEMORY_S)
        self._left_s: Floats = np.zeros(len(layout.nics))  # of the stalls that have begun
        self._cumulated: Floats = np.zeros(len(layout.nics))  # rates of the NICs, summed up
        self._stalls = False

    def step(self) -> None:
        machine, dt = self.machine, self.machine.dt
        if self.every(1.0):
            rates = STALLS_PER_S * self.strength * log_normal_of_mean(self._noise.advance(1.0), INTENSITY_SIGMA)
            self._cumulated = np.cumsum(np.minimum(rates, STALLED_MAX / MEAN_S)[self._device_of])
        begin = int(self.rng.poisson(self._cumulated[-1] * dt))
        if begin:
            at = np.searchsorted(self._cumulated, self.rng.uniform(0.0, self._cumulated[-1], begin), side="right")
            np.add.at(self._left_s, at, MEDIAN_S * np.exp(SIGMA * self.rng.normal(0.0, 1.0, begin)))
        elif not self._stalls:
            return
        self._stalls = bool(begin)
        _stall(dt, self._line, self._left_s, machine.hiccups, machine.intake)


@compiled
def _stall(dt: float, line: Floats, left_s: Floats, hiccups: Floats, intake: Floats) -> None:
    """What one step takes of the stalls, [N]; the line cannot bring later in the step what a stall kept it from
    bringing: PCIe's spare rate is of no use."""
    for n in range(line.size):
        stalled_s = min(left_s[n], dt)
        left_s[n] -= stalled_s
        hiccups[n] = stalled_s / dt
        intake[n] = line[n] * (1.0 - hiccups[n]) if stalled_s > 0.0 else PCIE
