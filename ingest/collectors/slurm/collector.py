"""The collectors of one Slurm cluster: its running jobs, and the states of its nodes."""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import structlog

from common.errors import BadInput
from ingest.admission.line import Priority
from ingest.collectors.base import ClusterEvent, CollectorOutput
from ingest.collectors.slurm.config import Config, NodesConfig, SourceConfig
from ingest.collectors.slurm.jobs import changes, facts, parse_jobs
from ingest.collectors.slurm.nodes import node_facts, parse_nodes
from ingest.collectors.slurm.source import NoList, Source, reason_of
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import Job, NodeState

log = structlog.get_logger("ingest")


class _ListCollector:
    """Reads one list of Slurm; what it says since the last collection are events of the cluster."""

    what = ""

    def __init__(self, config: SourceConfig) -> None:
        self._config, self._source = config, Source(config)
        self._table = SeriesTable(config.name, config.name, ())
        self._epoch_ns, self._seq = time.time_ns(), 0

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def priority(self) -> Priority:
        return Priority.HIGH  # little work, and all else is understood by it

    async def collect(self, now_ns: int) -> CollectorOutput:
        """The events since the last collection, or a batch with the reason of a failure, which ends nothing."""
        began_s = time.monotonic()
        self._seq += 1
        try:
            return await self._events(await self._source.read(), now_ns)
        except (NoList, TimeoutError, BadInput) as error:
            reason = reason_of(error)
            log.warning(f"{self.what} list not collected", target=self.name, reason=str(reason), error=str(error)[:200])
            collection = Collection(self._epoch_ns, self._seq - 1, now_ns, time.monotonic() - began_s, reason)
            none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
            return SampleBatch(self._table, collection, *none)

    async def stop(self) -> None:
        """Nothing is open between collections."""

    @abstractmethod
    async def _events(self, body: bytes, now_ns: int) -> Sequence[ClusterEvent]:
        """What a list says that the one before did not; BadInput where it is none."""

    def _report_malformed(self, entries: int) -> None:
        if entries:
            log.warning(f"{self.what} list has malformed entries", target=self.name, entries=entries)


class SlurmCollector(_ListCollector):
    """Jobs that started, changed or ended since the last collection, as facts and as changes of the cluster."""

    what = "job"

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._gpu_jobs_only = config.gpu_jobs_only
        self._jobs: Mapping[str, Job] | None = None

    async def _events(self, body: bytes, now_ns: int) -> Sequence[ClusterEvent]:
        found = await asyncio.to_thread(parse_jobs, body, gpu_jobs_only=self._gpu_jobs_only)
        self._report_malformed(found.malformed)
        events: list[ClusterEvent] = [*facts(self._jobs, found, now_ns, self.name), *changes(self._jobs, found, now_ns)]
        self._jobs = found.running
        return events


class SlurmNodesCollector(_ListCollector):
    """Nodes that somebody took out of use, or put back, since the last collection; all of them at the start."""

    what = "node"

    def __init__(self, config: NodesConfig) -> None:
        super().__init__(config)
        self._nodes: Mapping[str, NodeState] | None = None

    async def _events(self, body: bytes, now_ns: int) -> Sequence[ClusterEvent]:
        found = await asyncio.to_thread(parse_nodes, body)
        self._report_malformed(found.malformed)
        events = node_facts(self._nodes, found.nodes, now_ns, self.name)
        self._nodes = found.nodes
        return events
