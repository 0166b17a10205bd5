"""The base class of faults: they begin, act in every step, and end, and each has one known cause."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from common.errors import ConfigError
from simulator.holds import Combine
from simulator.layout import Layout
from simulator.machine import Machine
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef

T = TypeVar("T")


class Fault(ABC):
    """A fault of one machine. ``target`` names what breaks; with '' the seeded generator chooses when it begins.

    kind: the incident that should be opened; accepted: other kinds that are as right.
    lasts_s: its natural duration, 0: until it is ended. strength: its severity, 1 is the usual; faults without degrees
    ignore it. strengths: the range in which it has a meaning. intermittent: whether it can begin again.
    """

    name: ClassVar[str]
    kind: ClassVar[IncidentKind]
    target_form: ClassVar[str]
    accepted: ClassVar[tuple[IncidentKind, ...]] = ()
    planned: ClassVar[bool] = False
    lasts_s: ClassVar[float] = 0.0
    strengths: ClassVar[tuple[float, float]] = (0.1, 2.0)
    intermittent: ClassVar[bool] = True

    def __init__(self, machine: Machine, rng: np.random.Generator, target: str = "", strength: float = 1.0) -> None:
        self.machine, self.rng, self.target, self.strength = machine, rng, target, strength

    @property
    @abstractmethod
    def root(self) -> ObjectRef:
        """The root cause that an incident should name; known once the fault has begun."""

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        """Other objects that an incident may name as well, such as every port of a cycle."""
        return ()

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that the root is on, whose telemetry is lost with a silent fault."""
        root, layout = self.root, self.machine.layout
        if root.kind is ObjectKind.LINK:
            return tuple(dict.fromkeys(end.partition("/")[0] for end in root.name.split("--")))
        if root.kind is ObjectKind.STORAGE_TARGET:
            return tuple(t.server for t in layout.targets if f"{layout.filesystem}/{t.name}" == root.name)
        return (root.device,) if root.device else self.reach

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

    @classmethod
    @abstractmethod
    def targets(cls, layout: Layout) -> list[str]:
        """Every target that it can break, by name."""

    def hold(self, array: NDArray[Any], at: int, value: float, combine: Combine) -> None:
        """Sets an element of the model's state until ``release``; other faults of the element are combined with it."""
        self.machine.holds.set(self, array, at, value, combine)

    def release(self) -> None:
        """Gives back all that it holds."""
        self.machine.holds.release(self)

    def choose(self, among: Sequence[T], names: Sequence[str]) -> T:
        """The member of ``among`` that the target names, or a random one, which is the target from then on."""
        if not among:
            raise ConfigError(f"{self.name}: no target {self.target!r}, this cluster has no {self.target_form}")
        if not self.target:
            self.target = names[int(self.rng.integers(len(among)))]
        if self.target not in names:
            raise ConfigError(f"{self.name}: no target {self.target!r}, expected {self.target_form} such as {names[0]}")
        return among[list(names).index(self.target)]

    def choose_nic(self) -> int:
        """Position of a host NIC (``node3/mlx5_2``)."""
        nics = host_nics(self.machine.layout)
        return self.choose(list(nics.values()), list(nics))

    def choose_gpu(self) -> int:
        """Position of a GPU, by index (``node3/4``) or UUID (``node3/GPU-…``)."""
        gpus = self.machine.layout.gpus
        names = gpu_names(self.machine.layout)
        if self.target and self.target not in names:
            names = [f"{gpu.device}/{gpu.uuid}" for gpu in gpus]
        return self.choose(range(len(gpus)), names)


def host_nics(layout: Layout) -> dict[str, int]:
    """Position of each host NIC by name (``node3/mlx5_2``)."""
    hosts = set(layout.hosts)
    return {f"{device}/{name}": i for (device, name), i in layout.nic_index.items() if device in hosts}


def gpu_names(layout: Layout) -> list[str]:
    """``node3/4`` of every GPU."""
    return [f"{gpu.device}/{gpu.index}" for gpu in layout.gpus]


def port_names(layout: Layout) -> list[str]:
    """``leaf1/Ethernet4`` of every switch port."""
    return [f"{port.device}/{port.name}" for port in layout.ports]
