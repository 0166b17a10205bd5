"""one-stripe-files, metadata-load: how files lie on the targets, and how long it takes to open them."""

import numpy as np

from common.units import NS_PER_S
from simulator.conditions.base import Condition
from simulator.conditions.processes import SlowNoise, log_normal_of_mean
from simulator.fabric.state import Floats
from simulator.machine import Machine


class OneStripeFiles(Condition):
    """Files on one target each: Lustre's stripe count is 1 unless somebody sets another (``lfs setstripe``).

    Each host's file goes to a random target, so some targets hold the files of several hosts and others none.
    strength: part of the files that have one stripe; the others are striped over all targets.
    """

    name = "one-stripe-files"

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        self._targets = machine.storage.rows.shape[2]  # that a host's files are striped over
        machine.storage.stripes = self._stripes

    def step(self) -> None:
        """Files are placed when they are requested."""

    def _stripes(self, files: int) -> Floats:
        single = self.rng.random(files) < self.strength
        parts = np.full((files, self._targets), 1.0 / self._targets)
        parts[single] = 0.0
        parts[single, self.rng.integers(self._targets, size=files)[single]] = 1.0
        return parts


class MetadataLoad(Condition):
    """The metadata server is busy with others: whoever opens files waits before the first byte moves.

    A request opens FILES files one after the other. An operation takes half a millisecond on an idle server; the load
    multiplies that, log-normal with a memory of a minute, and so do the hosts' single waits. All numbers are
    assumptions: a metadata server makes tens of thousands of operations a second, and many small files exhaust it.
    """

    name = "metadata-load"
    FILES, IDLE_S, MEAN_FACTOR = 64, 0.5e-3, 20.0
    SIGMA, MEMORY_S, SINGLE_SIGMA = 1.2, 60.0, 0.5

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        self._noise = SlowNoise(self.rng, 1, self.MEMORY_S)
        self._wait_s = 0.0
        self._open_ns = np.zeros((2, len(machine.layout.hosts)), dtype=np.int64)
        machine.storage.opening = self._opening

    def step(self) -> None:
        if self.every(1.0):
            load = float(log_normal_of_mean(self._noise.advance(1.0), self.SIGMA)[0])
            self._wait_s = self.FILES * self.IDLE_S * (1.0 + self.MEAN_FACTOR * self.strength * load)
        storage = self.machine.storage
        if storage.unopened.any():
            storage.unopened[:] = self._open_ns > self.machine.now_ns

    def _opening(self, kind: int, hosts: list[int]) -> None:
        waits_s = self._wait_s * np.exp(self.SINGLE_SIGMA * self.rng.normal(0.0, 1.0, len(hosts)))
        self._open_ns[kind, hosts] = self.machine.now_ns + (waits_s * NS_PER_S).astype(np.int64)
        self.machine.storage.unopened[kind, hosts] = True
