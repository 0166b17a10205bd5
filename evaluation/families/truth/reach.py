"""What one fault can reach, by path: the judge of single findings, and of which fault a wrong page belongs to.

From the ground truth, the traffic that was sent, and what the jobs lost; not from what correlation concluded.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

from analytics.correlate.cause import AWAY, CHECKPOINTS, CONGESTED
from analytics.correlate.cluster.graph import Graph
from common.units import NS_PER_S
from evaluation.campaigns.truth import EARLY_NS, LATE_NS, NEEDS_JOB, FaultImpact
from evaluation.families.counterfactual.harm import Harm
from evaluation.families.truth.traffic import Pair, Traffic
from simulator.faults.truth import Truth
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device, job
from telemetry.topology import Job, TopologyFact

# Faults of these kinds change nothing in the fabric but the traffic of their own jobs.
LOCAL = frozenset(
    {IncidentKind.GPU_FAULT, IncidentKind.STRAGGLER, IncidentKind.ENVIRONMENT, IncidentKind.TELEMETRY_LOST}
    | {IncidentKind.LATE_CHECKPOINT, IncidentKind.WEAR, IncidentKind.CAPACITY, IncidentKind.JOB_HANG}
    | {IncidentKind.TCP_FALLBACK}
)
# Pauses go back hop by hop to all senders of a paused link, also those that send elsewhere.
PAUSING = frozenset({IncidentKind.SLOW_RECEIVER, IncidentKind.INCAST, IncidentKind.PAUSE_LOOP})
OF_JOBS = frozenset({FindingKind.JOB_STALLED, FindingKind.JOB_SLOWED, FindingKind.JOB_IDLE}) | CHECKPOINTS
OF_PATHS = CONGESTED | {FindingKind.ECMP_IMBALANCE, FindingKind.DEVIATION}
# What something that depends on the root shows: it is gone, or waits.
OF_DEPENDENTS = OF_JOBS | AWAY | {FindingKind.BGP_SESSION, FindingKind.DEVIATION, FindingKind.STORAGE_SLOW}
# Faults that nothing shows while no job runs there, beside those of the older campaigns.
SILENT_WITHOUT_JOB = NEEDS_JOB | {"slow-storage-target", "rdma-over-sockets", "nccl-hang", "pfc-deadlock"}
SILENT_WITHOUT_JOB |= {"lossless-misconfigured"}
JOB_NS_MIN = 30 * NS_PER_S


@dataclass(frozen=True)
class Reach:
    """One fault in one cluster.

    traffic: of the time of the fault, with it and without it. jobs: facts of all jobs, ended ones included.
    harm: what it cost.
    """

    truth: Truth
    traffic: Traffic
    jobs: tuple[TopologyFact, ...]
    harm: Harm = field(default_factory=Harm)

    @property
    def graph(self) -> Graph:
        return self.traffic.graph

    @cached_property
    def own(self) -> frozenset[ObjectRef]:
        """The root with its ends and parts, and those of all other objects that may be named as well."""
        truths = (replace(self.truth, root=root) for root in self.roots)
        return frozenset().union(*(FaultImpact(truth, self.graph, self.jobs).own for truth in truths))

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        """Objects that an incident may name: the root first, then what is as right, such as every port of a cycle."""
        return (self.truth.root, *self.truth.roots)

    @cached_property
    def meanwhile(self) -> tuple[Job, ...]:
        """Jobs that ran while it lasted."""
        found = []
        for fact in self.jobs:
            entity = fact.entity
            if isinstance(entity, Job) and self._together_ns(fact, entity) > 0:
                found.append(entity)
        return tuple(found)

    def _together_ns(self, fact: TopologyFact, entity: Job) -> int:
        ends_ns = self.truth.end_ns or fact.observed_ns
        until_ns = min(fact.observed_ns, ends_ns) if fact.gone else ends_ns
        return until_ns - max(entity.started_ns, self.truth.start_ns)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """Hosts that it hits directly."""
        found = {ref.device for ref in self.own if ref.device and self.graph.is_edge(ref.device)}
        if self.truth.root.kind in (ObjectKind.LINK, ObjectKind.PORT) or self.graph.is_switch(self.truth.root.device):
            found = set()  # their cables, not the hosts themselves
        return frozenset(found | set(self.truth.reach))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Pairs of NICs whose bytes crossed the root, or would have without the fault."""
        if self.truth.expected in LOCAL:
            return ()
        mine = {ref for ref in self.own if ref.kind is ObjectKind.PORT}
        mine |= {nic for name in self._servers for nic in self.traffic.nics(name)}
        return self.traffic.crossing(frozenset(mine))

    @property
    def _servers(self) -> set[str]:
        server = self.graph.server_of(self.truth.root)
        return {server} if server else set()

    @cached_property
    def users(self) -> tuple[Job, ...]:
        """Jobs that use what is broken: on a host that it hits, or with bytes on a way that crosses the root; of a
        fault that pauses its senders also those that share a paused link between switches."""
        if self.truth.root.kind is ObjectKind.JOB:
            return tuple(each for each in self.meanwhile if each.job_id == self.truth.root.name)
        crossing = frozenset(self.pairs)
        fabric = {ref for ref in self._first if self._inside(ref)} if self.truth.expected in PAUSING else set()
        found = []
        for each in self.meanwhile:
            pairs = list(self.traffic.pairs(each))
            behind = not fabric.isdisjoint(self.traffic.union(pairs))
            if self.hosts & set(each.nodes) or not crossing.isdisjoint(pairs) or behind:
                found.append(each)
        return tuple(found)

    @cached_property
    def delayed(self) -> tuple[Job, ...]:
        """Jobs that lost time by it. Of those that began since on a host that it hits, it is not known."""
        began = [each for each in self.meanwhile if each.started_ns > self.truth.start_ns]
        new = {each.job_id for each in began if self.hosts & set(each.nodes)}
        return tuple(each for each in self.meanwhile if each.job_id in self.harm.jobs.keys() | new)

    def _inside(self, ref: ObjectRef) -> bool:
        """Whether a port is between two switches."""
        return self.graph.is_switch(ref.device) and not self.graph.faces_edge(ref)

    @cached_property
    def _first(self) -> frozenset[ObjectRef]:
        return self.traffic.union(self.pairs)

    @cached_property
    def places(self) -> frozenset[ObjectRef]:
        """Ports where it can cause pauses, marks, queues and drops: on the ways of the bytes that crossed it; one that
        pauses its senders also on those of the jobs that share a paused link between switches."""
        if self.truth.expected not in PAUSING:
            return self._first
        behind = (pair for each in self.users for pair in self.traffic.pairs(each))
        return self._first | self.traffic.union(behind)

    @cached_property
    def waiting(self) -> frozenset[ObjectRef]:
        """The jobs that it delayed, and the ports that carry their traffic; their hosts and those that it hits, and the
        GPUs of these."""
        hosts = sorted({host for each in self.delayed for host in each.nodes} | self.hosts)
        found = {job(each.job_id) for each in self.delayed} | {device(host) for host in hosts}
        found |= {ref for host in hosts for ref in self.graph.gpus_of(host)}
        return self.traffic.union(pair for each in self.delayed for pair in self.traffic.pairs(each)) | found

    @cached_property
    def dependents(self) -> frozenset[ObjectRef]:
        """What cannot work without the root; the switches beside one that is gone."""
        local = self.truth.expected in LOCAL
        found = set() if local else {ref for root in self.roots for ref in self.graph.reached(root)}
        if self.truth.root.kind is ObjectKind.STORAGE_TARGET:  # files are striped: clients of one use all others
            found |= self.graph.targets.keys()
        names = {ref.device for ref in self.own if self.graph.is_switch(ref.device)}
        ends = {name for ref in self.own for name in self.graph.ends(ref)}
        return frozenset(found | {device(name) for name in names | ends})

    @cached_property
    def visible(self) -> bool:
        """Whether anything can show it: what needs a job shows nothing where none runs for ``JOB_NS_MIN``."""
        if self.truth.fault not in SILENT_WITHOUT_JOB:
            return True
        users = {each.job_id for each in self.users}
        entities = ((fact, fact.entity) for fact in self.jobs)
        return any(
            self._together_ns(fact, entity) >= JOB_NS_MIN
            for fact, entity in entities
            if isinstance(entity, Job) and entity.job_id in users
        )

    def lasts(self, at_ns: int) -> bool:
        """Whether something that began then may be a consequence: one interval of averaging before, six of settling
        after."""
        return self.truth.start_ns - EARLY_NS <= at_ns <= (self.truth.end_ns or at_ns) + LATE_NS

    def explains(self, finding: Finding) -> bool:
        """Whether a finding can be a consequence, by time, place and kind."""
        about, kind = finding.object, finding.kind
        if not self.lasts(finding.onset_ns):
            return False
        if about in self.own:
            return True
        if kind in OF_JOBS:
            return about in self.waiting
        if kind in OF_PATHS and (about in self.places or self._carries(about)):
            return True
        if kind is FindingKind.DEVIATION and about in self.waiting:
            return True
        return kind in OF_DEPENDENTS and about in self.dependents

    def _carries(self, about: ObjectRef) -> bool:
        """Whether a whole switch has ports where the fault can cause congestion."""
        return about.kind is ObjectKind.DEVICE and any(port.device == about.name for port in self.places)

    def reaches(self, root: ObjectRef) -> bool:
        """Whether a page about this object can be due to the fault."""
        ends = set(self.graph.ports(root)) | {root}
        everything = (self.own, self.places, self.waiting, self.dependents)
        return self._carries(root) or any(not ends.isdisjoint(objects) for objects in everything)

    def is_kind(self, kind: IncidentKind, at_ns: int) -> bool:
        """Whether an incident of this kind was right at that moment: a device that reboots is down until it is back."""
        while_down = self.truth.expected is IncidentKind.DEVICE_REBOOTED and at_ns <= (self.truth.end_ns or at_ns)
        accepted = (self.truth.expected, *self.truth.accepted)
        return kind in accepted or (while_down and kind is IncidentKind.DEVICE_DOWN)

    def is_root(self, root: ObjectRef) -> bool:
        """Whether it is the cause; that of announced maintenance is any of its hosts."""
        if self.truth.planned:
            return root in {device(name) for name in self.truth.reach}
        return root in self.roots
