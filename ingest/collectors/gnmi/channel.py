"""The way to one target: transport security, credentials, keepalive, and what its errors mean."""

import asyncio
import socket
import ssl
from pathlib import Path

from ingest.collectors.gnmi.config import Config, TargetConfig, TlsConfig
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
    """Credentials as gNMI agents expect them; read anew at each connection, so that they can rotate."""
    if config.username_file is None or config.password_file is None:
        return ()
    user, password = _read(config.username_file), _read(config.password_file)
    return (("username", user.decode().strip()), ("password", password.decode().strip()))


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
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.cert_file is not None:
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except OSError as error:
        files = ", ".join(str(file) for file in (tls.ca_file, tls.cert_file, tls.key_file) if file is not None)
        raise CallEnded(Down.TLS, f"{files}: {error.strerror or error}") from error
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a switch's own certificate may be what is trusted
    if tls.skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CallEnded(Down.AUTH, f"{path}: {error.strerror}") from error
