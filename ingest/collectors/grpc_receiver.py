"""A gRPC server for collectors that devices push to: transport security, who may push, and raw messages."""

import asyncio
import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from common.errors import ConfigError
from ingest.collectors.receiver_config import ReceiverConfig, ServerTlsConfig
from ingest.collectors.server_tls import server_context
from ingest.metrics import RECEIVER_REFUSALS
from ingest.transport.grpc_call import ServerCall
from ingest.transport.grpc_connection import Handler, Serving
from ingest.transport.grpc_listener import GrpcListener
from ingest.transport.http2_requests import Held
from ingest.transport.refusals import RefusalReason

_STOP_S = 1.0
_HELD_BYTES_MAX, _HELD_MESSAGES = 256 * 2**20, 4
"""Of all calls together: that much, or that many messages of the largest size."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends. address: IP; certificate: the first name in its verified certificate, '' without one."""

    address: str
    certificate: str

    @property
    def name(self) -> str:
        """The certificate's, else the address, in the form in which a port may follow."""
        return self.certificate or (self.address if "." in self.address else f"[{self.address}]:0")


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
        self._tls = None if config.tls is None else _Tls(config.tls)
        self._networks = tuple(ipaddress.ip_network(network) for network in config.allow)
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
        if self._networks and not _is_in(call.address, self._networks):
            return None
        return Sender(call.address, call.certificate)

    def _context(self) -> ssl.SSLContext | None:
        return None if self._tls is None else self._tls.current()

    def _count(self, reason: RefusalReason) -> None:
        RECEIVER_REFUSALS.labels(self._config.job_name, reason).inc()


@lru_cache(maxsize=100_000)
def _is_in(address: str, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    parsed = ipaddress.ip_address(address)
    return any(parsed in network for network in networks)


class _Tls:
    """The context for new connections, which follows the files."""

    def __init__(self, config: ServerTlsConfig) -> None:
        self._config = config
        self._files = [file for file in (config.cert_file, config.key_file, config.client_ca_file) if file is not None]
        self._loaded: tuple[ssl.SSLContext, tuple[int, ...]] | None = None

    def load(self) -> ssl.SSLContext:
        """ConfigError that names the file which cannot be used."""
        changed_ns = _changed_ns(self._files)
        context = server_context(self._config)
        # As in the gNMI client: what is in the file is trusted, whether or not it is an authority.
        context.verify_flags = ssl.VERIFY_X509_TRUSTED_FIRST | ssl.VERIFY_X509_PARTIAL_CHAIN
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["h2"])
        self._loaded = context, changed_ns
        return context

    def current(self) -> ssl.SSLContext:
        assert self._loaded is not None, "loaded at the start"
        context, changed_ns = self._loaded
        try:
            return context if _changed_ns(self._files) == changed_ns else self.load()
        except ConfigError:
            return context  # they are in rotation: the one before goes on


def _changed_ns(files: list[Path]) -> tuple[int, ...]:
    try:
        return tuple(file.stat().st_mtime_ns for file in files)
    except OSError as error:
        raise ConfigError(f"tls: {error.filename}: {error.strerror}") from error
