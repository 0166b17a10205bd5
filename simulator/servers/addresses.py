"""Which loopback address serves which device: the layout's addresses, plus an offset for a second simulator."""

from common.errors import ConfigError
from simulator.layout import Endpoint, Exporter, Layout

LUSTRE_PORT, CONTROL_PORT = 32221, 6821
SLURM_HOST = "127.4.0.1"


def with_offset(host: str, offset: int) -> str:
    """``host`` with ``offset`` added to its third octet: simulators with different offsets do not collide.

    >>> with_offset("127.2.0.7", 3)
    '127.2.3.7'
    """
    net, kind, third, last = host.split(".")
    return f"{net}.{kind}.{int(third) + offset}.{last}"


def served_endpoints(layout: Layout, offset: int) -> list[Endpoint]:
    """Every address that this simulator serves: those of the layout, and the Lustre client exporter of each host.

    ConfigError when the offset leaves too few: 256 hosts take one number of the third octet.
    """
    offset_max = 255 - max(int(endpoint.host.split(".")[2]) for endpoint in layout.endpoints)
    if offset > offset_max:
        hosts = len(layout.hosts)
        raise ConfigError(
            f"simulator: address_offset {offset} leaves no addresses for {hosts} hosts (127.1.{offset}.1 to "
            f"127.1.{offset + 255 - offset_max}.{hosts & 255}); expected at most {offset_max}"
        )
    clients = [
        Endpoint(Exporter.LUSTRE, endpoint.device, endpoint.host, LUSTRE_PORT)
        for endpoint in layout.endpoints
        if endpoint.exporter is Exporter.NODE
    ]
    return [
        Endpoint(endpoint.exporter, endpoint.device, with_offset(endpoint.host, offset), endpoint.port)
        for endpoint in (*layout.endpoints, *clients)
    ]
