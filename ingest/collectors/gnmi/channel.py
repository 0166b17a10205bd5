"""The way to one target: transport security, credentials, keepalive, and what its errors mean."""

import asyncio
import socket
import ssl

from common.errors import ConfigError, Unavailable
from common.secrets import read_secret_text
from common.tls import TlsConfig, client_context
from ingest.collectors.gnmi.config import Config, TargetConfig
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2 import Call, CallSettings
from telemetry.samples import Down

METHOD = "/gnmi.gNMI/Subscribe"
Metadata = tuple[tuple[str, str], ...]

_PING_ANSWER_S = 10.0
# Servers in Go (most switches) by default end a quiet connection whose pings come faster than every five minutes.
_KEEPALIVE_MAX_S, _KEEPALIVE_STEP = 600.0, 4.0


async def subscribe(config: Config, target: TargetConfig, request: bytes, keepalive_s: float) -> Call:
    """Calls Subscribe on a new connection of its own: a stalled one cannot hold up another subscription.

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
        rest_s=config.gather_quiet_s,
        keepalive_s=keepalive_s,
        answer_s=min(keepalive_s, _PING_ANSWER_S),
    )
    context = None if tls.insecure else await asyncio.to_thread(_trust, tls)
    name = None if context is None else tls.server_name or host
    call = Call(METHOD, request, settings)
    try:
        async with asyncio.timeout(config.connect_timeout_s):
            connect = asyncio.get_running_loop().create_connection
            await connect(lambda: call, host, int(port), ssl=context, server_hostname=name)
    except OSError as error:
        raise CallEnded(_down_of(error), str(error) or type(error).__name__) from error
    return call


def metadata_of(config: Config) -> Metadata:
    """Credentials as gNMI agents expect them; read again at each connection, so that they can rotate."""
    if config.username_file is None or config.password_file is None:
        return ()
    try:
        user, password = read_secret_text(config.username_file), read_secret_text(config.password_file)
    except Unavailable as error:
        raise CallEnded(Down.AUTH, str(error)) from error
    return (("username", user), ("password", password))


def keepalive_after(words: str, keepalive_s: float) -> float:
    """Seconds between pings of the next connection, when the peer ended this one with these words.

    >>> keepalive_after("goodbye: code 11 too_many_pings", 30.0), keepalive_after("reset", 30.0)
    (120.0, 30.0)
    """
    if "too_many_pings" not in words:
        return keepalive_s
    return max(keepalive_s, min(_KEEPALIVE_STEP * keepalive_s, _KEEPALIVE_MAX_S))


def _down_of(error: OSError) -> Down:
    for kind, down in _DOWN.items():
        if isinstance(error, kind):
            return down
    return Down.REFUSED  # no route, no network


_DOWN = {
    ssl.SSLError: Down.TLS,
    socket.gaierror: Down.DNS,
    TimeoutError: Down.TIMEOUT,
    ConnectionResetError: Down.RESET,
}


def _trust(tls: TlsConfig) -> ssl.SSLContext:
    try:
        # a switch's own certificate may be what is trusted
        return client_context(tls, alpn=("h2",), partial_chain=True)
    except ConfigError as error:
        raise CallEnded(Down.TLS, str(error)) from error
