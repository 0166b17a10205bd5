"""What collectors have emitted and nobody has taken yet: bounded, in memory, the oldest is dropped first."""

from collections import deque
from collections.abc import Sequence

from ingest.collectors.base import ClusterEvent, CollectorOutput
from ingest.config import PublishConfig
from ingest.ledger import DropReason, Ledger
from ingest.metrics import BATCHES_DROPPED, RECORDS_DROPPED
from ingest.outgoing import key_of
from telemetry.samples import SampleBatch


class OutputQueue:
    """The queue before the publisher. samples: that wait in it."""

    def __init__(self, config: PublishConfig, ledger: Ledger) -> None:
        self._config, self._ledger = config, ledger
        self._batches: deque[SampleBatch] = deque()
        self._events: dict[str, ClusterEvent] = {}
        self.samples = 0

    def __bool__(self) -> bool:
        return bool(self._batches or self._events)

    @property
    def fullness(self) -> float:
        """1 when it drops the oldest for the next batch."""
        config = self._config
        return max(self.samples / config.queue_samples_max, len(self._batches) / config.queue_batches_max)

    def put(self, output: CollectorOutput) -> None:
        """Adds it; a full queue drops its oldest batches or events."""
        if isinstance(output, SampleBatch):
            self._batches.append(output)
            self.samples += len(output)
            self._ledger.queued(len(output), output.table.target)
            config = self._config
            while len(self._batches) > config.queue_batches_max or self.samples > config.queue_samples_max:
                self._drop_oldest()
        else:
            self._put_events(output)

    def take_events(self, count_max: int) -> list[ClusterEvent]:
        """The oldest facts and changes."""
        return [self._events.pop(key) for key in list(self._events)[:count_max]]

    def take_batches(self, count_max: int) -> list[SampleBatch]:
        """The oldest batches."""
        taken = [self._batches.popleft() for _ in range(min(count_max, len(self._batches)))]
        self.samples -= sum(map(len, taken))
        return taken

    def _drop_oldest(self) -> None:
        oldest = self._batches.popleft()
        self.samples -= len(oldest)
        self._ledger.dropped(DropReason.QUEUE_FULL, len(oldest), oldest.table.target, queued=True)
        BATCHES_DROPPED.inc()

    def _put_events(self, events: Sequence[ClusterEvent]) -> None:
        """Only the newest fact of a key matters, so a newer one replaces one that still waits."""
        for event in events:
            key = key_of(event)
            self._events.pop(key, None)
            self._events[key] = event
            if len(self._events) > self._config.queue_events_max:
                del self._events[next(iter(self._events))]
                RECORDS_DROPPED.labels(reason=DropReason.QUEUE_FULL).inc()
