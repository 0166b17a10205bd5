"""What the topology says about the objects that series are about, as arrays by object number."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.models.peers.groups import Grouping, groupings, of_jobs
from analytics.state.registry import Registry
from telemetry import objects
from telemetry.objects import ObjectKind
from telemetry.topology import Gpu, Job, Link, Topology


@dataclass(frozen=True)
class Places:
    """cabled: bool[objects], ports with a link. rated: float64[objects], its bits per second, 0 where nothing says.

    job: int64[objects], position in ``jobs`` of a GPU's running job, -1 for none. groups: by kind of group.
    """

    cabled: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    rated: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    job: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    jobs: tuple[Job, ...] = ()
    groups: Mapping[str, Grouping] = field(default_factory=dict)


def find_places(registry: Registry, topology: Topology) -> Places:
    """As the topology has it now; for the series that there are."""
    names = registry.objects
    size = len(names)
    cabled, rated, job_of = np.zeros(size, bool), np.zeros(size), np.full(size, -1, np.int64)
    for link in topology.entities(Link):
        for port in link.ports:
            number = names.find(str(port))
            if number is not None:
                cabled[number], rated[number] = True, link.bits_per_second
    jobs = tuple(topology.entities(Job))
    for position, job in enumerate(jobs):
        for name in _gpus(job, registry, topology):
            number = names.find(name)
            if number is not None:
                job_of[number] = position
    groups = {"job": of_jobs(job_of, jobs), **groupings(names.names, topology)}
    return Places(cabled, rated, job_of, jobs, groups)


def _gpus(job: Job, registry: Registry, topology: Topology) -> list[str]:
    """The GPUs of a job, as object names: by index where the job has some of a node, else all that report."""
    nodes = set(job.nodes)
    if job.gpu_indices:
        gpus = [gpu for gpu in topology.entities(Gpu) if gpu.device in nodes and gpu.index in job.gpu_indices]
        return [str(objects.gpu(gpu.device, gpu.uuid)) for gpu in gpus]
    prefix = f"{ObjectKind.GPU}:"
    found = (name for name in registry.objects.names if name.startswith(prefix))
    return [name for name in found if name[len(prefix) :].partition("/")[0] in nodes]
