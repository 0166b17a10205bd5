"""What a fault affects, so that a finding can be judged true or false.

Derived from the ground truth, the cables and the jobs, not from what correlation concluded. A finding is true when it
begins while the fault or its repair lasts, and is about the root, about an object that depends on it, or is one of the
two consequences that spread: backpressure on the ports of the fabric, and jobs that wait.
"""

from dataclasses import dataclass
from functools import cached_property

from analytics.correlate.cause import CHECKPOINTS, CONGESTED
from analytics.correlate.cluster.graph import Graph, physical
from common.units import NS_PER_S
from evaluation.campaigns.plan import INTERVAL_S
from simulator.faults.truth import Truth
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device
from telemetry.topology import Job, Topology, TopologyFact

EARLY_NS = int(INTERVAL_S * NS_PER_S)  # rates are averages over the interval in which the fault begins
LATE_NS = 6 * EARLY_NS  # devices boot, queues and averages settle
SPREADING = CONGESTED | {FindingKind.DEVIATION}
OF_JOBS = frozenset({FindingKind.JOB_STALLED, FindingKind.JOB_SLOWED, FindingKind.JOB_IDLE}) | CHECKPOINTS
# Faults, by name, that cause no backpressure in the fabric.
LOCAL = frozenset(
    {"gpu-thermal-throttle", "straggler-gpu", "hung-gpu", "xid", "exporter-frozen", "late-checkpoint", "rack-cooling"}
    | {"gpu-memory-wears"}
)
STORAGE = frozenset({"slow-storage-target", "late-checkpoint"})
ONE_GPU = frozenset({"gpu-thermal-throttle", "straggler-gpu", "hung-gpu", "gpu-memory-wears"})
# Not visible unless a job runs on the host for JOB_NS_MIN.
NEEDS_JOB = (ONE_GPU | {"slow-receiver", "late-checkpoint"}) - {"gpu-memory-wears"}
JOB_NS_MIN = 30 * NS_PER_S


