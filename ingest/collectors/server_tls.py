"""The context of a server with a certificate of our own, which is loaded again when its files are replaced."""

import asyncio
import ssl

import structlog

from common.errors import ConfigError
from ingest.collectors.receiver_config import ServerTlsConfig

LOOK_S = 10.0
log = structlog.get_logger("ingest")


def server_context(config: ServerTlsConfig) -> ssl.SSLContext:
    """ConfigError that names the files which cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(config.cert_file, config.key_file)
        if config.client_ca_file is not None:
            context.load_verify_locations(config.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        named = ", ".join(str(file) for file in (config.cert_file, config.key_file, config.client_ca_file) if file)
        raise ConfigError(f"tls: {named}: {error.strerror or error}") from error
    return context


async def follow(context: ssl.SSLContext, config: ServerTlsConfig) -> None:
    """Looks at the certificate for ever; new connections have what was loaded last."""
    loaded = await asyncio.to_thread(_version, config)
    while True:
        await asyncio.sleep(LOOK_S)
        loaded = await asyncio.to_thread(reload, context, config, loaded)


def reload(context: ssl.SSLContext, config: ServerTlsConfig, loaded: tuple[int, ...]) -> tuple[int, ...]:
    """Loads files that have changed, and says what is loaded. Those that cannot be used, or not yet, change nothing."""
    try:
        version = _version(config)
        if version != loaded:
            # half a pair would stay in the context: first into one of no use
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(config.cert_file, config.key_file)
            context.load_cert_chain(config.cert_file, config.key_file)
            log.info("certificate replaced", file=str(config.cert_file))
    except OSError as error:
        log.error("certificate not replaced", file=str(config.cert_file), error=error.strerror or str(error))
        return loaded
    return version


def _version(config: ServerTlsConfig) -> tuple[int, ...]:
    found = [file.stat() for file in (config.cert_file, config.key_file)]
    return tuple(value for one in found for value in (one.st_ino, one.st_mtime_ns, one.st_size))
