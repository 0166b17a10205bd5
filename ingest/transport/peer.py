"""Who is at the other end of a connection."""

import asyncio
import ssl
from typing import Any


def plain_address(host: str) -> str:
    """Without its zone; of IPv4 as such, also where it comes to a socket of IPv6.

    >>> plain_address("::ffff:10.0.0.1"), plain_address("fe80::1%eth0"), plain_address("10.0.0.1")
    ('10.0.0.1', 'fe80::1', '10.0.0.1')
    """
    host = host.partition("%")[0]
    return host.removeprefix("::ffff:") if "." in host else host


def certificate_name(transport: asyncio.BaseTransport) -> str:
    """The first name in the certificate of the peer, which was verified in the handshake; '' without one."""
    secured: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    certificate: dict[str, Any] = dict((secured.getpeercert() if secured is not None else None) or {})
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for key, value in subject if key == "commonName"]
    names += [value for _, value in certificate.get("subjectAltName", ())]
    return next((str(name) for name in names if name), "")
