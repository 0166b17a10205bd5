"""Mixture-of-experts training: an all-to-all in every group of layers, to experts of which some are hot.

Experts are spread over groups of up to eight hosts (64 GPUs, as DeepSeek-V3, 2024, section 3.2). After each part of its
compute a GPU sends its tokens to the experts' GPUs and waits for those that it gets. Tokens travel on the rail of their
destination and change GPUs over NVLink inside the sending host (NCCL's PXN), so a hot expert is an incast at one leaf
port. DeepSeek-V3 reports that computing and exchanging take about equally long; here the GPUs send
``JobMix.allreduce_bytes`` in one iteration, which takes about a third of its time.

How hot an expert is changes slowly and smoothly from iteration to iteration (Nie et al., FlexMoE, SIGMOD 2023).
"""

import numpy as np

from simulator.compute.gpus import Gpus
from simulator.compute.jobs import Collective, JobRun, compute
from simulator.compute.rings import COMPLETE_BYTES, QUEUE_PAIRS, nics_of_gpus
from simulator.compute.work.base import Resources
from simulator.fabric.state import Flags, Floats, Ints

GROUP_HOSTS = 8
ROUNDS = 8  # groups of layers, forward and backward (assumption: a real model has tens)
HOT_SIGMA = 0.4  # of the logarithm of a GPU's load: the hottest of 64 gets 2.6 times the mean (assumption)
HOT_ITERATIONS = 200.0  # over which the loads change (assumption)


class AllToAll:
    """The queue pairs of one group of hosts: [n, n - 1, R] from each host to each other one, on every rail."""

    def __init__(self, resources: Resources, hosts: list[int]) -> None:
        layout, self._fabric = resources.layout, resources.fabric
        nics = nics_of_gpus(layout, hosts)
        n, rails = nics.shape
        self.peers: Ints = (np.arange(n)[:, None] + np.arange(1, n)) % n
        source = np.broadcast_to(nics[:, None, :], (n, n - 1, rails))
        destination = nics[self.peers]
        spread = np.add.outer(np.arange(n), np.arange(n - 1))[:, :, None] + np.arange(rails)
        self.rows: Ints = self._fabric.add_flows(source.ravel(), destination.ravel(), spread.ravel()).reshape(
            n, n - 1, rails
        )
        resources.routes.route(self._fabric, self.rows.ravel())
        self._sizes: Floats = np.zeros(self.rows.shape)
        self._sent: Flags = np.zeros((n, rails), dtype=np.bool_)

    def begin(self, each: float, load: Floats) -> None:
        """Starts an exchange of ``each`` bytes a GPU, among the GPUs in proportion to ``load`` [n, R]."""
        self._sizes[:] = each * load.shape[1] * (load / load.sum())[self.peers]
        self._sent[:] = False
        self._fabric.flows.delivered[self.rows] = 0.0

    def step(self, ready: Flags) -> bool:
        """Queues what the GPUs ``ready`` [n, R] send; True once everything has arrived."""
        flows = self._fabric.flows
        if self._sent.all():
            return bool((flows.delivered[self.rows] >= self._sizes - COMPLETE_BYTES).all())
        new = ready & ~self._sent
        if new.any():
            self._sent |= new
            flows.backlog[self.rows] += np.where(new[:, None, :], self._sizes, 0.0)
        return False

    def close(self) -> None:
        """Removes the flows."""
        self._fabric.remove_flows(self.rows.ravel())


class ExpertTraining(JobRun):
    """Expert-parallel inside a group of hosts; what all GPUs have in common is reduced over rings at the end."""

    flows_per_gpu = QUEUE_PAIRS + GROUP_HOSTS - 1
    framebuffer_used = 72e9
    gradient_part = 0.25  # of the bytes: only attention is replicated (assumption)

    def _connect(self) -> Collective:
        hosts = self.members.hosts
        self._groups = np.array_split(np.arange(len(hosts)), -(-len(hosts) // GROUP_HOSTS))
        self._exchanges = [AllToAll(self._resources, [hosts[i] for i in group]) for group in self._groups]
        self._round = [0] * len(self._groups)
        self._heat: Floats = self._rng.normal(0.0, HOT_SIGMA, self.members.gpus.shape)
        self._reduce: Flags = np.zeros(self.members.gpus.shape, dtype=np.bool_)
        return super()._connect()

    def close(self) -> None:
        for exchange in self._exchanges:
            exchange.close()
        super().close()

    def _begin_compute(self) -> None:
        super()._begin_compute()
        kept = 1.0 - 1.0 / HOT_ITERATIONS
        news = self._rng.normal(0.0, HOT_SIGMA * (1.0 - kept**2) ** 0.5, self._heat.shape)
        self._heat = kept * self._heat + news
        self._part: Floats = self._left / ROUNDS
        self._left = self._part.copy()
        self._round = [0] * len(self._groups)
        self._reduce[:] = False
        for group in range(len(self._groups)):
            self._begin_round(group)

    def _begin_round(self, group: int) -> None:
        hosts = self._groups[group]
        self._exchanges[group].begin(self._mix.allreduce_bytes / ROUNDS, np.exp(self._heat[hosts]))
        self._left[hosts] = self._part[hosts]

    def _advance(self, dt: float, gpus: Gpus) -> bool:
        compute(dt, self.members.gpus, gpus.work_rate, gpus.hung, self._left, gpus.spent, self._ready)
        for group, hosts in enumerate(self._groups):
            if self._round[group] == ROUNDS or not self._exchanges[group].step(self._ready[hosts]):
                continue
            self._round[group] += 1
            if self._round[group] == ROUNDS:
                self._reduce[hosts] = True
            else:
                self._begin_round(group)
        return self._rings.step(self._reduce)
