"""How the telemetry of the servers is collected: the draws of every target, the same that a campaign makes."""

from simulator.collection.config import CollectionConfig
from simulator.collection.draws import Draws, TargetDraws
from simulator.collection.groups import SeriesGroup
from simulator.config import SimulatorConfig
from simulator.layout import Endpoint, Exporter, Layout
from simulator.servers.addresses import served_endpoints


class CollectionPlan:
    """A function of its arguments. What it draws is that of ``campaign`` with ``collection_seed`` = the cluster's seed.

    job_interval_s: between two polls of Slurm. job_losses: of these polls, None when nothing is lost.
    """

    def __init__(self, config: CollectionConfig, cluster: SimulatorConfig, layout: Layout, start_ns: int) -> None:
        self.config, self.cluster, self.start_ns = config, cluster, start_ns
        self.draws = Draws(config, cluster.seed, cluster.interval_s, start_ns)
        self._targets: dict[tuple[Exporter, str], TargetDraws] = {
            (endpoint.exporter, endpoint.device): self.draws.target(endpoint)
            for endpoint in served_endpoints(layout, 0)
            if endpoint.exporter is not Exporter.SLURM
        }
        polled_s, _ = self.draws.job_polls()
        self.job_interval_s = polled_s or cluster.interval_s
        self.job_losses = self.draws.job_losses()

    def target(self, endpoint: Endpoint) -> TargetDraws:
        """By exporter and device, whatever the offset of its address is."""
        return self._targets[endpoint.exporter, endpoint.device]

    def interval_s(self, endpoint: Endpoint, group: SeriesGroup) -> float:
        return self.target(endpoint).times[group].interval_s

    @property
    def shortest_s(self) -> float:
        """The shortest interval of any group of any target."""
        return min(times.interval_s for target in self._targets.values() for times in target.times.values())
