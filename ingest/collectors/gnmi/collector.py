"""The collector of one gNMI target: streams in, batches of samples and facts about links and modules out."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence, Set

import structlog
from google.protobuf.internal import api_implementation

from common.errors import ConfigError
from ingest.collectors.base import Clock, Emit, SourceSeries
from ingest.collectors.gnmi import metrics
from ingest.collectors.gnmi.config import Config, TargetConfig
from ingest.collectors.gnmi.decode.decoder import Decoder, warm_up
from ingest.collectors.gnmi.device import DeviceUpdates
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.stream import Stream
from ingest.collectors.gnmi.subscriptions import subscriptions_of
from ingest.collectors.unmapped_settings import kept_max
from ingest.ledger import Ledger
from ingest.metrics import CERTIFICATE_EXPIRY
from telemetry.samples import DownReason

_NAMES_TIMEOUT_S = 10.0

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
        naming = Naming((config.source, "openconfig"), kept_max(config))
        decoder = Decoder(self.name, target.device, naming, config.limits.series_max)
        self._decoder = decoder
        self._updates = DeviceUpdates(config, self.name, target.device, decoder, ledger, self._links, clock)
        self._streams = [
            Stream(config, target, subscription, self._updates.deliver, self._stream_changed)
            for subscription in subscriptions_of(config)
        ]
        self._name_streams = [s for s, c in zip(self._streams, subscriptions_of(config), strict=True) if c.names]
        self._changed = asyncio.Event()

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._target.address}"

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def unmapped(self) -> Set[str]:
        return self._updates.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """Of all subscriptions."""
        return self._decoder.source_series()

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
                names = tasks.create_task(self._wait_for_names())
                for stream in self._streams:
                    tasks.create_task(self._run_stream(stream, names))
                tasks.create_task(self._updates.run(emit))
                tasks.create_task(self._emit_down(emit))
        except* Exception:
            metrics.SUBSCRIPTION_FAILURES.labels(self._config.job_name, DownReason.INTERNAL).inc(len(self._streams))
            emit(self._updates.down_batch(DownReason.INTERNAL))
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

    async def _wait_for_names(self) -> None:
        try:
            async with asyncio.timeout(_NAMES_TIMEOUT_S):
                await asyncio.gather(*(each.synced.wait() for each in self._name_streams))
        except TimeoutError:
            if self.down is None:  # else the log has the reason already
                self._log.warning("target sends no port names")

    async def _run_stream(self, stream: Stream, names: asyncio.Task[None]) -> None:
        """Port names first: updates under an unknown port name are lost."""
        if stream not in self._name_streams:
            await names
        await stream.run()

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
                emit(self._updates.down_batch(reason))

    def _stream_changed(self) -> None:
        self._changed.set()


def collectors_of(configs: Sequence[Config], ledger: Ledger, clock: Clock = time.time_ns) -> list[GnmiCollector]:
    """A collector for each target of all jobs. ConfigError for a malformed path, and without the bounded parser."""
    if configs and api_implementation.Type() != "upb":
        raise ConfigError(
            f"gnmi_configs: protobuf parses with {api_implementation.Type()!r}, expected 'upb', which bounds depth"
            ": unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
        )
    links = LinkTable()
    return [GnmiCollector(config, target, ledger, links, clock) for config in configs for target in config.targets]
