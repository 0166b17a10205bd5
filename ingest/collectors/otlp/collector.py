"""The OTLP receiver: requests in, batches of samples out. A request is answered when its samples are counted."""

import asyncio
from collections.abc import Collection
from typing import NoReturn, Protocol

import structlog

from common.units import to_ns
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.otlp import metrics
from ingest.collectors.otlp.config import Config, Transport
from ingest.collectors.otlp.decode import decoder, json_layout
from ingest.collectors.otlp.exporting import Exporting

log = structlog.get_logger("ingest")


class Server(Protocol):
    """What listens. port: once it is ``listening``."""

    port: int
    listening: asyncio.Event

    async def start(self) -> None:
        """ConfigError when the address is taken, or a file of ours cannot be read."""
        ...

    async def stop(self) -> None: ...


class OtlpReceiver:
    """One address that devices and collectors push to. server: its port is known once ``run`` has begun."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        self._config = config
        self._exporting = Exporting(config, context)
        self.server = _server(config, self._exporting)

    @property
    def name(self) -> str:
        return self._exporting.name

    @property
    def unmapped(self) -> Collection[str]:
        """Names that it was sent and that nothing maps."""
        return self._exporting.unmapped

    async def run(self, emit: Emit) -> None:
        """Listens until cancelled. ConfigError when the address is taken or a certificate cannot be read."""
        job = self._config.job_name
        self._exporting.emit = emit
        await asyncio.to_thread(decoder.warm_up)
        if self._config.protocol is Transport.HTTP:
            await asyncio.to_thread(json_layout.warm_up)
        await self.server.start()
        log.info("receiver listens", target=self.name, port=self.server.port)
        if self._config.tls is None:
            metrics.INSECURE_RECEIVERS.labels(job).inc()
            log.warning("receiver is not secure", target=self.name)
        try:
            await self._report_silence(emit)
        finally:
            if self._config.tls is None:
                metrics.INSECURE_RECEIVERS.labels(job).dec()
            await self.server.stop()
            await self._exporting.drain()

    async def _report_silence(self, emit: Emit) -> NoReturn:
        after_ns = to_ns(self._config.silence_s)
        while True:
            await asyncio.sleep(self._config.silence_s / 10)
            for batch in await self._exporting.silent(after_ns):
                emit(batch)


def _server(config: Config, exporting: Exporting) -> Server:
    """Each protocol costs the import of its libraries, so only where it is in use."""
    if config.protocol is Transport.HTTP:
        from ingest.collectors.otlp.over_http import OverHttp

        return OverHttp(config, exporting).server
    from ingest.collectors.otlp.over_grpc import grpc_server

    return grpc_server(config, exporting)
