"""The interface of all kinds of work, and what a job is given when it starts."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from simulator.compute import storage as fs
from simulator.compute.gpus import Gpus
from simulator.compute.record import RunningJob
from simulator.config import JobMix
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Floats, Ints
from simulator.layout import Layout


class Members(NamedTuple):
    """hosts: positions in ``Layout.hosts``, in rank order. gpus: [n, R] positions in ``Layout.gpus``."""

    hosts: list[int]
    gpus: Ints


class Resources(NamedTuple):
    """What jobs use of the cluster.

    window: bytes that a sender may be ahead of what it has received. cores: [H] CPU cores that work without GPUs uses.
    """

    layout: Layout
    fabric: Fabric
    routes: Routes
    storage: fs.Storage
    gpus: Gpus
    mix: JobMix
    window: float
    cores: Floats


class Allocation(NamedTuple):
    """What the scheduler gives to one job at a time. gpus: indices on every host; () means all of them."""

    hosts: list[int]
    gpus: tuple[int, ...] = ()


class Work(ABC):
    """One job from its start, when it is made, to ``close``.

    flows_per_gpu: rows of the flow table that it needs at most for each GPU. partition: where users submit it.
    cyclic: ranks alternate between the pods; else they follow the hosts. uses_gpus: False for work on CPUs.
    next_checkpoint_ns: when it writes its next checkpoint, 0: it never writes one.
    """

    flows_per_gpu: ClassVar[int] = 0
    partition: ClassVar[str] = "gpu"
    cyclic: ClassVar[bool] = True
    uses_gpus: ClassVar[bool] = True
    next_checkpoint_ns: int = 0

    def __init__(
        self,
        record: RunningJob,
        members: Members,
        resources: Resources,
        rng: np.random.Generator,
        first_checkpoint_ns: int = 0,
    ) -> None:
        """rng: the job's own numbers. first_checkpoint_ns: for work that writes checkpoints."""
        self.record, self.members = record, members
        self._resources, self._mix, self._storage, self._rng = resources, resources.mix, resources.storage, rng

    @classmethod
    def allocations(cls, hosts: list[int], gpus_per_host: int, rng: np.random.Generator) -> list[Allocation]:
        """How the jobs of this kind divide the hosts of one slot. This: one job has them all."""
        return [Allocation(hosts)]

    @classmethod
    def lifetime_s(cls, mix: JobMix, number: int, rng: np.random.Generator) -> float:
        """How long a job runs. number: of its slot, so that slots side by side do not end together."""
        return mix.lifetime_s * (1.0 + 0.2 * number)

    @abstractmethod
    def step(self, now_ns: int, dt: float, gpus: Gpus) -> None:
        """Advances the job by ``dt`` seconds of event time."""

    @abstractmethod
    def close(self) -> None:
        """Ends the traffic of the job."""
