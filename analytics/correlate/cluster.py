"""The cluster as correlation needs it, rebuilt only where the topology changed."""

from analytics.correlate import cost
from analytics.correlate.causes.cause import Reach
from analytics.correlate.graph import Graph, physical
from analytics.correlate.jobs import Jobs, running
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView, ReachKey
from telemetry.incidents import BlastRadius, IncidentKind
from telemetry.objects import ObjectRef
from telemetry.topology import Topology

CACHE_MAX = 10_000


class Cluster:
    """A cache over one Topology: nothing in it is state."""

    def __init__(self) -> None:
        self._topology: Topology | None = None
        self.graph = Graph({})
        self.jobs = Jobs({}, frozenset(), self.graph)
        self._reaches: dict[ReachKey, Reach] = {}
        self._blasts: dict[tuple[ObjectRef, frozenset[str], frozenset[str]], BlastRadius] = {}

    def update(self, topology: Topology) -> None:
        """Facts that only say again what is known cost a comparison; jobs alone do not rebuild the graph."""
        if topology is self._topology:
            return
        self._topology = topology
        entities = physical(topology)
        moved = entities != self.graph.entities
        if moved:
            self.graph = Graph(entities)
        present, ended = running(topology)
        if moved or present != self.jobs.running or ended != self.jobs.ended:
            self.jobs = Jobs(present, ended, self.graph)
            self._blasts.clear()
            self._reaches.clear()

    @property
    def reaches(self) -> dict[ReachKey, Reach]:
        """Cache for ``reach.py``, bounded."""
        if len(self._reaches) > CACHE_MAX:
            self._reaches.clear()
        return self._reaches

    def blast(self, view: CorrelationView, track: Track) -> BlastRadius:
        """What an incident touches, remembered until the topology or the jobs change."""
        if track.cause.kind is IncidentKind.TELEMETRY_LOST:  # nothing is known to suffer
            return BlastRadius(nodes=(track.cause.root.name,) if self.graph.is_edge(track.cause.root.name) else ())
        further = track.cause.devices if track.cause.change else frozenset[str]()
        key = (track.cause.root, frozenset(track.job_impact), further)
        if key not in self._blasts:
            if len(self._blasts) >= CACHE_MAX:
                self._blasts.clear()
            self._blasts[key] = cost.blast(view, *key)
        return self._blasts[key]
