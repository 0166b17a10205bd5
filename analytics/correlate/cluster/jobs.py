"""Which jobs run where. Training is lockstep: a whole job waits for any of its members."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from analytics.correlate.cluster.graph import Graph
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Job, Topology

HOLDERS = (ObjectKind.DEVICE, ObjectKind.GPU)


class Names(NamedTuple):
    """Names and their order, so that many can share one."""

    known: AbstractSet[str]
    ordered: tuple[str, ...]

    @staticmethod
    def of(names: Iterable[str]) -> "Names":
        known = dict.fromkeys(names)
        return Names(known.keys(), tuple(sorted(known)))  # most are in order already: quick to sort

    def with_more(self, more: AbstractSet[str]) -> tuple[str, ...]:
        """These names and others, in order."""
        return self.ordered if more <= self.known else tuple(sorted(self.known | more))


class JobNames(NamedTuple):
    """Hosts and GPUs of some jobs."""

    nodes: Names
    gpus: Names


class Jobs:
    """running, ended: by id. A job that ended is as it was known before."""

    def __init__(self, running: Mapping[str, Job], ended: Mapping[str, Job], graph: Graph) -> None:
        self.running = running
        self.ended = ended
        self._graph = graph
        self._on: defaultdict[str, list[Job]] = defaultdict(list)
        self._ids_on: defaultdict[str, list[str]] = defaultdict(list)
        for job_id in sorted(running):
            for node in running[job_id].nodes:
                self._on[node].append(running[job_id])
                self._ids_on[node].append(job_id)
        self._gpus: dict[str, tuple[ObjectRef, ...]] = {}
        self._names: dict[frozenset[str], JobNames] = {}
        self._behind: dict[str, frozenset[str]] = {}
        self._around: dict[str, frozenset[str]] = {}
        self._behind_any: dict[frozenset[str], frozenset[str]] = {}
        self._using: dict[str, frozenset[str]] = {}

    def on_device(self, name: str) -> list[str]:
        """Ids of the jobs that run on a host."""
        return self._ids_on.get(name, [])

    def of(self, ref: ObjectRef) -> list[str]:
        """Jobs that an object serves directly: by its host, or by the host that a switch's port leads to."""
        if ref.kind is ObjectKind.JOB:
            return [ref.name] if ref.name in self.running else []
        if ref.kind is ObjectKind.GPU and (known := self._graph.gpus.get(ref)):
            on = self._on.get(known.device, ())
            return [job.job_id for job in on if not job.gpu_indices or known.index in job.gpu_indices]
        found = self.on_device(ref.device)
        peer = self._graph.peers.get(ref)
        return found if found or peer is None else self.on_device(peer.device)

    def depending(self, root: ObjectRef, reached: Iterable[ObjectRef]) -> set[str]:
        """Jobs on what cannot work without a root. A GPU is reached with its host, unless it is the root itself."""
        hosts = (ref.name for ref in reached if ref.kind is ObjectKind.DEVICE)
        return {*chain.from_iterable(map(self.on_device, hosts)), *(self.of(root) if root.kind in HOLDERS else ())}

    def uses(self, job_id: str, ref: ObjectRef) -> bool:
        """Whether a job that runs or ended is on a host, or on a GPU."""
        job, known = self._known(job_id), self._graph.gpus.get(ref)
        if job is None or ref.device not in job.nodes:
            return False
        return not job.gpu_indices or known is None or known.index in job.gpu_indices

    def using(self, target: ObjectRef) -> frozenset[str]:
        """Jobs on the hosts that mount the file system of a storage target."""
        filesystem = self._graph.filesystem_of(target)
        if filesystem not in self._using:
            hosts = self._graph.mounted_on(filesystem)
            self._using[filesystem] = frozenset(job_id for host in hosts for job_id in self.on_device(host))
        return self._using[filesystem]

    def behind(self, name: str) -> frozenset[str]:
        """Jobs of a host, or of the hosts that are connected to a switch."""
        if name not in self._behind:
            switches = self._graph.switches
            hosts = self._graph.neighbours(name) - switches if name in switches else (name,)
            busy = filter(None, map(self._ids_on.get, hosts))
            self._behind[name] = frozenset(chain.from_iterable(busy))
        return self._behind[name]

    def around(self, name: str) -> frozenset[str]:
        """Jobs behind a device, and for a switch behind the switches next to it."""
        if name not in self._around:
            switches = self._graph.switches
            near = self._graph.neighbours(name) & switches if name in switches else ()  # its hosts are behind it
            self._around[name] = self.behind(name) | self._behind_each(frozenset(near))
        return self._around[name]

    def _behind_each(self, names: frozenset[str]) -> frozenset[str]:
        """Jobs behind any of these: all leaves of a pod are next to the same switches."""
        if names not in self._behind_any:
            self._behind_any[names] = frozenset[str]().union(*map(self.behind, names))
        return self._behind_any[names]

    def nodes(self, job_id: str) -> tuple[str, ...]:
        """Names of a job's hosts; none where it is not known."""
        known = self._known(job_id)
        return known.nodes if known else ()

    def gpus(self, job_id: str) -> tuple[ObjectRef, ...]:
        """All GPUs of a job that runs or ended, by name."""
        if job_id not in self._gpus:
            self._gpus[job_id] = tuple(self._list(job_id))
        return self._gpus[job_id]

    def names(self, job_ids: frozenset[str]) -> "JobNames":
        """Hosts and GPUs of jobs. Incidents of one job ask for the same, and a job has thousands of GPUs."""
        if job_ids not in self._names:
            nodes = chain.from_iterable(map(self.nodes, job_ids))
            gpus = [ref.name for job_id in job_ids for ref in self.gpus(job_id)]
            self._names[job_ids] = JobNames(Names.of(nodes), Names.of(gpus))
        return self._names[job_ids]

    def kept_idle(self, job_id: str) -> Collection[ObjectRef]:
        """GPUs that compute nothing while a job waits: all of its own; of one that ended those without another job."""
        if job_id in self.running:
            return self.gpus(job_id)
        return [ref for ref in self.gpus(job_id) if not self.of(ref)]

    def gpu_count(self, *job_ids: str) -> int:
        """How many GPUs jobs have together, each counted once."""
        return len(self.names(frozenset(job_ids)).gpus.known)

    def _known(self, job_id: str) -> Job | None:
        return self.running.get(job_id) or self.ended.get(job_id)

    def _list(self, job_id: str) -> Iterable[ObjectRef]:
        known = self._known(job_id)
        if known is None:
            return []
        every = chain.from_iterable(map(self._graph.gpus_of, sorted(known.nodes, key=_before_parts)))
        if not known.gpu_indices:
            return every
        return (ref for ref in every if self._graph.gpus[ref].index in known.gpu_indices)


def _before_parts(host: str) -> str:
    """By this hosts are in the order of the names of their parts."""
    return f"{host}/"


def running(topology: Topology) -> tuple[dict[str, Job], dict[str, Job]]:
    """Running jobs by id, and those that the topology knows to have ended."""
    present, ended = topology.present(Job), topology.gone(Job)
    return {job.job_id: job for job, _ in present}, {job.job_id: job for job, _ in ended}
