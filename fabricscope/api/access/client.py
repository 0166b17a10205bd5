"""Whom limits count: one address, or the network of one host where addresses are for the taking."""

import ipaddress

IPV6_PREFIX = 64  # the least that a host is given, with 2**64 addresses


def client_of(address: str) -> str:
    """The key of a client.

    >>> client_of("10.0.0.7"), client_of("::ffff:10.0.0.7"), client_of("2001:db8::1:2:3:4")
    ('10.0.0.7', '10.0.0.7', '2001:db8::/64')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(ipaddress.ip_network((found, IPV6_PREFIX), strict=False))
    return str(found)
