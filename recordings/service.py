"""The recorder as a stage: the bus into a recording."""

import asyncio
import time

import structlog

from bus.base import Bus, Gap, Offsets, Record
from bus.lag import Lag
from bus.owner.fence import STALE_OWNER, OwnerFence
from bus.quarantine.quarantine import Quarantine
from common.errors import BadInput
from common.folder_lock import FolderLock
from common.tasks import cancel, first_failure
from common.threads import OneThread
from recordings.config import RecordingConfig
from recordings.format import RecordedBatch
from recordings.manifest import Manifest, read_manifest
from recordings.metrics import CORRUPT, DROPPED, GAPS, RECEIVED, SAMPLES
from recordings.writer import RecordingWriter
from telemetry import topics
from telemetry.codec.batch import BatchDecoder

log = structlog.get_logger()

_LAG_EVERY_S = 5.0
TOPICS = (topics.SAMPLES, topics.TOPOLOGY, topics.CHANGES)
_KIND_OF = {topics.TOPOLOGY.name: "topology", topics.CHANGES.name: "change"}


class RecorderService:
    """Records until stopped; everything consumed is on the disk when ``stop`` returns. One process at a time a folder.

    new: the manifest of a new recording; ``new.offsets`` is where it starts to consume.
    """

    def __init__(self, config: RecordingConfig, bus: Bus, new: Manifest) -> None:
        self._config = config
        self._bus = bus
        self._new = new
        self._quarantine = Quarantine(config.path / "crashes.json", bus)
        self._decoder = BatchDecoder()
        self._writer: RecordingWriter | None = None
        self._disk: OneThread | None = None
        self._offsets: Offsets = {}
        self._fence = OwnerFence()
        self._gaps: tuple[str, ...] = ()
        self._lock = FolderLock(config.path / "lock", "recording.path")
        self._task: asyncio.Task[None] | None = None
        self._opened_s = 0.0

    async def start(self) -> None:
        """Continues an existing recording.

        ConfigError when another process writes it, BadInput when its manifest cannot be read.
        """
        self._lock.acquire()
        try:
            known = (self._config.path / "manifest.json").exists()
            manifest = await asyncio.to_thread(read_manifest, self._config.path) if known else self._new
        except BaseException:
            self._lock.release()
            raise
        self._offsets = {_topic_partition(name): offset for name, offset in manifest.offsets.items()}
        self._gaps = manifest.gaps
        self._writer = RecordingWriter(self._config.path, manifest)
        self._disk = OneThread("recorder-disk")
        self._quarantine.start()
        self._task = asyncio.create_task(self._consume(self._writer))

    async def wait(self) -> None:
        """For ever, or until recording ends by itself: then its error is raised."""
        assert self._task is not None, "start the service first"
        await first_failure([self._task])

    async def stop(self) -> None:
        """Writes the open slice; idempotent."""
        if self._task is None:
            return
        await cancel([self._task])
        self._task = None
        assert self._writer is not None
        assert self._disk is not None
        try:
            await self._close_slice(self._writer)
        finally:
            self._disk.stop()
            self._lock.release()
            self._quarantine.stop()

    @property
    def samples_recorded(self) -> int:
        """On the disk."""
        return sum(part.samples for part in self._writer.manifest.slices) if self._writer else 0

    async def _consume(self, writer: RecordingWriter) -> None:
        reader = self._quarantine.guard(self._bus.consume(TOPICS, dict(self._offsets)))
        lag, measured_s = Lag("recorder"), 0.0
        self._opened_s = time.monotonic()
        try:
            while True:
                if time.monotonic() - measured_s >= _LAG_EVERY_S:
                    measured_s = time.monotonic()
                    await lag.measure(reader)
                try:
                    records = await reader.poll(wait_s=0.5)
                except Gap as gap:
                    GAPS.inc()
                    self._fence.forget((gap.topic, gap.partition))
                    self._gaps = (*self._gaps, str(gap))
                    continue
                with self._quarantine.working_on(records):
                    for record in records:
                        self._add(writer, record)
                if self._slice_is_full(writer):
                    await self._close_slice(writer)
        finally:
            await reader.stop()

    def _add(self, writer: RecordingWriter, record: Record) -> None:
        self._offsets[record.topic, record.partition] = record.offset + 1
        RECEIVED.labels(record.topic).inc()
        if not self._fence.admits(record):  # as analytics, so that a replay finds what it found
            DROPPED.labels(STALE_OWNER).inc()
            return
        if record.value is None:
            return
        if record.topic != topics.SAMPLES.name:
            writer.add_record(_KIND_OF[record.topic], record.value)
            return
        try:
            batch = self._decoder.decode(record.value, record.headers)
            writer.add_batch(RecordedBatch(record.partition, record.appended_ns, batch))
        except BadInput as error:  # the analytics stage sends it to the dead letters
            CORRUPT.labels(record.topic, error.reason).inc()
            position = {"partition": record.partition, "offset": record.offset}
            log.warning("corrupt record skipped", reason=error.reason, error=str(error), **position)

    def _slice_is_full(self, writer: RecordingWriter) -> bool:
        too_old = time.monotonic() - self._opened_s >= self._config.slice_s
        return too_old or writer.samples_held >= self._config.slice_samples_max

    async def _close_slice(self, writer: RecordingWriter) -> None:
        offsets = {f"{topic}/{partition}": offset for (topic, partition), offset in self._offsets.items()}
        assert self._disk is not None, "start the service first"
        samples = writer.samples_held
        # one thread: ``stop`` may come while a slice is being written, and its own must wait for that
        await self._disk(writer.close_slice, offsets, self._gaps)
        SAMPLES.inc(samples)
        self._opened_s = time.monotonic()


def _topic_partition(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("/")
    return topic, int(partition)
