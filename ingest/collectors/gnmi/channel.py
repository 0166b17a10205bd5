"""The connection to one target: transport security, credentials, keepalive, and the reasons of its failures."""

import asyncio
import socket
import ssl

from common.errors import ConfigError, Unavailable
from common.secrets import read_secret_text
from common.tls import TlsConfig, client_context
from ingest.collectors.gnmi.config import Config, TargetConfig
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2 import Call, CallSettings
from telemetry.samples import DownReason

METHOD = "/gnmi.gNMI/Subscribe"
Metadata = tuple[tuple[str, str], ...]

_PING_TIMEOUT_S = 10.0
# Servers in Go (most switches) by default end a quiet connection whose pings come faster than every five minutes.
_KEEPALIVE_MAX_S, _KEEPALIVE_STEP = 600.0, 4.0


async def subscribe(config: Config, target: TargetConfig, request: bytes, keepalive_s: float) -> Call:
    """Calls Subscribe on a new connection of its own, so that a stalled one cannot block another subscription.

    Raises CallEnded when the target cannot be reached or trusted, or a file of ours cannot be read.
    """
    tls = config.tls_of(target)
    host, _, port = target.address.rpartition(":")
    host = host.strip("[]")
    settings = CallSettings(
        authority=tls.server_name or target.address,
        scheme="http" if tls.insecure else "https",
        metadata=metadata_of(config),
        message_bytes_max=config.limits.message_bytes_max,
        read_pause_s=config.gather_quiet_s,
        keepalive_s=keepalive_s,
        ping_timeout_s=min(keepalive_s, _PING_TIMEOUT_S),
    )
    context = None if tls.insecure else await asyncio.to_thread(_trust, tls)
    name = None if context is None else tls.server_name or host
    call = Call(METHOD, request, settings)
    try:
        async with asyncio.timeout(config.connect_timeout_s):
            connect = asyncio.get_running_loop().create_connection
            await connect(lambda: call, host, int(port), ssl=context, server_hostname=name)
    except OSError as error:
        raise CallEnded(_reason_of(error), str(error) or type(error).__name__) from error
    return call


def metadata_of(config: Config) -> Metadata:
    """Credentials as gNMI agents expect them; read again for each connection, so that they can be rotated."""
    if config.username_file is None or config.password_file is None:
        return ()
    try:
        user, password = read_secret_text(config.username_file), read_secret_text(config.password_file)
    except Unavailable as error:
        raise CallEnded(DownReason.AUTH, str(error)) from error
    return (("username", user), ("password", password))


def keepalive_after(message: str, keepalive_s: float) -> float:
    """Seconds between pings of the next connection, when the peer ended this one with this message.

    >>> keepalive_after("GOAWAY: code 11 too_many_pings", 30.0), keepalive_after("reset", 30.0)
    (120.0, 30.0)
    """
    if "too_many_pings" not in message:
        return keepalive_s
    return max(keepalive_s, min(_KEEPALIVE_STEP * keepalive_s, _KEEPALIVE_MAX_S))


def _reason_of(error: OSError) -> DownReason:
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    return DownReason.REFUSED  # no route, no network


_REASONS = {
    ssl.SSLError: DownReason.TLS,
    socket.gaierror: DownReason.DNS,
    TimeoutError: DownReason.TIMEOUT,
    ConnectionResetError: DownReason.RESET,
}


def _trust(tls: TlsConfig) -> ssl.SSLContext:
    try:
        # a switch's own certificate may be what is trusted
        return client_context(tls, alpn=("h2",), partial_chain=True)
    except ConfigError as error:
        raise CallEnded(DownReason.TLS, str(error)) from error
