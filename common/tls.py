"""TLS of everything that we connect to: one set of keys, as in Prometheus' ``tls_config``, and one context."""

import asyncio
import ssl
from functools import lru_cache
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.errors import ConfigError


class TlsConfig(BaseModel):
    """Certificates and keys, all as files in PEM. The default verifies the peer against the system's authorities."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    ca_file: Path | None = Field(None, description="Certificates to trust instead of the system's.")
    cert_file: Path | None = Field(None, description="Our own certificate (mutual TLS); needs key_file.")
    key_file: Path | None = Field(None, description="Key of our own certificate.")
    server_name: str | None = Field(None, description="Name in the peer's certificate, where it is not the address.")
    insecure_skip_verify: bool = Field(False, description="Accept any certificate. Warned about.")

    @model_validator(mode="after")
    def _certificate_has_its_key(self) -> Self:
        check_pair(self.cert_file, self.key_file)
        return self

    @property
    def files(self) -> dict[str, Path]:
        """Those that are configured, by their key."""
        named = {"ca_file": self.ca_file, "cert_file": self.cert_file, "key_file": self.key_file}
        return {key: file for key, file in named.items() if file is not None}


def check_pair(cert_file: Path | None, key_file: Path | None) -> None:
    """ValueError for a certificate without its key and for a key without its certificate."""
    if (cert_file is None) != (key_file is None):
        raise ValueError(
            "cert_file and key_file belong together: expected both or none; name a file that holds both twice"
        )


def client_context(config: TlsConfig, *, alpn: tuple[str, ...] = (), partial_chain: bool = False) -> ssl.SSLContext:
    """The context for a new connection of ours; it is shared, so not to be changed.

    Built again when one of its files has changed, which blocks for some milliseconds.
    alpn: protocols to offer. partial_chain: whether a certificate in ``ca_file`` that is no authority may be trusted.
    ConfigError that names the key and the file that cannot be used.
    """
    try:
        changed_ns = tuple(file.stat().st_mtime_ns for file in config.files.values())
    except OSError as error:
        raise _unusable(config, error) from error
    # only what makes a context: a server's name is said when connecting
    return _built(config.model_copy(update={"server_name": None}), changed_ns, alpn, partial_chain)


def peer_expiry_s(transport: asyncio.BaseTransport) -> float | None:
    """When the verified certificate of the peer expires, in seconds since the Unix epoch.

    None without TLS, and where certificates are not checked: then nothing is known of it.
    """
    secured = transport.get_extra_info("ssl_object")
    certificate = secured.getpeercert() if secured is not None else None
    return ssl.cert_time_to_seconds(str(certificate["notAfter"])) if certificate else None


@lru_cache(maxsize=64)
def _built(
    config: TlsConfig, changed_ns: tuple[int, ...], alpn: tuple[str, ...], partial_chain: bool
) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=config.ca_file)
    except OSError as error:
        raise _unusable(config, error, "ca_file") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The same on every Python: since 3.13 the default is strict about RFC 5280, which refuses certificates without key
    # identifiers, as many devices make them, and trusts whatever certificate is in ca_file.
    context.verify_flags = ssl.VERIFY_X509_TRUSTED_FIRST
    if partial_chain:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if config.insecure_skip_verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if config.cert_file is not None:
        try:
            context.load_cert_chain(config.cert_file, config.key_file)
        except OSError as error:
            raise _unusable(config, error, "cert_file", "key_file") from error
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def _unusable(config: TlsConfig, error: OSError, *keys: str) -> ConfigError:
    """ssl.SSLError is an OSError; its text names no file, and never what is in one."""
    named = [f"{key} {file}" for key, file in config.files.items() if key in (keys or config.files)]
    if error.filename is not None:
        named = [f"{key} {file}" for key, file in config.files.items() if str(file) == str(error.filename)] or named
    return ConfigError(f"{', '.join(named)}: {error.strerror or error}")
