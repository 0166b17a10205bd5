"""The collectors of one Slurm cluster: its running jobs, and the states of its nodes."""

import asyncio
from collections.abc import Mapping, Sequence

from ingest.collectors.base import ClusterEvent
from ingest.collectors.job_list import changes, facts
from ingest.collectors.list_collector import ListCollector
from ingest.collectors.node_list import node_facts
from ingest.collectors.slurm.config import Config, NodesConfig
from ingest.collectors.slurm.jobs import parse_jobs
from ingest.collectors.slurm.nodes import parse_nodes
from ingest.collectors.slurm.source import Source
from telemetry.topology import Job, NodeState


class SlurmCollector(ListCollector):
    """Jobs that started, changed or ended since the last collection, as facts and as changes of the cluster."""

    what = "job"

    def __init__(self, config: Config) -> None:
        super().__init__(config.name, config.interval_s, Source(config).read)
        self._gpu_jobs_only = config.gpu_jobs_only
        self._jobs: Mapping[str, Job] | None = None

    async def _events(self, body: bytes, now_ns: int) -> Sequence[ClusterEvent]:
        found = await asyncio.to_thread(parse_jobs, body, gpu_jobs_only=self._gpu_jobs_only)
        self._report_malformed(found.malformed)
        events: list[ClusterEvent] = [*facts(self._jobs, found, now_ns, self.name), *changes(self._jobs, found, now_ns)]
        self._jobs = found.running
        return events


class SlurmNodesCollector(ListCollector):
    """Nodes that somebody took out of use, or put back, since the last collection; all of them at the start."""

    what = "node"

    def __init__(self, config: NodesConfig) -> None:
        super().__init__(config.name, config.interval_s, Source(config).read)
        self._nodes: Mapping[str, NodeState] | None = None

    async def _events(self, body: bytes, now_ns: int) -> Sequence[ClusterEvent]:
        found = await asyncio.to_thread(parse_nodes, body)
        self._report_malformed(found.malformed)
        events = node_facts(self._nodes, found.nodes, now_ns, self.name)
        self._nodes = found.nodes
        return events
