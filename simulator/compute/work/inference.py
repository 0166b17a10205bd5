"""Inference and evaluation: replicas that serve requests on their own, and models that are tried out in bursts.

Decoding tokens is bound by memory, the prompts before it by compute, at higher power (Patel et al., Splitwise, ISCA
2024). Load follows the hour of the day and comes in bursts (Wang et al., BurstGPT, 2024; Patel et al.,
POLCA, ASPLOS 2024).
"""

import math

import numpy as np

from common.units import NS_PER_S
from simulator.compute.figures import DECODE
from simulator.compute.gpus import Gpus
from simulator.compute.work.base import Allocation
from simulator.compute.work.phases import PhasedWork, lognormal_s
from simulator.fabric.state import Floats

WEIGHTS_LOAD = 50.0  # iterations' data that a replica reads when it starts: 30 GB by default (assumption)
SERVING_BYTES = 77e9  # 90 % of the memory (vLLM: gpu_memory_utilization 0.9)
REPLICA_SIZES = (1, 2, 4, 8)  # GPUs of one replica
DECODE_PART = 0.85  # of the busy time (assumption: short prompts, batched decoding)
DAY_MEAN, DAY_SWING, BUSIEST_HOUR = 0.45, 0.3, 14.0  # part of the capacity; UTC (assumption)
NOISE_SIGMA, NOISE_S = 0.3, 30.0  # of the logarithm of a replica's load, and how long it lasts (assumption)
BURST_EVERY_S, BURST_MEAN_S, BURST_LOAD = 400.0, 20.0, 2.5  # (assumption)
# A cycle of evaluation: 30 % loading and preparing, 19 % computing metrics on CPUs (Hu et al., NSDI 2024, HumanEval).
PREPARES_S, ANSWERS_S, SCORES_S, EVALUATION_SIGMA = 18.0, 31.0, 11.0, 0.5
TRIED_LOAD = 25.0  # iterations' data: 15 GB, a model of 7 billion parameters


def daily_load(now_ns: int) -> float:
    """Mean part of the capacity that requests need at this time of the day (UTC).

    >>> round(daily_load(14 * 3600 * NS_PER_S), 2), round(daily_load(2 * 3600 * NS_PER_S), 2)
    (0.75, 0.15)
    """
    hour = now_ns / NS_PER_S / 3600.0 % 24.0
    return DAY_MEAN + DAY_SWING * math.cos(2.0 * math.pi * (hour - BUSIEST_HOUR) / 24.0)


class Inference(PhasedWork):
    """Replicas on parts of hosts, without lockstep: a slow GPU makes its own replica busier, and no other."""

    partition = "serving"

    def _prepare(self) -> None:
        rng = self._rng
        rails = self.members.gpus.shape[1]
        self._size = int(rng.choice([size for size in REPLICA_SIZES if rails % size == 0]))
        replicas = self.members.gpus.size // self._size
        self._noise: Floats = rng.normal(0.0, NOISE_SIGMA, replicas)
        self._burst_s: Floats = np.zeros(replicas)
        self._loaded = False

    def _next_phase(self, now_ns: int, gpus: Gpus) -> float:
        if not self._loaded:
            self._loaded = True
            gpus.framebuffer[self._rows] = SERVING_BYTES
            return self._load(WEIGHTS_LOAD)
        kept = math.exp(-1.0 / NOISE_S)
        news = self._rng.normal(0.0, NOISE_SIGMA * math.sqrt(1.0 - kept**2), self._noise.size)
        self._noise = kept * self._noise + news
        begins = self._rng.random(self._noise.size) < 1.0 / BURST_EVERY_S
        lasts_s = self._rng.exponential(BURST_MEAN_S, self._noise.size)
        self._burst_s = np.where(begins, lasts_s, np.maximum(0.0, self._burst_s - 1.0))
        load = daily_load(now_ns) * np.exp(self._noise) * np.where(self._burst_s > 0.0, BURST_LOAD, 1.0)
        pace = gpus.work_rate[self._rows].reshape(-1, self._size).min(axis=1)
        stuck = gpus.hung[self._rows].reshape(-1, self._size).any(axis=1)
        self.record.served_s += self._size * float(np.where(stuck, 0.0, np.minimum(load, pace)).sum())
        self._compute(np.repeat(np.minimum(1.0, load / pace), self._size), DECODE, DECODE_PART)
        return 1.0


class Evaluation(PhasedWork):
    """A checkpoint is loaded, answers questions on half of the GPUs, and is scored on CPUs; then the next one."""

    @classmethod
    def allocations(cls, hosts: list[int], gpus_per_host: int, rng: np.random.Generator) -> list[Allocation]:
        return [Allocation(hosts, tuple(range(max(1, gpus_per_host // 2))))]

    _at = -1

    def _next_phase(self, now_ns: int, gpus: Gpus) -> float:
        self._at = (self._at + 1) % 4
        if self._at == 0:
            gpus.framebuffer[self._rows] = 0.0
            return self._load(TRIED_LOAD)
        if self._at == 2:
            gpus.framebuffer[self._rows] = SERVING_BYTES
            self._compute(0.95, DECODE, DECODE_PART)
            self.record.iterations += 1
        return lognormal_s(self._rng, (0.0, PREPARES_S, ANSWERS_S, SCORES_S)[self._at], EVALUATION_SIGMA)
