"""A collector of what a scheduler lists: its running jobs, the states of its nodes."""

import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import structlog

from common.errors import BadInput
from ingest.admission.line import Priority
from ingest.collectors.base import ClusterEvent, CollectorOutput
from ingest.collectors.command import NoAnswer, reason_of
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable

log = structlog.get_logger("ingest")


class ListCollector:
    """Reads one list of a scheduler; what it says since the last collection are events of the cluster.

    read: the document, within its own deadline; NoAnswer with the reason, TimeoutError or BadInput.
    """

    what = ""

    def __init__(self, name: str, interval_s: float, read: Callable[[], Awaitable[bytes]]) -> None:
        self._name, self._interval_s, self._read = name, interval_s, read
        self._table = SeriesTable(name, name, ())
        self._epoch_ns, self._seq = time.time_ns(), 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def interval_s(self) -> float:
        return self._interval_s

    @property
    def priority(self) -> Priority:
        return Priority.HIGH  # little work, and all else is understood by it

    async def collect(self, now_ns: int) -> CollectorOutput:
        """The events since the last collection, or a batch with the reason of a failure, which ends nothing."""
        began_s = time.monotonic()
        self._seq += 1
        try:
            return await self._events(await self._read(), now_ns)
        except (NoAnswer, TimeoutError, BadInput) as error:
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
