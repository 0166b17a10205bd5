"""The gRPC channel to one target: transport security, credentials, keepalive, and what its errors mean."""

import asyncio
import socket
import ssl
from pathlib import Path

import grpc
import grpc.aio

from ingest.collectors.gnmi.config import Config, TargetConfig
from telemetry.errors import ConfigError, Unavailable
from telemetry.samples import Down

Metadata = tuple[tuple[str, str], ...]

_PING_ANSWER_S = 10.0
# Servers in Go (most switches) by default end a quiet connection whose pings come faster than every five minutes.
_KEEPALIVE_MAX_S, _KEEPALIVE_STEP = 600.0, 4.0


async def open_channel(config: Config, target: TargetConfig, keepalive_s: float) -> grpc.aio.Channel:
    """A new connection of its own: a stalled one cannot hold up another subscription.

    ConfigError when a file cannot be read; Unavailable when ``skip_verify`` finds no server to ask for its certificate.
    """
    tls = config.tls_of(target)
    answer_ms = int(min(keepalive_s, _PING_ANSWER_S) * 1000)
    options: list[tuple[str, int | str]] = [
        ("grpc.max_receive_message_length", config.limits.message_bytes_max),
        ("grpc.keepalive_time_ms", int(keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", answer_ms),
        ("grpc.http2.ping_timeout_ms", answer_ms),  # a minute by default, whatever keepalive's own says
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
    ]
    if tls.insecure:
        return grpc.aio.insecure_channel(target.address, options=options)
    roots, name = _read(tls.ca_file), tls.server_name
    if tls.skip_verify:
        roots, shown = await asyncio.to_thread(_shown_certificate, target.address, config.connect_timeout_s)
        name = name or shown
    if name:
        options.append(("grpc.ssl_target_name_override", name))
    credentials = grpc.ssl_channel_credentials(roots, _read(tls.key_file), _read(tls.cert_file))
    return grpc.aio.secure_channel(target.address, credentials, options=options)


def metadata_of(config: Config) -> Metadata:
    """Credentials as gNMI agents expect them; read anew at each connection, so that they can rotate."""
    if config.username_file is None or config.password_file is None:
        return ()
    user, password = _read(config.username_file) or b"", _read(config.password_file) or b""
    return (("username", user.decode().strip()), ("password", password.decode().strip()))


def keepalive_after(words: str, keepalive_s: float) -> float:
    """Seconds between pings of the next connection, when the peer ended this one with these words.

    >>> keepalive_after("GOAWAY received; Debug Text: too_many_pings", 30.0), keepalive_after("reset", 30.0)
    (120.0, 30.0)
    """
    if "too_many_pings" not in words:
        return keepalive_s
    return max(keepalive_s, min(_KEEPALIVE_STEP * keepalive_s, _KEEPALIVE_MAX_S))


def down_of(error: grpc.aio.AioRpcError) -> Down:
    """Why a subscription failed, as the closed set says it."""
    code, details = error.code(), (error.details() or "").lower()
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return Down.AUTH
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return Down.TOO_LARGE
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Down.TIMEOUT
    if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.NOT_FOUND):
        return Down.BAD_FORMAT
    for words, reason in _WORDS:
        if any(word in details for word in words):
            return reason
    return Down.CLOSED


_WORDS = (
    (("too_many_pings",), Down.CLOSED),
    (("ssl", "tls", "certificate", "handshake", "verification"), Down.TLS),
    (("name resolution", "dns", "resolve"), Down.DNS),
    (("refused",), Down.REFUSED),
    (("timeout", "timed out", "keepalive", "ping"), Down.TIMEOUT),
    (("reset", "broken pipe"), Down.RESET),
)


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _shown_certificate(address: str, timeout_s: float) -> tuple[bytes, str]:
    """The certificate that the server shows, and a name in it: gRPC always verifies, so what it shows is trusted."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        pem = ssl.get_server_certificate((host, int(port)), timeout=timeout_s)
        context = ssl.create_default_context(cadata=pem)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        with socket.create_connection((host, int(port)), timeout_s) as raw, context.wrap_socket(raw) as secured:
            shown = secured.getpeercert() or {}
    except OSError as error:
        raise Unavailable(f"{address}: no certificate to be had: {error}") from error
    names = [str(entry[1]) for entry in shown.get("subjectAltName", ()) if isinstance(entry, tuple)]
    return pem.encode(), names[0] if names else host
