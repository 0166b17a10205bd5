"""The OTLP receiver: requests in, batches of samples out. A request is answered when its samples are counted."""

import asyncio
from collections.abc import Collection
from functools import partial
from typing import NoReturn

import structlog

from common.errors import BadInput
from common.units import to_ns
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.grpc_receiver import GrpcServer, Sender
from ingest.collectors.intake import Intake
from ingest.collectors.otlp import metrics
from ingest.collectors.otlp.answer import answer
from ingest.collectors.otlp.config import Config
from ingest.collectors.otlp.decode.decoder import Decoded, Decoder, warm_up
from ingest.collectors.pushed_series import PushedSeries
from ingest.transport.grpc_call import ServerCall
from ingest.transport.grpc_status import Refused, Status, retry_info

METHOD = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
_THREAD_BYTES = 64 * 1024  # decoding more than this would block the event loop for milliseconds

log = structlog.get_logger("ingest")


class OtlpReceiver:
    """One address that devices and collectors push to. server: its port is known once ``run`` has begun."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        self._config, self._context = config, context
        limits = config.limits
        self._series = PushedSeries(
            config.job_name,
            config.rules,
            context.clock(),
            series_max=limits.series_max,
            targets_max=limits.targets_max,
        )
        self._decoder = Decoder(self._series)
        self._decoding = asyncio.Lock()
        self._taking: set[asyncio.Task[Decoded]] = set()
        self._intake = Intake(limits)
        self.server = GrpcServer(
            config, limits.message_bytes_max, {METHOD: self._export}, connections_max=limits.senders_max
        )
        self._emit: Emit = _nowhere

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._config.listen}"

    @property
    def unmapped(self) -> Collection[str]:
        """Names that it was sent and that nothing maps."""
        return self._series.unmapped

    async def run(self, emit: Emit) -> None:
        """Listens until cancelled. ConfigError when the address is taken or a certificate cannot be read."""
        job = self._config.job_name
        self._emit = emit
        await asyncio.to_thread(warm_up)
        await self.server.start()
        log.info("receiver listens", target=self.name, port=self.server.port)
        if self._config.tls is None:
            metrics.INSECURE_RECEIVERS.labels(job).inc()
            log.warning("receiver is not secure", target=self.name)
        try:
            await self._report_silence()
        finally:
            if self._config.tls is None:
                metrics.INSECURE_RECEIVERS.labels(job).dec()
            await self.server.stop()
            await asyncio.gather(*self._taking, return_exceptions=True)

    async def _report_silence(self) -> NoReturn:
        after_ns = to_ns(self._config.silence_s)
        while True:
            await asyncio.sleep(self._config.silence_s / 10)
            async with self._decoding:
                silent = self._series.silent(self._context.clock(), after_ns)
            for batch in silent:
                self._emit(batch)

    async def _export(self, call: ServerCall) -> bytes:
        """A serialised ExportMetricsServiceRequest, answered by a serialised response."""
        sender = self.server.sender(call)
        if sender is None:
            raise self._refused(Status.PERMISSION_DENIED, "this address may not push (allow)")
        data = await call.only_message()
        now_ns = self._context.clock()
        name = self._name_of(sender)
        refusal = self._intake.refusal(name, len(data), now_ns)
        if refusal is not None:
            # Both may be tried again; the first one says that it is not the server that lacks resources.
            status = Status.RESOURCE_EXHAUSTED if refusal.is_quota else Status.UNAVAILABLE
            raise self._refused(status, refusal.message, refusal.after_s)
        # What is decoded is known, so it has to be delivered, even when its sender does not wait any longer.
        taking = asyncio.create_task(self._take(data, name, now_ns))
        self._taking.add(taking)
        taking.add_done_callback(partial(self._taken, size=len(data)))
        try:
            decoded = await asyncio.shield(taking)
        except BadInput as error:
            raise self._refused(Status.INVALID_ARGUMENT, str(error)) from error
        except Exception as error:
            log.exception("request failed", target=self.name, sender=name)
            raise self._refused(Status.INTERNAL, "a fault of ours: the log has the traceback") from error
        return answer(decoded)

    async def _take(self, data: bytes, sender: str, now_ns: int) -> Decoded:
        """Decodes one request at a time, in the order in which they came, and delivers its samples."""
        async with self._decoding:
            if len(data) <= _THREAD_BYTES:
                decoded = self._decoder.decode(data, sender, now_ns)
            else:
                loop, decode = asyncio.get_running_loop(), self._decoder.decode
                decoded = await loop.run_in_executor(self._context.workers, decode, data, sender, now_ns)
        self._count(decoded, len(data))
        for batch in decoded.admitted.batches:
            self._emit(batch)
        return decoded

    def _taken(self, taking: "asyncio.Task[Decoded]", size: int) -> None:
        self._taking.discard(taking)
        self._intake.release(size)
        if not taking.cancelled():
            taking.exception()  # its sender may have gone without hearing of it

    def _count(self, decoded: Decoded, size: int) -> None:
        job, admitted = self._config.job_name, decoded.admitted
        metrics.REQUESTS.labels(job, "taken").inc()
        metrics.RECEIVED_BYTES.labels(job).inc(size)
        metrics.POINTS_RECEIVED.labels(job).inc(decoded.points)
        metrics.SAMPLES_UNMAPPED.labels(job).inc(admitted.unmapped)
        admitted.count(self._context.ledger)

    def _refused(self, status: Status, message: str, after_s: float | None = None) -> Refused:
        metrics.REQUESTS.labels(self._config.job_name, status.name.lower()).inc()
        return Refused(status, message, details=b"" if after_s is None else retry_info(status, message, after_s))

    def _name_of(self, sender: Sender) -> str:
        """As configured, else as its certificate or address says."""
        named = self._config.senders.get(sender.certificate) or self._config.senders.get(sender.address)
        return named or sender.name


def _nowhere(output: object) -> None:
    raise AssertionError("run has not begun")
