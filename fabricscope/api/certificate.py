"""The API's own certificate: used again when its files are replaced, and known when it expires."""

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path

import structlog

from fabricscope.api.metrics import CERTIFICATE_EXPIRY, CERTIFICATE_FAILURES

LOOK_S = 10.0
_VERSION, _UTC_TIME = 0xA0, 0x17
log = structlog.get_logger(__name__)


class Certificate:
    """The pair of files of a server's context. Blocking, but for ``follow``.

    New connections have what the context loaded last; those that are open keep what they have.
    """

    def __init__(self, context: ssl.SSLContext, cert_file: Path, key_file: Path) -> None:
        self._context, self._cert_file, self._key_file = context, cert_file, key_file
        self._loaded = self._version()
        self._set_expiry()

    async def follow(self) -> None:
        """Looks at the files for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Loads files that have changed. Those that cannot be used, or not yet, change nothing."""
        version = self._version()
        if version in (None, self._loaded):
            return
        try:
            # half a pair would stay in the context: first into one of no use
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._cert_file, self._key_file)
            self._context.load_cert_chain(self._cert_file, self._key_file)
        except OSError as error:
            CERTIFICATE_FAILURES.inc()
            log.error("certificate not replaced", file=str(self._cert_file), error=error.strerror or str(error))
            return
        self._loaded = version
        self._set_expiry()
        log.info("certificate replaced", file=str(self._cert_file))

    def _version(self) -> tuple[int, ...] | None:
        """None while one of them is missing, as in the middle of a replacement."""
        try:
            found = [file.stat() for file in (self._cert_file, self._key_file)]
        except OSError:
            return None
        return tuple(value for one in found for value in (one.st_ino, one.st_mtime_ns, one.st_size))

    def _set_expiry(self) -> None:
        try:
            CERTIFICATE_EXPIRY.set(expiry_s(self._cert_file.read_text("ascii", "replace")))
        except (OSError, ValueError) as error:
            log.warning("certificate not read", file=str(self._cert_file), error=type(error).__name__)


def expiry_s(pem: str) -> float:
    """When the first certificate of a PEM file expires, in seconds since the Unix epoch. ValueError without one.

    Python's ``ssl`` reports it of a peer alone, and of a file not at all.
    """
    _, begin, rest = pem.partition(ssl.PEM_HEADER)
    der = ssl.PEM_cert_to_DER_cert(begin + rest.partition(ssl.PEM_FOOTER)[0] + ssl.PEM_FOOTER)
    try:
        return _not_after_s(der)
    except IndexError as error:
        raise ValueError("a certificate that is cut off") from error


def _not_after_s(der: bytes) -> float:
    """Of Certificate.tbsCertificate (RFC 5280, section 4.1): what stands before ``validity`` is passed over."""
    at = _element(der, _element(der, 0)[1])[1]
    if der[at] == _VERSION:
        at = _element(der, at)[2]
    for _ in ("serialNumber", "signature", "issuer"):
        at = _element(der, at)[2]
    not_before = _element(der, _element(der, at)[1])
    tag, start, end = _element(der, not_before[2])
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(der[start:end].decode("ascii"), form).replace(tzinfo=UTC).timestamp()


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Tag, begin and end of what is in the element at ``at``."""
    size, start = der[at + 1], at + 2
    if size & 0x80:
        of_size = size & 0x7F
        size, start = int.from_bytes(der[start : start + of_size], "big"), start + of_size
    return der[at], start, start + size
