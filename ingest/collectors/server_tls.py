"""TLS of a server with a certificate of our own, which follows the files: new connections have what is in them."""

import ssl

import structlog

from common.errors import ConfigError
from ingest.collectors.receiver_config import ServerTlsConfig

log = structlog.get_logger("ingest")


class ServerTls:
    """The context for the next connection. protocols: those that are agreed on by ALPN."""

    def __init__(self, config: ServerTlsConfig, *protocols: str) -> None:
        self._config, self._protocols = config, list(protocols)
        self._files = [file for file in (config.cert_file, config.key_file, config.client_ca_file) if file is not None]
        self._loaded: tuple[ssl.SSLContext, tuple[int, ...]] | None = None
        self._failed: tuple[int, ...] | None = None

    def load(self) -> ssl.SSLContext:
        """ConfigError that names the file which cannot be used."""
        changed = self._changed()
        context = _server_context(self._config)
        context.set_alpn_protocols(self._protocols)
        self._loaded, self._failed = (context, changed), None
        return context

    def current(self) -> ssl.SSLContext:
        """Loaded again when a file has changed. Files that cannot be used, or not yet, change nothing."""
        assert self._loaded is not None, "loaded at the start"
        context, loaded = self._loaded
        changed: tuple[int, ...] = ()
        try:
            changed = self._changed()
            if changed in (loaded, self._failed):
                return context
            context = self.load()
            log.info("certificate replaced", file=str(self._config.cert_file))
        except ConfigError as error:  # they are in rotation: the one before goes on
            if changed != self._failed:
                log.error("certificate not replaced", error=str(error))
            self._failed = changed
        return context

    def _changed(self) -> tuple[int, ...]:
        try:
            found = [file.stat() for file in self._files]
        except OSError as error:
            raise ConfigError(f"tls: {error.filename}: {error.strerror}") from error
        return tuple(value for one in found for value in (one.st_ino, one.st_mtime_ns, one.st_size))


def _server_context(config: ServerTlsConfig) -> ssl.SSLContext:
    """ConfigError that names the files which cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As in the gNMI client: what is in the file is trusted, whether or not it is an authority.
    context.verify_flags = ssl.VERIFY_X509_TRUSTED_FIRST | ssl.VERIFY_X509_PARTIAL_CHAIN
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(config.cert_file, config.key_file)
        if config.client_ca_file is not None:
            context.load_verify_locations(config.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        named = ", ".join(str(file) for file in (config.cert_file, config.key_file, config.client_ca_file) if file)
        raise ConfigError(f"tls: {named}: {error.strerror or error}") from error
    return context
