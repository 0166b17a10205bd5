"""A gRPC server for collectors that devices push to: transport security, who may push, and raw messages."""

import asyncio
import ssl
from collections.abc import Mapping

from common.errors import ConfigError
from ingest.collectors.receiver_config import ReceiverConfig
from ingest.collectors.sender import Sender, Senders
from ingest.collectors.server_tls import ServerTls
from ingest.metrics import RECEIVER_REFUSALS
from ingest.transport.grpc_call import ServerCall
from ingest.transport.grpc_connection import Handler, Serving
from ingest.transport.grpc_listener import GrpcListener
from ingest.transport.http2_requests import Held
from ingest.transport.refusals import RefusalReason

_STOP_S = 1.0
_HELD_BYTES_MAX, _HELD_MESSAGES = 256 * 2**20, 4
"""Of all calls together: that much, or that many messages of the largest size."""


class GrpcServer:
    """One listening server. methods: by path, ``/package.Service/Method``, what answers its calls.

    connections_max: at a time. read_pause_s: after each read of a connection, for calls that stream: messages gather
    meanwhile, and are read at once. port: once it is ``listening``.
    """

    def __init__(
        self,
        config: ReceiverConfig,
        message_bytes_max: int,
        methods: Mapping[str, Handler],
        *,
        connections_max: int,
        read_pause_s: float = 0.0,
    ) -> None:
        self._config = config
        held = Held(max(_HELD_BYTES_MAX, _HELD_MESSAGES * message_bytes_max))
        self._serving = Serving(methods, message_bytes_max, read_pause_s, held)
        self._connections_max = connections_max
        self._listener: GrpcListener | None = None
        self._tls = None if config.tls is None else ServerTls(config.tls, "h2")
        self._senders = Senders(config)
        self.port = 0
        self.listening = asyncio.Event()

    async def start(self) -> None:
        """ConfigError when the address is taken, or a file of ours cannot be read."""
        if self._tls is not None:
            self._tls.load()
        self._listener = GrpcListener(self._serving, self._connections_max, self._context, self._count)
        host, _, port = self._config.listen.rpartition(":")
        try:
            self.port = await self._listener.start(host.strip("[]"), int(port))
        except OSError as error:
            raise ConfigError(f"{self._config.job_name}: listen {self._config.listen}: {error}") from error
        self.listening.set()

    async def stop(self, grace_s: float = _STOP_S) -> None:
        """Ends all calls, those that answer within that time with their answer. Idempotent."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            self.listening.clear()
            await listener.stop(grace_s)

    def sender(self, call: ServerCall) -> Sender | None:
        """Who calls; None when they may not."""
        return self._senders.find(call.address, call.certificate)

    def _context(self) -> ssl.SSLContext | None:
        return None if self._tls is None else self._tls.current()

    def _count(self, reason: RefusalReason) -> None:
        RECEIVER_REFUSALS.labels(self._config.job_name, reason).inc()
