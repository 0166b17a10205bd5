"""The two kinds of collector: one is polled, the other streams. ``ingest/registry.py`` builds them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from telemetry.changes import Change
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact

Clock = Callable[[], int]
"""Nanoseconds since the Unix epoch: the event time of what has none from its source."""

ClusterEvent = TopologyFact | Change
"""The state of one part of the cluster, or a change that somebody made to it."""

CollectorOutput = SampleBatch | Sequence[ClusterEvent]
"""The samples of one collection, or events of the cluster."""

Emit = Callable[[CollectorOutput], None]
"""Puts a collector's output into the bounded queue before the bus. Never waits: a full queue drops its oldest batch,
counted in the ledger. The caller has counted the batch's samples as ``received`` in the ledger before."""


class PollCollector(Protocol):
    """One target that is collected every interval."""

    @property
    def name(self) -> str:
        """The target's name, unique in the cluster: ``job/address``."""
        ...

    @property
    def interval_s(self) -> float: ...

    async def collect(self, now_ns: int) -> CollectorOutput:
        """One collection that began at ``now_ns``, within the collector's own deadline.

        A target that fails gives a batch without samples that holds the reason (``DownReason``); it raises no error.
        """
        ...

    async def stop(self) -> None:
        """Closes what is open; idempotent, bounded in time."""
        ...


class StreamCollector(Protocol):
    """One target that sends by itself."""

    @property
    def name(self) -> str: ...

    async def run(self, emit: Emit) -> None:
        """Collects until cancelled: reconnects by itself, and emits a batch with ``down`` each interval meanwhile."""
        ...
