"""power-cap and chip-spread: GPUs that work at their power limit, and chips that differ in what they draw.

The driver lowers the clock until chip and work draw the limit (``Gpus.limited``); the reason is the power limit,
not heat. What draws less than its limit (idle, NCCL, waiting) runs at the full clock.
"""

import numpy as np

from simulator.compute.gpus import POWER_LIMIT_WATTS
from simulator.conditions.base import Condition
from simulator.conditions.processes import SlowNoise
from simulator.machine import Machine


class PowerCap(Condition):
    """Limits below 700 W that a site moves slowly by host, for work whose power differs by chip and over time.

    Sites cap GPUs to fit more of them under one feed (Patel et al., POLCA, ASPLOS 2024: GPU power capping in LLM
    clusters); nobody publishes a distribution, so the numbers are assumptions that give clocks of 1.2 to 1.98 GHz
    (measured by a test).
    """

    name = "power-cap"
    LOWERED, LOWERED_SIGMA = 0.26, 0.09  # mean part of 700 W that the cap takes, and how much it moves
    LOWERED_MAX = 0.5  # 350 W; nvidia-smi accepts 200 W to 700 W
    HOST_S = 240.0  # the site's power moves over minutes
    WORK_S, WORK_SIGMA = 45.0, 0.06  # layers, sequence lengths and data differ: power of the same kernels differs

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        layout, gpus = machine.layout, machine.gpus
        self._host_of = np.array([layout.hosts.index(gpu.device) for gpu in layout.gpus])
        self._cap = SlowNoise(self.rng, len(layout.hosts), self.HOST_S)
        self._work = SlowNoise(self.rng, len(layout.gpus), self.WORK_S)
        self._before = np.ones(len(layout.gpus))
        gpus.limited = True

    def step(self) -> None:
        if not self.every(1.0):
            return
        gpus = self.machine.gpus
        part = np.clip(self.LOWERED + self.LOWERED_SIGMA * self._cap.advance(1.0), 0.0, self.LOWERED_MAX)
        gpus.limit_watts[:] = np.round(POWER_LIMIT_WATTS * (1.0 - part * self.strength))[self._host_of]
        work = np.exp(self.WORK_SIGMA * self._work.advance(1.0))
        gpus.demand *= work / self._before  # besides what other conditions do to it
        self._before = work


class ChipSpread(Condition):
    """Chips of one model draw different power at equal clock, so they reach different clocks at equal power.

    Sinha et al., Not All GPUs Are Created Equal, SC 2022: performance varies by 8 % on average between equal GPUs of a
    cluster, by 22 % at most. A sigma of 4 % in power at equal clock gives 1.8 % in clock at equal power, so 8 % between
    the extremes of 64 chips. The work is dense enough to be held by 700 W.
    """

    name = "chip-spread"
    SIGMA = 0.04

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        gpus = machine.gpus
        gpus.limited = True
        gpus.demand *= np.exp(self.SIGMA * strength * self.rng.normal(0.0, 1.0, len(gpus.demand)))

    def step(self) -> None:
        """Chips do not change."""
