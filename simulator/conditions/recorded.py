"""recorded-h100: GPUs that draw, heat up and keep their clocks as a recorded H100 does.

Training holds a healthy H100 at its default limit of 700 W: the driver lowers the clock to about 1.59 GHz, the reason
is the power limit. A process that runs no kernel keeps the boost clock at 122 W. See ``RECORDED`` and
docs/simulator/h100.md.
"""

import numpy as np

from simulator.compute.figures import RECORDED
from simulator.conditions.base import Condition
from simulator.machine import Machine


class RecordedH100(Condition):
    """Figures of the recording, and kernels that differ within a step of training.

    strength: power of the kernels at full clock; 1 is a transformer in training, 1.22 matrix products without pause,
    which the limit holds at 1.37 GHz.
    """

    name = "recorded-h100"
    # Clocks read every 0.1 s in training have a standard deviation of 68 MHz; what they follow is assumed white.
    KERNEL_S, KERNEL_SIGMA = 0.1, 0.08
    # Idle 43 °C, in training 73 °C: a better sink than usual, in air that is warmer than INLET_C.
    WARMER_C, RESISTANCE = 12.0, 0.87

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        gpus = machine.gpus
        gpus.figures, gpus.limited = RECORDED, True
        gpus.demand *= strength
        gpus.cooling *= self.RESISTANCE
        for celsius in (gpus.inlet, gpus.sink_celsius, gpus.celsius):
            celsius += self.WARMER_C
        self._before = np.ones(len(gpus.demand))

    def step(self) -> None:
        if not self.every(self.KERNEL_S):
            return
        kernels = np.exp(self.KERNEL_SIGMA * self.rng.normal(0.0, 1.0, self._before.size))
        self.machine.gpus.demand *= kernels / self._before  # besides what other conditions do to it
        self._before = kernels
