"""What one device sends, dialled or dialling: messages in, batches of samples and facts about links and modules out."""

import asyncio
import time
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Protocol

import numpy as np

from ingest.collectors.base import Clock, Emit
from ingest.collectors.gnmi import metrics
from ingest.collectors.gnmi.config import LimitsConfig
from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.unmapped import UnmappedPaths
from ingest.collectors.gnmi.transceivers import TransceiverTable
from ingest.collectors.quota import Quota
from ingest.ledger import DropReason, Ledger
from ingest.transport.grpc_messages import CallEnded
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, parse_series_key

THREAD_BYTES = 64 * 1024  # decoding more than this would block the event loop for milliseconds
_BATCH_ROWS = 100_000  # about 1 MB on the bus, whose messages hold 4
_SPEED = "fabric_port_speed_bits_per_second{"


class DeviceJob(Protocol):
    """Of the job's settings."""

    @property
    def job_name(self) -> str: ...
    @property
    def limits(self) -> LimitsConfig: ...
    @property
    def gather_quiet_s(self) -> float: ...
    @property
    def gather_max_s(self) -> float: ...


class MessageDecoder(Protocol):
    """State of one device. refused: paths and series above its limits."""

    @property
    def table(self) -> SeriesTable: ...
    @property
    def refused(self) -> int: ...
    @property
    def unmapped(self) -> UnmappedPaths: ...
    def decode(self, messages: Sequence[bytes], now_ns: int) -> Decoded:
        """Messages in the order of their arrival."""
        ...


