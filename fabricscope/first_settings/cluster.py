"""What was found of a cluster: its devices and their links, from several sources."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from telemetry.objects import NAME_CHARS_MAX
from telemetry.topology import Role

_NAME = re.compile(r"[\w.:-]+")


def is_name(text: str) -> bool:
    """Whether it can name a device or port in an inventory, where brackets and commas mean several."""
    return len(text) <= NAME_CHARS_MAX and _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One cable, as one of its two devices sees it.

    forwards: whether the other device is a bridge or router. address: of its management, or empty.
    """

    device: str
    port: str
    other: str
    other_port: str
    forwards: bool
    address: str


@dataclass(slots=True)
class Cluster:
    """Devices by name. addresses: of the management of switches. links: pairs of ``device/port``, each pair sorted."""

    hosts: set[str] = field(default_factory=set)
    addresses: dict[str, str] = field(default_factory=dict)
    links: set[tuple[str, str]] = field(default_factory=set)
    _reporters: set[str] = field(default_factory=set)
    _switches: set[str] = field(default_factory=set)

    def add_hosts(self, names: Iterable[str]) -> None:
        self.hosts.update(names)

    def add_neighbours(self, neighbours: Iterable[Neighbour]) -> None:
        for one in neighbours:
            ends = sorted((f"{one.device}/{one.port}", f"{one.other}/{one.other_port}"))
            self.links.add((ends[0], ends[1]))
            self._reporters.add(one.device)
            if one.forwards:
                self._switches.add(one.other)
                if one.address:
                    self.addresses[one.other] = one.address
            else:  # hosts are not cabled to each other
                self.hosts.add(one.other)
                self._switches.add(one.device)

    def leave_out_shared_addresses(self) -> list[str]:
        """A line for each address that several devices say is theirs: nobody knows whose it is."""
        owners: dict[str, list[str]] = {}
        for name, address in sorted(self.addresses.items()):
            owners.setdefault(address, []).append(name)
        shared = {address: names for address, names in owners.items() if len(names) > 1}
        self.addresses = {name: address for name, address in self.addresses.items() if address not in shared}
        return [f"{address}: left out, as it is the address of {', '.join(names)}" for address, names in shared.items()]

    def roles(self) -> dict[str, Role]:
        """Of every device. A switch with a host is a leaf, one with switches alone a spine; others are hosts."""
        hosts = (self.hosts | self._reporters) - self._switches
        devices = [tuple(end.partition("/")[0] for end in link) for link in self.links]
        leaves = {name for pair in devices if hosts & set(pair) for name in pair} - hosts
        switches = {name: Role.LEAF if name in leaves else Role.SPINE for name in sorted(self._switches)}
        return {**switches, **dict.fromkeys(sorted(hosts), Role.HOST)}
