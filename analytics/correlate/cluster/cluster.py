"""The cluster as correlation needs it, rebuilt only where the topology changed."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from analytics.correlate.cause import Cause
from analytics.correlate.cluster.blast import blast_radius
from analytics.correlate.cluster.graph import Graph, physical
from analytics.correlate.cluster.jobs import Jobs, running
from analytics.correlate.cluster.nodes import Nodes, nodes_of
from analytics.correlate.cluster.reach import Reach, reach
from analytics.inference.entities import SOURCE
from telemetry.incidents import BlastRadius
from telemetry.objects import ObjectRef
from telemetry.refusals import Refusal, consistent, refused_facts
from telemetry.topology import Device, Topology

T = TypeVar("T")
CACHE_MAX = 10_000


class Cluster:
    """A cache over one Topology: nothing in it is state. Incidents stay for many ticks, so what they reach is kept.

    refused: what the topology says that cannot be, by the fact's key; the graph is built without it.
    """

    def __init__(self) -> None:
        self._topology: Topology | None = None
        self.refused: Mapping[str, Sequence[Refusal]] = {}
        self.graph = Graph({})
        self.jobs = Jobs({}, {}, self.graph)
        self.inferred = 0  # devices that nobody has recorded
        self.nodes = Nodes()
        self._reaches: dict[Hashable, Reach] = {}
        self._blasts: dict[Hashable, BlastRadius] = {}
        self._of_graph: dict[Callable[[Graph], Any], Any] = {}
        self._of_objects: dict[Hashable, Any] = {}

    def update(self, topology: Topology) -> None:
        """Topology that repeats what is known costs a comparison; a change of jobs alone does not rebuild the graph."""
        if topology is self._topology:
            return
        self._topology = topology
        self.refused = refused_facts(topology)
        entities = consistent(physical(topology), self.refused)
        rewired = entities != self.graph.entities
        if rewired:
            self.graph = self.graph.changed_to(entities)
            self._of_graph.clear()
            self.inferred = sum(fact.source == SOURCE for _, fact in topology.present(Device))
        self.nodes = nodes_of(topology)
        present, ended = running(topology)
        if rewired or present != self.jobs.running or ended != self.jobs.ended:
            self.jobs = Jobs(present, ended, self.graph)
            self._reaches.clear()
            self._blasts.clear()
            self._of_objects.clear()

    def once(self, compute: Callable[[Graph], T]) -> T:
        """What a function makes of the graph, kept until the graph is another one."""
        if compute not in self._of_graph:
            self._of_graph[compute] = compute(self.graph)
        found: T = self._of_graph[compute]
        return found

    def of(self, compute: Callable[["Cluster", ObjectRef], T], ref: ObjectRef) -> T:
        """What a function makes of an object, kept until the graph or the jobs are other ones."""
        key = compute, ref.kind, ref.name
        if key not in self._of_objects:
            _make_room(self._of_objects)
            self._of_objects[key] = compute(self, ref)
        found: T = self._of_objects[key]
        return found

    def reach(self, cause: Cause) -> Reach:
        """What a cause can disturb."""
        known = self._reaches.get(cause.reaching)
        if known is None:
            _make_room(self._reaches)
            known = self._reaches[cause.reaching] = reach(cause, self.graph, self.jobs)
        return known

    def cut_off(self, cause: Cause) -> frozenset[str]:
        """Jobs that stop as the cause takes a path away; none where it takes none, or leaves another one."""
        return self.reach(cause).cut_off if cause.takes_paths else frozenset()

    def blast_radius(self, cause: Cause, waiting_jobs: frozenset[str]) -> BlastRadius:
        """What an incident with this cause touches; see ``blast.py``."""
        key = (cause.key, waiting_jobs, cause.takes_paths, cause.gone, cause.links, cause.part)
        known = self._blasts.get(key)
        if known is None:
            _make_room(self._blasts)
            reached, concerned = self.reach(cause).depends, waiting_jobs | self.cut_off(cause)
            known = self._blasts[key] = blast_radius(cause, reached, concerned, self.graph, self.jobs)
        return known


def _make_room(cache: dict[Hashable, Any]) -> None:
    if len(cache) >= CACHE_MAX:
        cache.clear()
