"""Hosts that go and come back."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from analytics.detectors.telemetry.gpu_memory import EVIDENCE as MEMORY
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Evidence, Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.objects import device, job
from telemetry.topology import Intent, Job, NodeState, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, TICK, Fabric, Run, S


class Hosts:
    """Hosts of a cluster that go and come back, as detectors see it: a tick of 5 s each."""

    def __init__(self, cluster: Fabric, run: Run, leaves: int = 8) -> None:
        self.cluster, self.run, self.leaves = cluster, run, leaves
        self.gone: dict[str, list[Finding]] = {}
        self.memory_bytes: float | None = None  # of their GPUs, where it is known

    def seconds(self) -> float:
        return (self.run.now_ns - T0) / S

    def step(self, off: Iterable[str] = (), on: Iterable[str] = ()) -> None:
        found: list[Finding] = []
        for name in off:
            self.gone[name] = [self.find(K.LINK_DOWN, port) for port in self.ports(name)]
            self.gone[name].append(self.silence(name))
            found += self.gone[name]
        for name in on:
            found += (
                replace(one, state=FindingState.CLEARED, observed_ns=self.run.now_ns) for one in self.gone.pop(name)
            )
        self.run.tick(*found)

    def find(self, kind: K, about: str) -> Finding:
        found = self.cluster.find(kind, about, self.seconds())
        return replace(found, id=f"{found.id}@{self.seconds()}")

    def silence(self, name: str) -> Finding:
        found = self.find(K.TARGET_SILENT, name)
        if self.memory_bytes is None:
            return found
        return replace(found, evidence=(*found.evidence, Evidence(MEMORY, self.memory_bytes, None, "bytes")))

    def ports(self, name: str) -> Sequence[str]:
        return [self.cluster.facing(leaf, int(name[4:])) for leaf in range(1, self.leaves + 1)]

    @property
    def paged(self) -> Sequence[str]:
        """What people were notified of: one entry for each page."""
        return self.run.pages

    def rest(self, seconds: float) -> None:
        for _ in range(int(seconds * S) // TICK):
            self.step()

    def end_job(self, job_id: str, nodes: Sequence[str]) -> None:
        """As Slurm reports it, now."""
        now_ns = self.run.now_ns
        fact = TopologyFact(Job(job_id, tuple(nodes), started_ns=T0 - 7200 * S), now_ns, "slurm", gone=True)
        self.run.topology = self.run.topology.with_facts([fact])
        ended = (job(job_id), *map(device, nodes))
        self.run.changes = [*self.run.changes, Change(f"end/{job_id}", ChangeKind.JOB_END, ended, now_ns)]

    def say(self, name: str, intent: Intent | None, reason: str = "") -> None:
        state = NodeState(name, "IDLE+DRAIN" if intent else "IDLE", intent or "", reason, "root", self.run.now_ns)
        self.run.topology = self.run.topology.with_facts([TopologyFact(state, self.run.now_ns, "slurm")])
