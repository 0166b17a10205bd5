"""The base class of faults: they begin, act in every step, and end, and each has one known cause."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from common.errors import ConfigError
from simulator.machine import Machine
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef

T = TypeVar("T")


class Fault(ABC):
    """A fault of one machine. ``target`` names what breaks; with '' the seeded generator chooses when it begins.

    lasts_s: its natural duration, 0: until it is ended. strength: its severity, 1 is the usual; faults without degrees
    ignore it.
    """

    name: ClassVar[str]
    kind: ClassVar[IncidentKind]
    target_form: ClassVar[str]
    planned: ClassVar[bool] = False
    lasts_s: ClassVar[float] = 0.0

    def __init__(self, machine: Machine, rng: np.random.Generator, target: str = "", strength: float = 1.0) -> None:
        self.machine, self.rng, self.target, self.strength = machine, rng, target, strength

    @property
    @abstractmethod
    def root(self) -> ObjectRef:
        """The root cause that an incident should name; known once the fault has begun."""

    @property
    def reach(self) -> tuple[str, ...]:
        """Hosts that are affected directly."""
        return ()

    @abstractmethod
    def begin(self) -> None:
        """Chooses the target and breaks it; ConfigError when the target does not exist."""

    def step(self, elapsed_s: float) -> None:
        """Called before every step while the fault lasts; ``elapsed_s`` since it began."""
        return

    @abstractmethod
    def end(self) -> None:
        """Repairs what it broke."""

    def choose(self, among: Sequence[T], names: Sequence[str]) -> T:
        """The member of ``among`` that the target names, or a random one."""
        if not among:
            raise ConfigError(f"{self.name}: nothing to break, expected a cluster with a {self.target_form}")
        if not self.target:
            return among[int(self.rng.integers(len(among)))]
        if self.target not in names:
            raise ConfigError(f"{self.name}: no target {self.target!r}, expected {self.target_form} such as {names[0]}")
        return among[list(names).index(self.target)]

    def choose_nic(self) -> int:
        """Position of a host NIC (``node3/mlx5_2``)."""
        layout = self.machine.layout
        hosts = set(layout.hosts)
        nics = {f"{device}/{name}": i for (device, name), i in layout.nic_index.items() if device in hosts}
        return self.choose(list(nics.values()), list(nics))

    def choose_gpu(self) -> int:
        """Position of a GPU, by index (``node3/4``) or UUID (``node3/GPU-…``)."""
        gpus = self.machine.layout.gpus
        names = {f"{gpu.device}/{gpu.index}": i for i, gpu in enumerate(gpus)}
        if self.target not in names:
            names = {f"{gpu.device}/{gpu.uuid}": i for i, gpu in enumerate(gpus)}
        return self.choose(list(names.values()), list(names))
