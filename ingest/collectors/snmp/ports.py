"""Which port a sensor is of, from its description and the names of the device's interfaces. Pure.

Agents write the port's name into the sensor's: ``DOM RX Power Sensor for etp1/2`` (SONiC: lane 2 of the port with alias
etp1), ``Ethernet1/1 Lane 2 Transceiver Receive Power Sensor`` (NX-OS). A slash may be part of the port's name or stand
before the lane: what interfaces there are decides.
"""

import re
from collections.abc import Mapping

_FOR = re.compile(r".*\bfor (?P<port>\S+?)(?:/(?P<lane>\d+))?")
_LANE = re.compile(r"(?P<port>\S+)(?: Lane (?P<lane>\d+))? .*")


def port_of(description: str, interfaces: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and lane of the port ('' where there is none); None for a sensor of no port.

    interfaces: each name, description or alias of an interface -> its name.
    >>> port_of("DOM RX Power Sensor for etp1/2", {"etp1": "Ethernet0"})
    ('Ethernet0', '2')
    >>> port_of("DOM Temperature Sensor for Ethernet49/1", {"Ethernet49/1": "Ethernet49/1"})
    ('Ethernet49/1', '')
    >>> port_of("Temperature sensor for PSU 1", {"etp1": "Ethernet0"}) is None
    True
    """
    whole = description.rpartition(" for ")[2]
    if whole in interfaces:
        return interfaces[whole], ""
    for pattern in (_FOR, _LANE):
        matched = pattern.fullmatch(description)
        if matched is not None and matched["port"] in interfaces:
            return interfaces[matched["port"]], matched["lane"] or ""
    return None
