"""The clients that wait for a file system, and what their paths to it have in common.

A path is: client, its links, their leaves, the links of the server, the server, its targets. What all clients share
that wait, and those do not that go on, is where to look; that they share the target alone they show together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from analytics.correlate.cluster.graph import Graph
from analytics.correlate.view import CorrelationView
from analytics.models.storage_clients import CLIENTS_MEASURED, SERVER_SECONDS
from telemetry.findings import Finding, FindingKind
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.series import parse_series_key

AGREE_MIN = 2  # clients; one shows nothing about anybody else's path
MEASURED_MIN = 3  # of whom the others show that it is not the target, as they use it too
# A server that states half of what its clients measure is itself most of why they wait; the way takes the rest.
_SERVER_SHARE_MIN = 0.5
# Hosts are read at different moments: whether others wait too is known once each has been read twice.
_SETTLED_INTERVALS = 2.0


@dataclass(frozen=True, eq=False)
class Clients:
    """Those of one file system that wait. waits: what shows it, by onset. servers: devices that serve it, as far as
    known, by name. mounted: hosts that have it mounted, as far as known."""

    filesystem: str
    waits: tuple[Finding, ...]
    servers: tuple[str, ...]
    mounted: frozenset[str]

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """The clients that wait, by name."""
        return tuple(sorted({finding.object.name for finding in self.waits}))

    @cached_property
    def measured(self) -> int:
        """How many clients have times, those that wait among them."""
        known = max((round(_value(finding, CLIENTS_MEASURED) or 0) for finding in self.waits), default=0)
        return max(known, len(self.hosts))

    @cached_property
    def server_share(self) -> float | None:
        """The part of the clients' seconds an operation that the server itself states; None where it states none."""
        pairs = ((_value(finding, SERVER_SECONDS), finding.evidence[0].value) for finding in self.waits)
        shares = [server / seconds for server, seconds in pairs if server is not None and seconds > 0]
        return median(shares) if shares else None

    @property
    def server_says_so(self) -> bool:
        """Whether the server's own times account for most of what the clients wait."""
        return self.server_share is not None and self.server_share >= _SERVER_SHARE_MIN

    @property
    def count(self) -> str:
        """``12 of 14 clients``."""
        return f"{len(self.hosts)} of {self.measured} client{'' if self.measured == 1 else 's'}"


def waiting_clients(view: CorrelationView) -> tuple[Clients, ...]:
    """Clients that wait, by file system; a finding that names none is left out."""
    return view.once(_waiting_clients)


def filesystem_of(finding: Finding) -> str:
    """The file system that a client waits for; '' where its evidence names none."""
    series = finding.evidence[0].series if finding.evidence else ""
    return parse_series_key(series)[1].get("fs", "") if series.endswith("}") else ""


def servers_of(view: CorrelationView, filesystem: str) -> tuple[str, ...]:
    """Devices that serve a file system, by name: by its targets, and of an export (``nas1:/home``) by its host."""
    found = {*view.cluster.once(_servers).get(filesystem, ())}
    host, colon, _ = filesystem.partition(":")
    names = (host, host.partition(".")[0]) if colon else ()
    found |= {name for name in names if view.graph.is_edge(name)}
    return tuple(sorted(found))


def stated_slow(view: CorrelationView, clients: Clients) -> list[Finding]:
    """That the server's own times are slow: of its targets, or of the disks of a server that states no targets."""
    head = f"{clients.filesystem}/"
    return [
        finding
        for finding in view.of(FindingKind.STORAGE_SLOW)
        if (finding.object.kind is ObjectKind.STORAGE_TARGET and finding.object.name.startswith(head))
        or finding.object.device in clients.servers
    ]


def common_leaf(view: CorrelationView, clients: Clients) -> str:
    """The switch behind which all clients are that wait, most of those behind it do, and others are elsewhere; ''
    where there is none, or several between which nothing decides."""
    if len(clients.hosts) < AGREE_MIN:
        return ""
    shared = frozenset[str].intersection(*(leaves_of(view, host) for host in clients.hosts))
    found = []
    for leaf in sorted(shared):
        behind = clients.mounted & view.graph.neighbours(leaf)
        if clients.mounted - behind and 2 * len(clients.hosts) >= len(behind):
            found.append(leaf)
    return found[0] if len(found) == 1 else ""


def leaves_of(view: CorrelationView, host: str) -> frozenset[str]:
    """Switches that a host is connected to."""
    return frozenset(filter(view.graph.is_switch, view.graph.neighbours(host)))


def over_leaves(view: CorrelationView, clients: Clients) -> str:
    """``12 of 14 clients of nas1:/home on 4 leaves``: how many wait, and behind how many switches."""
    leaves = len(frozenset[str]().union(*(leaves_of(view, host) for host in clients.hosts)))
    on = f" on {leaves} {'leaf' if leaves == 1 else 'leaves'}" if leaves else ""
    return f"{clients.count} of {clients.filesystem}{on}"


def agree(view: CorrelationView, clients: Clients) -> bool:
    """Whether clients wait over different paths: several, and no part of the way but the server is theirs alone."""
    return len(clients.hosts) >= AGREE_MIN and not common_leaf(view, clients)


def contradict(view: CorrelationView, clients: Clients) -> bool:
    """Whether clients show that the target is not why some of them wait: only those on one path do, and that has been
    so for long enough for the others to show it."""
    if clients.measured < MEASURED_MIN or agree(view, clients):
        return False
    since_ns = clients.waits[0].onset_ns
    cadences_s = (finding.cadence_s for finding in clients.waits)
    return view.now_ns - since_ns >= view.config.across_ns(_SETTLED_INTERVALS, cadences_s)


def path_of(view: CorrelationView, finding: Finding) -> tuple[str, ...]:
    """Devices on the way of a client that waits: the host, the servers, and the switches that the host is behind."""
    host = finding.object.name
    return (host, *servers_of(view, filesystem_of(finding)), *sorted(leaves_of(view, host)))


def is_on_path(view: CorrelationView, devices: frozenset[str], finding: Finding) -> bool:
    """Whether what disturbs these devices is on a client's way: its own link or the server's, or one between switches
    next to it. The link of another host to the same switch is not."""
    host, servers = finding.object.name, servers_of(view, filesystem_of(finding))
    if not devices.isdisjoint((host, *servers)):
        return True
    return not any(map(view.graph.is_edge, devices)) and not devices.isdisjoint(leaves_of(view, host))


def refs_of(view: CorrelationView, finding: Finding) -> list[ObjectRef]:
    """What a client that waits is about: itself, the file system, and its servers."""
    filesystem = filesystem_of(finding)
    servers = [ObjectRef(ObjectKind.DEVICE, name) for name in servers_of(view, filesystem)]
    named = [ObjectRef(ObjectKind.FILESYSTEM, filesystem)] if filesystem else []
    return [finding.object, *named, *servers]


def _waiting_clients(view: CorrelationView) -> tuple[Clients, ...]:
    waits: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.STORAGE_WAIT):
        if filesystem := filesystem_of(finding):
            waits[filesystem].append(finding)
    return tuple(
        Clients(name, tuple(waits[name]), servers_of(view, name), frozenset(view.graph.mounted_on(name)))
        for name in sorted(waits)
    )


def _servers(graph: Graph) -> Mapping[str, Iterable[str]]:
    """Servers by the file systems of their targets."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for target in graph.targets.values():
        found[target.filesystem].add(target.server)
    return found


def _value(finding: Finding, name: str) -> float | None:
    """Of the evidence with this name."""
    return next((each.value for each in finding.evidence if each.series.startswith(f"{name}{{")), None)
