"""A small cluster by hand: 8 hosts of 8 rails, 8 leaves, 4 spines, 2 storage servers with 4 targets, 2 jobs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from evaluation.families.paging import Pager
from telemetry.changes import Change
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.incidents import Incident, IncidentKind
from telemetry.objects import ObjectRef, device, gpu, parse_object
from telemetry.topology import Device, Entity, Gpu, Job, Link, Mount, Role, StorageTarget, Topology, TopologyFact

S = 1_000_000_000
T0 = 1_800_000_000 * S
TICK = 5 * S


def entities(hosts: int = 8, rails: int = 8, spines: int = 4, hosts_per_rack: int = 4) -> Iterable[Entity]:
    for s in range(1, spines + 1):
        yield Device(f"spine{s}", Role.SPINE, pod="pod1")
    for rail in range(rails):
        yield Device(f"leaf{rail + 1}", Role.LEAF, pod="pod1", rail=str(rail))
        for s in range(1, spines + 1):
            yield Link(f"leaf{rail + 1}", f"Ethernet{4 * (999 + s)}", f"spine{s}", f"Ethernet{4 * rail}")
    for h in range(1, hosts + 1):
        yield Device(f"node{h}", Role.HOST, pod="pod1", rack=f"r{(h - 1) // hosts_per_rack + 1}")
        yield Mount(f"node{h}", "scratch")
        for rail in range(rails):
            yield Gpu(f"node{h}", f"GPU-{h:04d}-{rail}", rail, nic_port=f"mlx5_{rail}")
            yield Link(f"leaf{rail + 1}", f"Ethernet{4 * (h - 1)}", f"node{h}", f"mlx5_{rail}")
    for o in (1, 2):
        yield Device(f"oss{o}", Role.STORAGE, pod="pod1", rack="r9")
        yield Link(f"leaf{o}", "Ethernet7000", f"oss{o}", "mlx5_0")
        for t in (0, 1):
            yield StorageTarget("scratch", f"OST{2 * (o - 1) + t:04d}", f"oss{o}")


def facts(of: Iterable[Entity]) -> list[TopologyFact]:
    return [TopologyFact(entity, T0, "inventory") for entity in of]


class Fabric:
    """The topology, and short ways to make findings about it. Times are in seconds after T0."""

    def __init__(self, more: Iterable[Entity] = ()) -> None:
        half = (tuple(f"node{h}" for h in range(1, 5)), tuple(f"node{h}" for h in range(5, 9)))
        jobs = [Job("1", half[0], started_ns=T0 - 7200 * S), Job("2", half[1], started_ns=T0 - 7200 * S)]
        # Final: most tests share one fabric.
        self.topology: Final = Topology().with_facts(facts([*entities(), *jobs, *more]))

    def uplink(self, leaf: int, spine: int) -> str:
        return f"leaf{leaf}/Ethernet{4 * (999 + spine)}"

    def downlink(self, spine: int, leaf: int) -> str:
        return f"spine{spine}/Ethernet{4 * (leaf - 1)}"

    def facing(self, leaf: int, node: int) -> str:
        return f"leaf{leaf}/Ethernet{4 * (node - 1)}"

    def gpu(self, node: int, index: int) -> ObjectRef:
        return gpu(f"node{node}", f"GPU-{node:04d}-{index}")

    def find(
        self, kind: FindingKind, about: str | ObjectRef, at: float = 0.0, score: float = 2.0, priority: str = "3"
    ) -> Finding:
        """An active finding; ``about`` without a kind is a device, with a slash a port."""
        ref = about if isinstance(about, ObjectRef) else self.ref(about)
        series = f'{kind}{{device="{ref.device}",priority="{priority}"}}' if "pause" in kind else f"{kind}{{}}"
        onset = T0 + int(at * S)
        evidence = (Evidence(series, 0.9, 0.1, "ratio"),)
        return Finding(f"{kind}@{ref}", kind, ref, "test", FindingState.ACTIVE, onset, onset, score, 0.9, evidence)

    def ref(self, name: str) -> ObjectRef:
        if ":" in name:
            return parse_object(name)
        return parse_object(f"port:{name}") if "/" in name else device(name)


class Run:
    """A correlator fed tick by tick; keeps the newest version of every incident.

    pager: what people are notified of, as the alerts stage decides it. read_every_s: see ``CorrelationView``.
    """

    def __init__(self, cluster: Fabric, config: CorrelateConfig | None = None) -> None:
        self.cluster = cluster
        self.topology = cluster.topology
        self.changes: list[Change] = []
        self.read_every_s: Mapping[str, float] = {}
        self.correlator = Correlator(config)
        self.now_ns = T0
        self.incidents: dict[str, Incident] = {}
        self.pager = Pager()

    def tick(self, *changed: Finding, ticks: int = 1) -> list[Incident]:
        """One step with findings, then quiet ones, and what people are notified of; what the last step published."""
        published: list[Incident] = []
        for at in range(ticks):
            published = self.step(*changed if at == 0 else ())
            self.pager.step(published, self.now_ns)
        return published

    def step(self, *changed: Finding) -> list[Incident]:
        """Correlation alone."""
        self.now_ns += TICK
        explains = self.topology, self.changes, (), self.read_every_s
        published = self.correlator.step(self.now_ns, changed, *explains)
        self.incidents |= {incident.id: incident for incident in published}
        return published

    def clear(self, *findings: Finding) -> list[Incident]:
        return self.tick(*(replace(f, state=FindingState.CLEARED, observed_ns=self.now_ns) for f in findings))

    @property
    def only(self) -> Incident:
        assert len(self.incidents) == 1, [f"{i.state} {i.title}" for i in self.incidents.values()]
        return next(iter(self.incidents.values()))

    def of_kind(self, kind: IncidentKind) -> Incident:
        """The only one of this kind."""
        (found,) = [incident for incident in self.incidents.values() if incident.kind is kind]
        return found

    def about(self, root: str) -> Incident:
        """The only one with this root."""
        (found,) = [incident for incident in self.incidents.values() if incident.root.name == root]
        return found

    @property
    def pages(self) -> Sequence[str]:
        """Kind and root of each page, as it was sent."""
        return [f"{page.incident.kind} {page.incident.root.name}" for page in self.pager.pages]

    @property
    def roots(self) -> Sequence[str]:
        return sorted(f"{incident.kind} {incident.root.name}" for incident in self.incidents.values())