class DeviceUpdates:
    """The messages of one device. name: of the target; device: of its series.

    links: shared by all devices of the process, so that both ends of a link are one link.
    """

    def __init__(
        self,
        job: DeviceJob,
        name: str,
        device: str,
        decoder: MessageDecoder,
        ledger: Ledger,
        links: LinkTable,
        clock: Clock,
    ) -> None:
        self._job, self._name, self._device = job, name, device
        self._ledger, self._links, self._clock = ledger, links, clock
        self._transceivers = TransceiverTable(device)
        self._decoder = decoder
        self._bytes = Quota(job.limits.bytes_per_s)
        self._updates = Quota(job.limits.updates_per_s)
        self._messages = Quota(job.limits.messages_per_s)
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._arrived, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()
        self._epoch_ns, self._seq = clock(), 0
        self._speed_table: SeriesTable | None = None
        self._speed_ports: dict[int, str] = {}
        self._is_speed = np.zeros(0, bool)
        # Looked up once: that costs more than to count.
        self._messages_received = metrics.MESSAGES_RECEIVED.labels(job.job_name)
        self._received_bytes = metrics.RECEIVED_BYTES.labels(job.job_name)
        self._updates_received = metrics.UPDATES_RECEIVED.labels(job.job_name)
        self._paths_refused = metrics.PATHS_REFUSED.labels(name)

    @property
    def unmapped(self) -> Set[str]:
        """Paths that the device sent and that nothing maps."""
        return self._decoder.unmapped.names

    async def deliver(self, messages: Sequence[bytes]) -> None:
        """Queues them in their order, without those above the quota. CallEnded when there are too many of them.

        Each costs time however short it is, so to drop them is not enough.
        """
        now_ns = self._clock()
        allowed = self._messages.admit(len(messages), now_ns)
        self._queue(messages[:allowed], now_ns)
        self._arrived.set()
        if allowed < len(messages):
            metrics.MESSAGES_DROPPED.labels(self._job.job_name, "quota").inc(len(messages) - allowed)
            most = f"{self._job.limits.messages_per_s:g} messages a second"
            raise CallEnded(DownReason.TOO_LARGE, f"more than {most} (limits.messages_per_s)")
        if self._pending_bytes > 2 * self._job.limits.message_bytes_max:
            self._room.clear()
            await self._room.wait()

    def _queue(self, messages: Sequence[bytes], now_ns: int) -> None:
        size = sum(map(len, messages))
        if self._bytes.admit_all(size, now_ns):
            self._pending += messages
            self._pending_bytes += size
            return
        for message in messages:
            if self._bytes.admit(len(message), now_ns) < len(message):
                metrics.MESSAGES_DROPPED.labels(self._job.job_name, "quota").inc()
                continue
            self._pending.append(message)
            self._pending_bytes += len(message)

    async def run(self, emit: Emit) -> None:
        """Decodes until cancelled. Updates that come together become one batch, since each carries its whole table.

        A window that is small for this target stays open for the whole ``gather_max_s``: subscriptions answer one
        after the other.
        """
        usual = 0.0
        while True:
            await self._arrived.wait()
            began_ns, began_s = self._clock(), time.monotonic()
            known = 0
            while (known < len(self._pending) or self._pending_bytes < usual / 4) and self._room.is_set():
                if time.monotonic() - began_s >= self._job.gather_max_s:
                    break
                known = len(self._pending)
                await asyncio.sleep(self._job.gather_quiet_s)
            usual = max(0.9 * usual, self._pending_bytes)
            messages, size = self._pending, self._pending_bytes
            self._pending, self._pending_bytes = [], 0
            self._arrived.clear()
            self._room.set()
            await self.take(messages, size, began_ns, began_s, emit)

    async def take(self, messages: Sequence[bytes], size: int, began_ns: int, began_s: float, emit: Emit) -> None:
        """Decodes and emits some messages that came together, now.

        size: their bytes. began_ns, began_s: when the first of them came, as the clock and as ``time.monotonic`` say.
        """
        decode = partial(self._decoder.decode, messages)
        await self.take_by(decode, len(messages), size, began_ns, began_s, emit, is_long=size > THREAD_BYTES)

    async def take_by(
        self,
        decode: Callable[[int], Decoded],
        messages: int,
        size: int,
        began_ns: int,
        began_s: float,
        emit: Emit,
        *,
        is_long: bool,
    ) -> None:
        """The same of what ``decode`` gives, which is called with the time; in a thread when it takes long."""
        self._messages_received.inc(messages)
        self._received_bytes.inc(size)
        now_ns = self._clock()
        decoded = await asyncio.to_thread(decode, now_ns) if is_long else decode(now_ns)
        self._emit_decoded(decoded, began_ns, time.monotonic() - began_s, emit)

    def down_batch(self, reason: DownReason) -> SampleBatch:
        """Without samples, with why."""
        collection = Collection(self._epoch_ns, self._next_seq(), self._clock(), 0.0, reason)
        none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
        return SampleBatch(self._decoder.table, collection, *none)

    def _emit_decoded(self, decoded: Decoded, began_ns: int, duration_s: float, emit: Emit) -> None:
        self._count(decoded)
        allowed = self._updates.admit(decoded.values.size, began_ns)
        self._ledger.dropped(DropReason.QUOTA, decoded.values.size - allowed, self._name)
        for start in range(0, allowed, _BATCH_ROWS):
            part = slice(start, min(start + _BATCH_ROWS, allowed))
            paths = self._decoder.unmapped
            collection = Collection(
                self._epoch_ns,
                self._next_seq(),
                began_ns,
                duration_s,
                unmapped=paths.count,
                left_out=paths.count_left_out,
            )
            columns = (decoded.times_ns[part], decoded.rows[part], decoded.values[part])
            emit(SampleBatch(decoded.table, collection, *columns))
        self._update_speeds(decoded)
        facts = self._links.update(self._device, decoded.metadata)
        facts += self._transceivers.update(decoded.metadata)
        if facts:
            emit(facts)

    def _count(self, decoded: Decoded) -> None:
        job = self._job.job_name
        self._updates_received.inc(decoded.updates)
        if decoded.malformed:
            metrics.MESSAGES_DROPPED.labels(job, "malformed").inc(decoded.malformed)
        self._paths_refused.set(self._decoder.refused)
        self._ledger.received(decoded.received, self._name)
        for reason, n in decoded.drops.items():
            self._ledger.dropped(reason, n, self._name)

    def _update_speeds(self, decoded: Decoded) -> None:
        """Passes the speeds that ports report to the links."""
        if decoded.table is not self._speed_table:
            self._speed_table = decoded.table
            keys = decoded.table.keys
            self._speed_ports = {r: parse_series_key(k)[1]["port"] for r, k in enumerate(keys) if k.startswith(_SPEED)}
            self._is_speed = np.zeros(len(keys), bool)
            self._is_speed[list(self._speed_ports)] = True
        if self._speed_ports:
            for i in np.flatnonzero(self._is_speed[decoded.rows]).tolist():
                port = self._speed_ports[int(decoded.rows[i])]
                self._links.set_speed(self._device, port, float(decoded.values[i]))

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq - 1
