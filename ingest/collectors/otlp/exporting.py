"""What a request goes through, whatever carries it: who may send it, how much may wait, decoding, and delivery."""

import asyncio
from collections.abc import Collection
from functools import partial

import structlog

from common.errors import BadInput
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.intake import Intake
from ingest.collectors.otlp import metrics
from ingest.collectors.otlp.config import Config
from ingest.collectors.otlp.decode.decoder import Decoded, Decoder
from ingest.collectors.otlp.decode.json_body import Encoding
from ingest.collectors.otlp.decode.json_layout import JsonLayouts
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.sender import Senders
from ingest.transport.grpc_status import Refused, Status
from telemetry.samples import SampleBatch

_THREAD_BYTES = {Encoding.PROTOBUF: 64 * 1024, Encoding.JSON: 8 * 1024}
"""Decoding more than this would block the event loop for milliseconds."""

log = structlog.get_logger("ingest")


class Exporting:
    """The requests of all senders of one receiver. emit: set before the first one comes."""

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
        self._decoder, self._json = Decoder(self._series), JsonLayouts()
        self._decoding = asyncio.Lock()
        self._taking: set[asyncio.Task[Decoded]] = set()
        self._intake, self._counts = Intake(limits), _Counts(config.job_name)
        self._senders = Senders(config)
        self.emit: Emit = _nowhere

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._config.listen}"

    @property
    def unmapped(self) -> Collection[str]:
        return self._series.unmapped

    async def silent(self, after_ns: int) -> list[SampleBatch]:
        """What says that devices have sent nothing for so long."""
        async with self._decoding:
            return list(self._series.silent(self._context.clock(), after_ns))

    async def drain(self) -> None:
        """Waits for what is decoded, and so has to be delivered."""
        await asyncio.gather(*self._taking, return_exceptions=True)

    def sender(self, address: str, certificate: str) -> str:
        """The name of who sends. Refused when they may not."""
        sender = self._senders.find(address, certificate)
        if sender is None:
            raise self._refused(Status.PERMISSION_DENIED, "this address may not push (allow)")
        return self._senders.name_of(sender)

    async def export(self, data: bytes, encoding: Encoding, sender: str) -> Decoded:
        """An ExportMetricsServiceRequest, once its samples are delivered. Refused for another status than OK."""
        now_ns = self._context.clock()
        refusal = self._intake.refusal(sender, len(data), now_ns)
        if refusal is not None:
            # Both may be tried again; the first one says that it is not the server that lacks resources.
            status = Status.RESOURCE_EXHAUSTED if refusal.is_quota else Status.UNAVAILABLE
            raise self._refused(status, refusal.message, refusal.after_s)
        try:
            none_waits = not (self._taking or self._decoding.locked())
            if none_waits and len(data) <= _THREAD_BYTES[encoding]:
                return self._take_at_once(data, encoding, sender, now_ns)
            # What is decoded is known, so it has to be delivered, even when its sender does not wait any longer.
            taking = asyncio.create_task(self._take(data, encoding, sender, now_ns))
            self._taking.add(taking)
            taking.add_done_callback(partial(self._taken, size=len(data)))
            return await asyncio.shield(taking)
        except BadInput as error:
            raise self._refused(Status.INVALID_ARGUMENT, str(error)) from error
        except Exception as error:
            log.exception("request failed", target=self.name, sender=sender)
            raise self._refused(Status.INTERNAL, "a fault of ours: the log has the traceback") from error

    async def _take(self, data: bytes, encoding: Encoding, sender: str, now_ns: int) -> Decoded:
        """Decodes one request at a time, in the order in which they came, and delivers its samples."""
        async with self._decoding:
            if len(data) <= _THREAD_BYTES[encoding]:
                decoded = self._decode(data, encoding, sender, now_ns)
            else:
                loop = asyncio.get_running_loop()
                decoded = await loop.run_in_executor(
                    self._context.workers, self._decode, data, encoding, sender, now_ns
                )
        self._deliver(decoded, len(data))
        return decoded

    def _take_at_once(self, data: bytes, encoding: Encoding, sender: str, now_ns: int) -> Decoded:
        """Of a small request before which none waits: a task of its own would cost as much as what is in it."""
        try:
            decoded = self._decode(data, encoding, sender, now_ns)
            self._deliver(decoded, len(data))
        finally:
            self._intake.release(len(data))
        return decoded

    def _deliver(self, decoded: Decoded, size: int) -> None:
        self._counts.add(decoded, size)
        decoded.admitted.count(self._context.ledger)
        for batch in decoded.admitted.batches:
            self.emit(batch)

    def _decode(self, data: bytes, encoding: Encoding, sender: str, now_ns: int) -> Decoded:
        if encoding is Encoding.JSON:
            data = self._json.protobuf_of(data)
        return self._decoder.decode(data, sender, now_ns)

    def _taken(self, taking: "asyncio.Task[Decoded]", size: int) -> None:
        self._taking.discard(taking)
        self._intake.release(size)
        if not taking.cancelled():
            taking.exception()  # its sender may have gone without hearing of it

    def _refused(self, status: Status, message: str, after_s: float | None = None) -> Refused:
        metrics.REQUESTS.labels(self._config.job_name, status.name.lower()).inc()
        return Refused(status, message, after_s=after_s)


class _Counts:
    """Our own metrics of what was taken, looked up once: a small request costs little more than four look-ups."""

    def __init__(self, job: str) -> None:
        self._requests = metrics.REQUESTS.labels(job, "taken")
        self._bytes = metrics.RECEIVED_BYTES.labels(job)
        self._points = metrics.POINTS_RECEIVED.labels(job)
        self._unmapped = metrics.SAMPLES_UNMAPPED.labels(job)

    def add(self, decoded: Decoded, size: int) -> None:
        self._requests.inc()
        self._bytes.inc(size)
        self._points.inc(decoded.points)
        self._unmapped.inc(decoded.admitted.unmapped)


def _nowhere(output: object) -> None:
    raise AssertionError("run has not begun")
