"""From the output of ``lldpcli -f json show neighbors`` to cables. Pure.

lldpd writes a list of one element as the element itself, and names chassis by keys; a chassis without a name has none.
"""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

import orjson

from common.errors import BadInput
from fabricscope.first_settings.cluster import Neighbour, is_name

_FORWARDS = frozenset({"Bridge", "Router"})


def parse_neighbours(body: bytes, device: str, where: str) -> tuple[list[Neighbour], int]:
    """The cables of ``device``, and how many neighbours cannot be used. BadInput when it is no such output."""
    try:
        interfaces = orjson.loads(body)["lldp"].get("interface", [])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadInput(f"{where}: expected the output of `lldpcli -f json show neighbors`", "bad_format") from None
    found, left_out = [], 0
    for port, interface in _pairs(interfaces):
        try:
            neighbour = _neighbour(device, port, interface)
        except (KeyError, TypeError, AttributeError, IndexError, StopIteration):
            left_out += 1
            continue
        usable = all(map(is_name, (neighbour.port, neighbour.other))) and is_port(neighbour.other_port)
        left_out += not usable
        found += [neighbour] * usable
    return found, left_out


def is_port(text: str) -> bool:
    """Ports of some switches hold slashes: Ethernet1/2."""
    return all(map(is_name, text.split("/")))


def _neighbour(device: str, port: str, interface: Mapping[str, Any]) -> Neighbour:
    name, chassis = next(iter(interface["chassis"].items()))
    chassis["id"]  # of a chassis without a name its fields are here, and a field has none
    capabilities = {each["type"] for each in _list(chassis.get("capability")) if each["enabled"]}
    addresses = [str(each) for each in _list(chassis.get("mgmt-ip")) if _is_address(each)]
    others = [each for each in addresses if not each.lower().startswith("fe80:")]
    return Neighbour(
        device,
        port,
        str(name),
        str(interface["port"]["id"]["value"]),
        forwards=bool(capabilities & _FORWARDS),
        address=others[0] if others else "",
    )


def _is_address(text: object) -> bool:
    """Whatever else a neighbour says there would be read as a host and a port."""
    try:
        ip_address(str(text))
    except ValueError:
        return False
    return "%" not in str(text)  # a scope is one of the neighbour's own, and any text


def _pairs(interfaces: object) -> Iterator[tuple[str, Any]]:
    for each in _list(interfaces):
        if isinstance(each, dict):
            yield from each.items()


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
