"""hash-collisions: flows that choose their spine by a hash, so that some uplinks carry more of them than others."""

import numpy as np

from simulator.conditions.base import Condition
from simulator.fabric.state import Ints
from simulator.machine import Machine

HASH_MAX = 1 << 30


class HashCollisions(Condition):
    """ECMP without enhancements: each new queue pair has a random source port, and the hash of that picks the spine.

    Gangidi et al., RDMA over Ethernet for Distributed AI Training at Meta Scale, SIGCOMM 2024: flows are few and large,
    so a hash spreads them badly. strength: part of the flows that are hashed.
    """

    name = "hash-collisions"

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        fabric = machine.fabric
        fabric.spread_by = self._hash
        rows = np.flatnonzero(fabric.flows.used)
        fabric.flows.spread[rows] = self._hash(fabric.flows.spread[rows])
        machine.routes.route(fabric, rows)

    def step(self) -> None:
        """New flows are hashed as they come."""

    def _hash(self, spread: Ints) -> Ints:
        hashed = self.rng.random(spread.size) < self.strength
        return np.where(hashed, self.rng.integers(HASH_MAX, size=spread.size), spread)
