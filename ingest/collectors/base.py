"""What a collector is: it is polled, it streams, or it discovers targets that are polled.

``ingest/registry.py`` builds them, ``ingest/service.py`` runs them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from ingest.admission.device_pace import DevicePace
from ingest.admission.line import Priority
from ingest.admission.page_bytes import PageBytes
from ingest.collectors.guid_names import GuidNames
from ingest.ledger import Ledger
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

    @property
    def priority(self) -> Priority:
        """Who is collected first when not all can be."""
        ...

    async def collect(self, now_ns: int) -> CollectorOutput:
        """One collection that began at ``now_ns``, within the collector's own deadline.

        A target that fails gives a batch without samples that holds the reason (``DownReason``); it raises no error
        but OutOfDescriptors and DeviceBusy: then nothing was requested.
        """
        ...

    async def stop(self) -> None:
        """Closes what is open; idempotent, bounded in time."""
        ...


@runtime_checkable
class MapsNames(Protocol):
    """A collector of names that the catalogue may not know."""

    @property
    def unmapped(self) -> Collection[str]:
        """Names that it was sent and that nothing maps, a bounded number of them."""
        ...


@dataclass(frozen=True, slots=True)
class SourceSeries:
    """One series as its source names it, and what becomes of it.

    canonical: the series of the catalogue that it feeds. reason: why there are none, in words; '' where there are.
    left_out: that is on purpose.
    """

    name: str
    canonical: tuple[str, ...] = ()
    reason: str = ""
    left_out: bool = False


@runtime_checkable
class ShowsMapping(Protocol):
    """A collector that can say what it makes of each series of its target."""

    def source_series(self) -> Iterable[SourceSeries]:
        """Those that it was sent so far, in the source's order. Slow: for one target that somebody looks at."""
        ...


class StreamCollector(Protocol):
    """One target that sends by itself."""

    @property
    def name(self) -> str: ...

    async def run(self, emit: Emit) -> None:
        """Collects until cancelled: reconnects by itself, and emits a batch with ``down`` each interval meanwhile."""
        ...


class TargetChanges(NamedTuple):
    """Since the last refresh. A target whose labels or address changed is removed and added.

    targets: name and device of all; None while a source has not been read yet, so that nobody knows which are missing.
    """

    removed: Sequence[str]
    added: Sequence[PollCollector]
    targets: tuple[tuple[str, str], ...] | None


class DiscoveryJob(Protocol):
    """Polled targets that come and go."""

    @property
    def name(self) -> str:
        """Of the job in the settings."""
        ...

    @property
    def refresh_s(self) -> float | None:
        """How often to refresh; None when the targets never change."""
        ...

    async def refresh(self) -> TargetChanges: ...


@dataclass(frozen=True, slots=True)
class Collectors:
    """The collectors of one section of the settings. fixed: name and device of the streaming targets, by job."""

    polled: Sequence[PollCollector] = ()
    streaming: Sequence[StreamCollector] = ()
    discovering: Sequence[DiscoveryJob] = ()
    fixed: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CollectorContext:
    """What all collectors of a process share.

    workers: threads for decoding; not the event loop's own, which resolve names and can all hang.
    pages: those that wait for these threads.
    pace: of the requests to one device.
    guid_names: of devices that some sources know by GUID alone.
    is_full: whether who pushes to us should wait, as little room is left before the bus.
    """

    ledger: Ledger
    clock: Clock
    workers: Executor
    pages: PageBytes = field(default_factory=PageBytes)
    is_full: Callable[[], bool] = lambda: False
    pace: DevicePace = field(default_factory=DevicePace)
    guid_names: GuidNames = field(default_factory=GuidNames)
