"""Reinforcement learning: GPUs generate answers, most of them wait for the longest ones, then all train on them.

Generating takes most of the time and its end is a long tail, in which few GPUs still decode (Zhong et al., RLHFuse,
NSDI 2025; Sheng et al., HybridFlow, EuroSys 2025).
"""

import numpy as np

from simulator.compute.figures import COMPUTE, DECODE
from simulator.compute.gpus import Gpus
from simulator.compute.jobs import JobRun
from simulator.fabric.state import Floats

UPDATES = 8  # iterations of training on one batch of answers (assumption)
ROLLOUT_UPDATES = 12.0  # median time of a GPU's answers, in times of JobMix.compute_s (assumption)
TAIL_SIGMA = 0.5  # of the logarithm: the last of 64 GPUs takes three times the median (assumption)


class RlTraining(JobRun):
    """Rollout, then ``UPDATES`` iterations of data-parallel training."""

    framebuffer_used = 74e9

    def _begin_compute(self) -> None:
        super()._begin_compute()
        shape = self.members.gpus.shape
        starts = self.record.iterations % UPDATES == 0
        median_s = ROLLOUT_UPDATES * self._mix.compute_s * starts
        self._answers: Floats = median_s * self._rng.lognormal(0.0, TAIL_SIGMA, shape)  # seconds at full clock

    def _advance(self, dt: float, gpus: Gpus) -> bool:
        if not (self._answers > 0.0).any():
            return super()._advance(dt, gpus)
        rows = self.members.gpus
        pace = np.where(gpus.hung[rows], 1e-9, gpus.work_rate[rows])
        busy = np.minimum(dt, np.maximum(0.0, self._answers) / pace)
        self._answers = np.where(busy < dt, 0.0, self._answers - busy * pace)
        gpus.spent[rows, COMPUTE] += busy
        gpus.kernels[rows, DECODE] += busy
        return False
