"""The collector of one gNMI target: streams in, batches of samples and facts about links and modules out."""

import asyncio
import contextlib
import time
from collections.abc import Sequence, Set

import numpy as np
import structlog
from google.protobuf.internal import api_implementation

from common.errors import ConfigError
from ingest.collectors.base import Clock, Emit
from ingest.collectors.gnmi import metrics
from ingest.collectors.gnmi.config import Config, TargetConfig
from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.decode.decoder import Decoder, warm_up
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.stream import Stream
from ingest.collectors.gnmi.subscriptions import subscriptions_of
from ingest.collectors.gnmi.transceivers import TransceiverTable
from ingest.collectors.quota import Quota
from ingest.ledger import DropReason, Ledger
from ingest.metrics import CERTIFICATE_EXPIRY
from ingest.transport.grpc_messages import CallEnded
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, parse_series_key

_THREAD_BYTES = 64 * 1024  # decoding more than this would block the event loop for milliseconds
_BATCH_ROWS = 100_000  # about 1 MB on the bus, whose messages hold 4
_NAMES_TIMEOUT_S = 10.0
_SPEED = "fabric_port_speed_bits_per_second{"

log = structlog.get_logger("ingest")


class GnmiCollector:
    """One target of one job.

    links: shared by all collectors of the process, so that both ends of a link are one link.
    """

    def __init__(
        self,
        config: Config,
        target: TargetConfig,
        ledger: Ledger,
        links: LinkTable | None = None,
        clock: Clock = time.time_ns,
    ) -> None:
        self._config, self._target, self._ledger, self._clock = config, target, ledger, clock
        self._log = log.bind(job=config.job_name, target=self.name, device=target.device)
        self._links = links if links is not None else LinkTable()
        self._transceivers = TransceiverTable(target.device)
        self._decoder = Decoder(
            self.name, target.device, Naming((config.source, "openconfig")), config.limits.series_max
        )
        self._streams = [
            Stream(config, target, subscription, self._deliver, self._stream_changed)
            for subscription in subscriptions_of(config)
        ]
        self._name_streams = [s for s, c in zip(self._streams, subscriptions_of(config), strict=True) if c.names]
        self._bytes = Quota(config.limits.bytes_per_s)
        self._updates = Quota(config.limits.updates_per_s)
        self._messages = Quota(config.limits.messages_per_s)
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._arrived, self._room, self._changed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._room.set()
        self._epoch_ns, self._seq = clock(), 0
        self._speed_table: SeriesTable | None = None
        self._speed_ports: dict[int, str] = {}
        self._is_speed = np.zeros(0, bool)

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._target.address}"

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def unmapped(self) -> Set[str]:
        return self._decoder.unmapped.names

    @property
    def down(self) -> DownReason | None:
        """Why nothing is delivered now; None while something is, and before the first failure."""
        if any(stream.delivering for stream in self._streams):
            return None
        return next((stream.down for stream in self._streams if stream.down is not None), None)

    async def run(self, emit: Emit) -> None:
        """Collects until cancelled. An error is a fault of ours: the target is down by it, and not unknown."""
        insecure = self._insecure()
        for kind in insecure:
            metrics.INSECURE_TARGETS.labels(self._config.job_name, kind).inc()
            self._log.warning("connection is not secure", kind=kind)
        try:
            await asyncio.to_thread(warm_up)
            async with asyncio.TaskGroup() as tasks:
                for stream in self._streams:
                    tasks.create_task(self._run_stream(stream))
                tasks.create_task(self._decode_windows(emit))
                tasks.create_task(self._emit_down(emit))
        except* Exception:
            metrics.SUBSCRIPTION_FAILURES.labels(self._config.job_name, DownReason.INTERNAL).inc(len(self._streams))
            emit(self._down_batch(DownReason.INTERNAL))
            raise
        finally:
            for kind in insecure:
                metrics.INSECURE_TARGETS.labels(self._config.job_name, kind).dec()
            with contextlib.suppress(KeyError):
                CERTIFICATE_EXPIRY.remove(self.name)

    def _insecure(self) -> list[str]:
        """Settings that leave this connection open to others."""
        tls = self._config.tls_of(self._target)
        return [name for name in ("insecure", "insecure_skip_verify") if getattr(tls, name)]

    async def _run_stream(self, stream: Stream) -> None:
        """Port names first: updates under an unknown port name are lost."""
        if self._name_streams and stream not in self._name_streams:
            try:
                async with asyncio.timeout(_NAMES_TIMEOUT_S):
                    await asyncio.gather(*(each.synced.wait() for each in self._name_streams))
            except TimeoutError:
                self._log.warning("target sends no port names")
        await stream.run()

    async def _deliver(self, messages: Sequence[bytes]) -> None:
        """Queues them in their order, without those above the quota. CallEnded when there are too many of them.

        Each costs time however short it is, so to drop them is not enough.
        """
        now_ns = self._clock()
        allowed = self._messages.admit(len(messages), now_ns)
        for message in messages[:allowed]:
            if self._bytes.admit(len(message), now_ns) < len(message):
                metrics.MESSAGES_DROPPED.labels(self._config.job_name, "quota").inc()
                continue
            self._pending.append(message)
            self._pending_bytes += len(message)
        self._arrived.set()
        if allowed < len(messages):
            metrics.MESSAGES_DROPPED.labels(self._config.job_name, "quota").inc(len(messages) - allowed)
            most = f"{self._config.limits.messages_per_s:g} messages a second"
            raise CallEnded(DownReason.TOO_LARGE, f"more than {most} (limits.messages_per_s)")
        if self._pending_bytes > 2 * self._config.limits.message_bytes_max:
            self._room.clear()
            await self._room.wait()

    async def _decode_windows(self, emit: Emit) -> None:
        """Updates that come together become one batch, since each batch carries its whole series table.

        A window that is small for this target stays open for the whole ``gather_max_s``: subscriptions answer one
        after the other.
        """
        usual = 0.0
        while True:
            await self._arrived.wait()
            began_ns, began_s = self._clock(), time.monotonic()
            known = 0
            while (known < len(self._pending) or self._pending_bytes < usual / 4) and self._room.is_set():
                if time.monotonic() - began_s >= self._config.gather_max_s:
                    break
                known = len(self._pending)
                await asyncio.sleep(self._config.gather_quiet_s)
            usual = max(0.9 * usual, self._pending_bytes)
            messages, size = self._pending, self._pending_bytes
            self._pending, self._pending_bytes = [], 0
            self._arrived.clear()
            self._room.set()
            metrics.MESSAGES_RECEIVED.labels(self._config.job_name).inc(len(messages))
            metrics.RECEIVED_BYTES.labels(self._config.job_name).inc(size)
            now_ns = self._clock()
            if size > _THREAD_BYTES:
                decoded = await asyncio.to_thread(self._decoder.decode, messages, now_ns)
            else:
                decoded = self._decoder.decode(messages, now_ns)
            self._emit_decoded(decoded, began_ns, time.monotonic() - began_s, emit)

    def _emit_decoded(self, decoded: Decoded, began_ns: int, duration_s: float, emit: Emit) -> None:
        self._count(decoded)
        allowed = self._updates.admit(decoded.values.size, began_ns)
        self._ledger.dropped(DropReason.QUOTA, decoded.values.size - allowed)
        for start in range(0, allowed, _BATCH_ROWS):
            part = slice(start, min(start + _BATCH_ROWS, allowed))
            unmapped = self._decoder.unmapped.count
            collection = Collection(self._epoch_ns, self._next_seq(), began_ns, duration_s, unmapped=unmapped)
            columns = (decoded.times_ns[part], decoded.rows[part], decoded.values[part])
            emit(SampleBatch(decoded.table, collection, *columns))
        self._update_speeds(decoded)
        facts = self._links.update(self._target.device, decoded.metadata)
        facts += self._transceivers.update(decoded.metadata)
        if facts:
            emit(facts)

    def _count(self, decoded: Decoded) -> None:
        job = self._config.job_name
        metrics.UPDATES_RECEIVED.labels(job).inc(decoded.updates)
        if decoded.malformed:
            metrics.MESSAGES_DROPPED.labels(job, "malformed").inc(decoded.malformed)
        metrics.PATHS_REFUSED.labels(self.name).set(self._decoder.refused)
        self._ledger.received(decoded.received)
        for reason, n in decoded.drops.items():
            self._ledger.dropped(reason, n)

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
                self._links.set_speed(self._target.device, port, float(decoded.values[i]))

    async def _emit_down(self, emit: Emit) -> None:
        """While nothing is delivered, emits a batch with the reason: at once, then each interval."""
        while True:
            try:
                async with asyncio.timeout(self.interval_s):
                    await self._changed.wait()
            except TimeoutError:
                facts = self._links.expire(self._clock())
                if facts:
                    emit(facts)
            self._changed.clear()
            reason = self.down
            if reason is not None:
                emit(self._down_batch(reason))

    def _down_batch(self, reason: DownReason) -> SampleBatch:
        collection = Collection(self._epoch_ns, self._next_seq(), self._clock(), 0.0, reason)
        none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
        return SampleBatch(self._decoder.table, collection, *none)

    def _stream_changed(self) -> None:
        self._changed.set()

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq - 1


def collectors_of(configs: Sequence[Config], ledger: Ledger, clock: Clock = time.time_ns) -> list[GnmiCollector]:
    """A collector for each target of all jobs. ConfigError for a malformed path, and without the bounded parser."""
    if configs and api_implementation.Type() != "upb":
        raise ConfigError(
            f"gnmi_configs: protobuf parses with {api_implementation.Type()!r}, expected 'upb', which bounds depth"
            ": unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
        )
    links = LinkTable()
    return [GnmiCollector(config, target, ledger, links, clock) for config in configs for target in config.targets]
