"""What every collector is: something that is polled, or something that streams. ``ingest/service.py`` composes them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from telemetry.changes import Change
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact

Clock = Callable[[], int]
"""Nanoseconds since the Unix epoch: where event time comes from when the source sends none."""

News = TopologyFact | Change
"""How the cluster is now, or what somebody did to it."""

Emission = SampleBatch | Sequence[News]
"""What a collector brings: the samples of one collection, or news of the cluster."""

Emit = Callable[[Emission], None]
"""Takes an emission into the bounded queue before the bus. Never waits: when the queue is full the oldest batch goes,
counted in the ledger. The caller has counted the batch's samples as ``received`` in the ledger before."""


class PollCollector(Protocol):
    """One target that is asked for its state every interval."""

    @property
    def name(self) -> str:
        """The target's name, unique in the cluster: ``job/address``."""
        ...

    @property
    def interval_s(self) -> float: ...

    async def collect(self, now_ns: int) -> Emission:
        """One collection that began at ``now_ns``, within the collector's own deadline.

        A target that fails gives a batch of no samples that says why (``Down``); errors are not raised for it.
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


Collector = PollCollector | StreamCollector
