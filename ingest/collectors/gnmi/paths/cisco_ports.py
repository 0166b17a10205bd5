"""One name for a port of NX-OS.

Its models say ``eth1/1`` and ``po1``, its microbursts ``Eth1/1``; its command line, SNMP, and LLDP at the other end of
the link say ``Ethernet1/1`` and ``port-channel1``.
"""

import re

_ETHERNET = re.compile(r"[Ee]th(?=\d+/[\d/]+(?:\.\d+)?$)")
_BUNDLE = re.compile(r"[Pp]o(?=\d+$)")


def long_name(port: str) -> str:
    """
    >>> long_name("eth1/1"), long_name("po7"), long_name("Ethernet1/1"), long_name("HundredGigE0/0/0/1")
    ('Ethernet1/1', 'port-channel7', 'Ethernet1/1', 'HundredGigE0/0/0/1')
    """
    return _BUNDLE.sub("port-channel", _ETHERNET.sub("Ethernet", port, count=1), count=1)
