"""The fabric as a plan: groups of devices in tiers and bundles of links between them, so that a person can read it.

A fabric has thousands of links. All of it is drawn by pod, or by rack where there are no pods; a pod by its switches
and racks; a rack by its hosts. Of more groups than fit the unhealthy ones are drawn, and the others as one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote

from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Device, Link, Role, Topology

GROUPS_MAX = 16
"""Of one tier: more would not be readable side by side, at five metres or on a phone."""
_PLANS_MAX = 16  # scopes that somebody looks at
TIERS = (Role.SPINE, Role.LEAF, Role.HOST, Role.STORAGE)
TIER_NAMES = {Role.SPINE: "spines", Role.LEAF: "leaves", Role.HOST: "hosts", Role.STORAGE: "storage"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of the fabric: all of it, a pod, or a rack."""

    pod: str = ""
    rack: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Devices of one tier, drawn as one box. pod, rack: where it leads; '' where it does not lead anywhere."""

    id: str
    tier: Role
    name: str
    devices: tuple[str, ...]
    pod: str = ""
    rack: str = ""


@dataclass(frozen=True)
class Plan:
    """groups: tier by tier, by name. bundles: the links between each two of them, by their ids, ``a`` above ``b``."""

    groups: tuple[Group, ...]
    bundles: Mapping[tuple[str, str], tuple[Link, ...]]

    @cached_property
    def group_of(self) -> Mapping[str, str]:
        """The id of the group of each device."""
        return {device: group.id for group in self.groups for device in group.devices}


class Fabric:
    """The devices and links of one version of the topology."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.devices = {device.name: device for device in topology.entities(Device)}
        self._plans: dict[Scope, Plan] = {}
        self.links = [one for one in topology.entities(Link) if {one.a_device, one.b_device} <= self.devices.keys()]

    @cached_property
    def link_of(self) -> Mapping[str, Link]:
        """The link of each port, by the port's name."""
        return {port.name: link for link in self.links for port in link.ports}

    def between(self, link: Link) -> str:
        """The tiers that a link joins, in words: ``spines - leaves``."""
        ends = {self.devices[link.a_device].role, self.devices[link.b_device].role}
        return " – ".join(TIER_NAMES[tier] for tier in TIERS if tier in ends)

    def links_of(self, found: ObjectRef) -> list[Link]:
        """The links that an object is, or has at its ends."""
        if found.kind is ObjectKind.LINK:
            ends = (self.link_of.get(end) for end in found.name.split("--"))
            return [link for link in ends if link is not None][:1]
        link = self.link_of.get(found.name) if found.kind is ObjectKind.PORT else None
        return [] if link is None else [link]

    def plan(self, scope: Scope, worst: Sequence[str] = ()) -> Plan:
        """The groups and bundles of a scope; one that does not exist has none.

        worst: devices, the unhealthiest first. Of more groups than are drawn, those that have them are drawn.
        """
        chosen = self._chosen(scope)
        ranked = [self.devices[name] for name in dict.fromkeys(worst) if name in self.devices]
        groups = tuple(group for tier in TIERS for group in _grouped(tier, chosen, scope, ranked))
        known = self._plans.get(scope)
        if known is None or known.groups != groups:
            if len(self._plans) >= _PLANS_MAX:
                self._plans.clear()
            known = self._plans[scope] = Plan(groups, self._bundles(groups))
        return known

    def _bundles(self, groups: Sequence[Group]) -> Mapping[tuple[str, str], tuple[Link, ...]]:
        at = {device: place for place, group in enumerate(groups) for device in group.devices}
        bundles: dict[tuple[int, int], list[Link]] = {}
        for link in self.links:
            one, other = at.get(link.a_device), at.get(link.b_device)
            if one is not None and other is not None:
                bundles.setdefault((min(one, other), max(one, other)), []).append(link)
        return {(groups[one].id, groups[other].id): tuple(links) for (one, other), links in bundles.items()}

    def _chosen(self, scope: Scope) -> list[Device]:
        """All of the scope, and the switches that it hangs from."""
        if scope == Scope():
            return list(self.devices.values())
        inside = {name for name, one in self.devices.items() if _is_inside(one, scope)}
        for _ in range(2 if scope.rack else 1):
            inside |= {above for link in self.links for above in self._above(link, inside)}
        return [one for name, one in self.devices.items() if name in inside]

    def _above(self, link: Link, inside: set[str]) -> Iterable[str]:
        for one, other in ((link.a_device, link.b_device), (link.b_device, link.a_device)):
            if one in inside and TIERS.index(self.devices[other].role) < TIERS.index(self.devices[one].role):
                yield other


def _is_inside(device: Device, scope: Scope) -> bool:
    return scope.pod in ("", device.pod) and scope.rack in ("", device.rack)


class _Place(NamedTuple):
    """What the devices of a group have in common; '' what they need not have."""

    pod: str = ""
    rack: str = ""
    name: str = ""

    def has(self, device: Device) -> bool:
        """Whether a device of any tier belongs there."""
        own = (device.pod, device.rack, device.name)
        return any(self) and all(not mine or mine == its for mine, its in zip(self, own, strict=True))


def _grouped(tier: Role, devices: Iterable[Device], scope: Scope, worst: Sequence[Device]) -> Iterator[Group]:
    """By name inside of a scope, but for hosts of a pod, whose racks lead on; else by pod, or by rack without pods."""
    own = [device for device in devices if device.role is tier]
    places: dict[_Place, list[str]] = {}
    has_pods = any(device.pod for device in own)
    for device in own:
        places.setdefault(_place(device, scope, has_pods), []).append(device.name)
    if len(places) == 1 and not scope.pod and not scope.rack:
        places = {_Place(): [device.name for device in own]}
    shown = sorted(places)
    if len(shown) > GROUPS_MAX:
        ranks = {
            place: rank for rank, device in reversed(list(enumerate(worst))) for place in shown if place.has(device)
        }
        shown = sorted(sorted(shown, key=lambda place: (ranks.get(place, len(worst)), place))[: GROUPS_MAX - 1])
    for place in shown:
        yield _group(tier, place, places.pop(place))
    if places:
        rest = tuple(name for names in places.values() for name in names)
        yield Group(f"{tier}/others", tier, f"{len(places)} others", rest)


def _place(device: Device, scope: Scope, has_pods: bool) -> _Place:
    if scope.rack or (scope.pod and device.role is not Role.HOST):
        return _Place(name=device.name)
    if scope.pod:
        return _Place(device.pod, device.rack)
    return _Place(device.pod) if has_pods else _Place(rack=device.rack)


def _group(tier: Role, place: _Place, devices: Sequence[str]) -> Group:
    name = place.name or place.rack or place.pod or (devices[0] if len(devices) == 1 else TIER_NAMES[tier])
    return Group(_id(tier, place), tier, name, tuple(devices), place.pod, place.rack)


def _id(tier: Role, place: _Place) -> str:
    """``host/pod=pod1/rack=r1``: another one for each place of a tier, whatever pods, racks and devices are called."""
    return "/".join((tier, *(f"{of}={quote(part, safe='')}" for of, part in place._asdict().items() if part)))
