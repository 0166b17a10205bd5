"""Training whose all-reduce overlaps with the backward pass: the network is busy while the GPUs compute.

Frameworks reduce gradients in buckets as soon as the backward pass has made them (Li et al., PyTorch Distributed, VLDB
2020). The backward pass takes two thirds of the compute time: it multiplies twice for each multiplication of the
forward pass (Narayanan et al., SC 2021).
"""

import numpy as np

from simulator.compute.gpus import Gpus
from simulator.compute.jobs import Collective, JobRun, compute
from simulator.compute.rings import Rings

FORWARD = 1 / 3  # part of the compute time


class OverlappedTraining(JobRun):
    """Data-parallel training that offers its gradients to the rings as the backward pass makes them."""

    def _connect(self) -> Collective:
        r = self._resources
        self._ring = Rings(r.layout, r.fabric, r.routes, self.members.hosts, r.window)
        return self._ring

    def _begin_compute(self) -> None:
        super()._begin_compute()
        self._whole = self._left.copy()

    def _advance(self, dt: float, gpus: Gpus) -> bool:
        compute(dt, self.members.gpus, gpus.work_rate, gpus.hung, self._left, gpus.spent, self._ready)
        done = 1.0 - self._left / self._whole
        backward = np.clip((done - FORWARD) / (1.0 - FORWARD), 0.0, 1.0)
        return self._ring.offer(backward) and bool(self._ready.all())
