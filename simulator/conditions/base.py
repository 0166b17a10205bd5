"""The base class of conditions: they last as long as the cluster and act before every step of the model."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from simulator.machine import Machine


class Condition(ABC):
    """Ordinary behaviour of one machine, from its start on.

    strength: how strong it is, 1 is the usual. rng: its own generator, fixed by the seed and the name, so that one
    condition changes nothing that another one draws.
    """

    name: ClassVar[str]

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        self.machine, self.strength = machine, strength
        self.rng = np.random.default_rng([machine.config.seed, *self.name.encode()])

    @abstractmethod
    def step(self) -> None:
        """Called before every step of the model."""

    def every(self, period_s: float) -> bool:
        """Whether a period of this length begins with this step; also true for the first step of all."""
        return self.machine.steps % max(1, round(period_s / self.machine.dt)) == 0
