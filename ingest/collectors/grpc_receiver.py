"""A gRPC server for collectors that devices push to: transport security, who may push, and raw messages.

The library parses nothing: a method gets the bytes of its messages and who sent them.
"""

import asyncio
import ipaddress
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import grpc
import grpc.aio

from common.errors import ConfigError
from ingest.collectors.receiver_config import ReceiverConfig, ServerTlsConfig

_STOP_S = 1.0
_OPTIONS = (
    ("grpc.so_reuseport", 0),  # a second process on the same port is a mistake, and says so
    ("grpc.keepalive_time_ms", 60_000),  # a device that lost its power closes nothing
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_metadata_size", 16 * 1024),
)


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
    """One listening server. methods: by path, ``/package.Service/Method``, the handler of its raw messages.

    port: once it is ``listening``.
    """

    def __init__(
        self, config: ReceiverConfig, message_bytes_max: int, methods: Mapping[str, "grpc.RpcMethodHandler[Any, Any]"]
    ) -> None:
        self._config = config
        self._options = (*_OPTIONS, ("grpc.max_receive_message_length", message_bytes_max))
        self._methods = methods
        self._server: Any = None
        self._networks = [ipaddress.ip_network(network) for network in config.allow]
        self.port = 0
        self.listening = asyncio.Event()

    async def start(self) -> None:
        """ConfigError when the address is taken, or a file of ours cannot be read."""
        self._server = grpc.aio.server(options=self._options)
        services: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
        for path, handler in self._methods.items():
            _, service, method = path.split("/")
            services.setdefault(service, {})[method] = handler
        self._server.add_generic_rpc_handlers(
            tuple(grpc.method_handlers_generic_handler(service, found) for service, found in services.items())
        )
        listen, tls = self._config.listen, self._config.tls
        try:
            if tls is None:
                self.port = self._server.add_insecure_port(listen)
            else:
                self.port = self._server.add_secure_port(listen, _credentials(tls))
        except RuntimeError as error:
            raise ConfigError(f"{self._config.job_name}: listen {listen}: {error}") from error
        await self._server.start()
        self.listening.set()

    async def stop(self) -> None:
        """Ends all calls. Idempotent."""
        if self._server is not None:
            server, self._server = self._server, None
            self.listening.clear()
            await server.stop(_STOP_S)

    def sender(self, context: Any) -> Sender | None:
        """Who calls; None when they may not."""
        address = peer_address(context.peer())
        names = context.auth_context()
        if self._networks and not _is_in(address, tuple(self._networks)):
            return None
        return Sender(address, _certificate_name(names))


def peer_address(peer: str) -> str:
    """
    >>> peer_address("ipv4:10.0.0.1:38712"), peer_address("ipv6:%5B::1%5D:38712")
    ('10.0.0.1', '::1')
    """
    _, _, rest = unquote(peer).partition(":")
    address = rest.rpartition(":")[0].strip("[]").partition("%")[0]
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed)


@lru_cache(maxsize=100_000)
def _is_in(address: str, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    parsed = ipaddress.ip_address(address)
    return any(parsed in network for network in networks)


def _certificate_name(context: Mapping[str, Sequence[bytes]]) -> str:
    """The certificate was verified in the handshake."""
    for key in ("x509_common_name", "x509_subject_alternative_name"):
        for name in context.get(key, ()):
            if name:
                return name.decode("utf-8", "replace")
    return ""


def _credentials(tls: ServerTlsConfig) -> grpc.ServerCredentials:
    """They follow the files: the library asks at each handshake."""
    files = [tls.cert_file, tls.key_file, *([tls.client_ca_file] if tls.client_ca_file else [])]
    before = _changed_ns(files)
    first = _certificates(tls)

    def changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal before
        try:
            now = _changed_ns(files)
            if now == before:
                return None
            found = _certificates(tls)
        except ConfigError:
            return None  # it is in rotation: the one before goes on
        before = now
        return found

    return grpc.dynamic_ssl_server_credentials(
        first,
        changed,  # type: ignore[arg-type]  # the stubs know no None, which the library documents: nothing has changed
        require_client_authentication=tls.client_ca_file is not None,
    )


def _certificates(tls: ServerTlsConfig) -> grpc.ServerCertificateConfiguration:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file)  # the library's own message names neither file nor fault
        authorities = tls.client_ca_file.read_bytes() if tls.client_ca_file else None
        pair = (tls.key_file.read_bytes(), tls.cert_file.read_bytes())
    except OSError as error:
        raise ConfigError(f"tls: {error.filename or tls.cert_file}: {error.strerror or error}") from error
    return grpc.ssl_server_certificate_configuration([pair], root_certificates=authorities)


def _changed_ns(files: Sequence[Path]) -> tuple[int, ...]:
    try:
        return tuple(file.stat().st_mtime_ns for file in files)
    except OSError as error:
        raise ConfigError(f"tls: {error.filename}: {error.strerror}") from error