@dataclass(frozen=True)
class FaultImpact:
    """One fault, and everything that it affects in one cluster. jobs: facts of all jobs, ended ones included."""

    truth: Truth
    graph: Graph
    jobs: tuple[TopologyFact, ...]

    @cached_property
    def own(self) -> frozenset[ObjectRef]:
        """The root with its ends and parts: a finding about one of them is direct."""
        root = self.truth.root
        link = self.graph.link_of.get(root, root)
        own = {root, link, *self.graph.ports(link)}
        if root.kind is ObjectKind.DEVICE:
            own |= self._of_device(root.name)
        if (root.kind in (ObjectKind.RACK, ObjectKind.GPU) and self.truth.fault not in ONE_GPU) or self.truth.planned:
            for host in self.truth.reach:
                own |= self._of_device(host)
        if target := self.graph.targets.get(root):
            own |= {device(target.server), ObjectRef(ObjectKind.FILESYSTEM, target.filesystem)}
        return frozenset(own)

    @cached_property
    def objects(self) -> frozenset[ObjectRef]:
        """``own``, and what depends on it."""
        if self.truth.fault in ONE_GPU:
            return self.own
        reached = self.own | self.graph.reached(self.truth.root)
        if self.truth.root.kind is ObjectKind.STORAGE_TARGET:  # files are striped: clients of one use all others
            reached |= self.graph.targets.keys()
        hosts = {ref.name for ref in reached if ref.kind is ObjectKind.DEVICE and self.graph.is_edge(ref.name)}
        return reached.union(*(self._of_device(name) for name in sorted(hosts)))

    @cached_property
    def waiting(self) -> frozenset[ObjectRef]:
        """Jobs that may wait for it: those on its hosts; all that share the fabric or the file system with it."""
        hosts = set(self.truth.reach)
        everywhere = self.truth.fault not in LOCAL or self.truth.fault in STORAGE
        jobs = (fact.entity for fact in self.jobs)
        reached = (job.job_id for job in jobs if isinstance(job, Job) and (everywhere or hosts & set(job.nodes)))
        return frozenset(ObjectRef(ObjectKind.JOB, job_id) for job_id in reached) | {self.truth.root}

    @cached_property
    def waiting_hosts(self) -> frozenset[str]:
        """The hosts of those jobs."""
        jobs = (fact.entity for fact in self.jobs)
        waiting = (
            job for job in jobs if isinstance(job, Job) and ObjectRef(ObjectKind.JOB, job.job_id) in self.waiting
        )
        return frozenset(host for job in waiting for host in job.nodes)

    @cached_property
    def devices(self) -> frozenset[str]:
        """Devices whose name counts as naming the root: its own, the ends of its link, the server of a storage target;
        the hosts of a rack or of announced maintenance, the host that a job waits for."""
        root = self.truth.root
        devices = {root.device, *self.graph.ends(self.graph.link_of.get(root, root))}
        if root.kind in (ObjectKind.RACK, ObjectKind.JOB) or self.truth.planned:
            devices.update(self.truth.reach)
        if target := self.graph.targets.get(root):
            devices.add(target.server)
        return frozenset(devices - {""})

    @cached_property
    def visible(self) -> bool:
        """Whether it has any effect: a slow GPU or receiver that no job uses has none, nor has the checkpoint of a job
        that ends."""
        return self.truth.fault not in NEEDS_JOB or any(self._job_ns(fact) >= JOB_NS_MIN for fact in self.jobs)

    def _job_ns(self, fact: TopologyFact) -> int:
        """How long a job ran on the fault's host while it lasted."""
        job, truth = fact.entity, self.truth
        if not isinstance(job, Job) or not set(job.nodes) & set(truth.reach):
            return 0
        if truth.root.kind is ObjectKind.JOB and truth.root.name != job.job_id:
            return 0
        ended_ns = fact.observed_ns if fact.gone else truth.end_ns
        return min(ended_ns, truth.end_ns) - max(job.started_ns, truth.start_ns)

    def lasts(self, at_ns: int) -> bool:
        """Whether something that began at ``at_ns`` may be a consequence."""
        ends_ns = self.truth.end_ns or at_ns
        return self.truth.start_ns - EARLY_NS <= at_ns <= ends_ns + LATE_NS

    def direct(self, finding: Finding) -> bool:
        """Whether the finding is about the root itself."""
        return self.lasts(finding.onset_ns) and finding.object in self.own

    def explains(self, finding: Finding) -> bool:
        """Whether the finding is about the root or a consequence."""
        return self.lasts(finding.onset_ns) and self.affects(finding.kind, finding.object)

    def affects(self, kind: FindingKind, about: ObjectRef) -> bool:
        """Whether a finding of this kind about ``about`` may be a consequence, regardless of time."""
        if kind in OF_JOBS:
            return about in self.waiting
        of_fabric = about.kind is ObjectKind.PORT or self.graph.is_switch(about.device)
        spreads = self.truth.fault not in LOCAL and kind in SPREADING and of_fabric
        return spreads or about in self.objects

    def named_by(self, kind: IncidentKind, root: ObjectRef) -> bool:
        """Whether an incident names this cause; announced maintenance is named by any of its hosts."""
        if self.truth.planned:
            return kind is self.truth.expected and root in {device(name) for name in self.truth.reach}
        return root == self.truth.root

    def _of_device(self, name: str) -> set[ObjectRef]:
        links = self.graph.links(name)
        ports = {port for link in links for port in self.graph.ports(link)}
        return {device(name), *self.graph.gpus_of(name), *links, *ports}


def impacts(truths: list[Truth], topology: Topology) -> list[FaultImpact]:
    """Each fault of one cluster. topology: as known at the end, ended jobs included."""
    graph = Graph(physical(topology))
    jobs = tuple(fact for fact in topology.facts.values() if isinstance(fact.entity, Job))
    return [FaultImpact(truth, graph, jobs) for truth in truths]
