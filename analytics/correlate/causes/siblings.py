"""What parts have in common that fail at once: k of n under one parent, scored against chance.

n parts that each fail once in a time T make k failures within w at a rate of k·C(n, k)·w^(k-1)/T^k. What is that rare
has not failed by itself; of several parents the one under which chance would take longest is what they share.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, lgamma, log

from analytics.correlate.causes.at_once import at_once
from analytics.correlate.cluster.graph import Graph
from analytics.correlate.config import NS_PER_S
from analytics.correlate.versions import NewVersion
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Device, Role

# Of 2,048 hosts with 16,384 GPUs 419 interruptions in 54 days were unexpected (The Llama 3 Herd of Models, 2024, table
# 5): a host with its GPUs and links fails once in nine months, and each part of it more rarely.
FAILS_S = 2048 * 54 * 86_400.0 / 419
VERSION = "version"  # the noun of those that got the same new one
LOT = "lot"  # of modules that were made together
PICKED_MAX = 0.05  # chance that so many of those that fail meanwhile are of one parent, for all parents together
YEARS_MIN = 10.0  # by chance, anywhere in the cluster: longer than a cluster is in use
_YEAR_S = 365.25 * 86_400.0
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Siblings:
    """parents_of: of each part by name, those that it shares with others. sizes: how many parts a parent has.

    noun: of a parent. parents: how many there are in all.
    places: where each part is, if parts that fail at one place alone say more about the place than about the parent.
    of_all: how many parts there are, also without a parent, if one that fails as much as the others do is no parent of
    interest: what makes parts everywhere fail leaves none out. 0 where that is no matter.
    """

    noun: str
    parents_of: Mapping[str, Sequence[str]]
    sizes: Mapping[str, int]
    parents: int
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of_all: int = 0

    def at_one_place(self, failed: Iterable[str]) -> bool:
        """Whether all of these, at least one, are at one place."""
        return bool(frozenset.intersection(*(frozenset(self.places.get(name, ())) for name in failed)))

    def stands_out(self, parent: str, failed: int, others: int) -> bool:
        """Whether more parts of a parent failed than others that fail at the same time let expect.

        If all parts are alike, their number is Poisson with the mean of the others; one more of them is assumed.
        """
        if not self.of_all:
            return True
        of = self.sizes[parent]
        mean = of * (others + 1) / (self.of_all - of + 1)
        return self.parents * at_least(failed, mean) <= PICKED_MAX


@dataclass(frozen=True, slots=True)
class Shared:
    """failed: of the ``of`` parts under a parent, by onset. years: between two such coincidences by chance."""

    noun: str
    name: str
    failed: tuple[str, ...]
    of: int
    years: float

    @property
    def parent(self) -> str:
        """``rack r1``."""
        return f"{self.noun} {self.name}"

    @property
    def chance(self) -> str:
        """``by chance once in 1,800 years``."""
        often = f"{self.years:,.0f} years" if self.years < _MILLION else "over a million years"
        return f"by chance once in {often}"


@dataclass(frozen=True, slots=True)
class _Failed:
    id: str
    onset_ns: int


def shared(
    view: CorrelationView, onsets_ns: Mapping[str, int], siblings: Sequence[Siblings], least: int, within_ns: int = 0
) -> Iterator[Shared]:
    """Parents of ``least`` or more parts that failed within one window, unlikeliest first; each part has one.

    onsets_ns: of each part that failed, by name. within_ns: the window; 0: what counts as at once.
    """
    siblings = [kin for kin in siblings if kin.sizes]  # without a parent nothing is in common
    if len(onsets_ns) < least or not siblings:
        return
    for group in at_once((_Failed(*each) for each in onsets_ns.items()), within_ns or view.config.onset_slack_ns):
        left = {each.id: each.onset_ns for each in group}
        while found := _unlikeliest(view, left, siblings, least):
            yield found
            for name in found.failed:
                del left[name]


def _unlikeliest(
    view: CorrelationView, left: Mapping[str, int], siblings: Sequence[Siblings], least: int
) -> Shared | None:
    found: list[Shared] = []
    for kin in siblings if len(left) >= least else ():
        under: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(left, key=lambda each: (left[each], each)):
            for parent in kin.parents_of.get(name, ()):
                under[parent].append(name)
        for parent, failed in under.items():
            if len(failed) < least or kin.at_one_place(failed):
                continue
            if kin.stands_out(parent, len(failed), len(left) - len(failed)):
                within_s = max(view.config.interval_s, (left[failed[-1]] - left[failed[0]]) / NS_PER_S)
                years = years_by_chance(len(failed), kin.sizes[parent], within_s) / kin.parents
                found.append(Shared(kin.noun, parent, tuple(failed), kin.sizes[parent], years))
    best = max(found, key=lambda each: (each.years, -each.of, each.parent), default=None)
    return best if best and best.years >= YEARS_MIN else None


def years_by_chance(failed: int, of: int, within_s: float) -> float:
    """Years between two times at which ``failed`` of so many parts fail within so many seconds by themselves.

    >>> f"{years_by_chance(2, 16, 10.0):,.0f}"  # hosts of a rack
    '6,866'
    """
    log_choices = lgamma(of + 1) - lgamma(failed + 1) - lgamma(of - failed + 1)
    log_rate = log(failed) + log_choices + (failed - 1) * log(within_s) - failed * log(FAILS_S)
    return exp(min(-log_rate, 700.0)) / _YEAR_S


def at_least(events: int, mean: float) -> float:
    """The chance of so many events or more, Poisson.

    >>> round(at_least(1, 0.5), 4)  # 1 - exp(-0.5)
    0.3935
    """
    term = below = exp(-mean)
    for each in range(1, events):
        term *= mean / each
        below += term
    return max(0.0, 1.0 - below)


def hosts_by_rack(view: CorrelationView) -> Siblings:
    """All hosts, by the racks that they stand in."""
    return view.cluster.once(_hosts_by_rack)


def hosts_by_pod(view: CorrelationView) -> Siblings:
    """All hosts, by their pods."""
    return view.cluster.once(_hosts_by_pod)


def hosts_by_version(view: CorrelationView, onsets_ns: Mapping[str, int]) -> Siblings:
    """These hosts, by what was new on them before they failed; others that got the same are its parts too.

    onsets_ns: when each of them failed.
    """
    before = {
        name: tuple(_version(new) for new in view.versions[name].values() if new.since_ns < onsets_ns[name])
        for name in onsets_ns.keys() & view.versions.keys()
    }
    hosts = view.once(_hosts_by_version)
    return Siblings(VERSION, before, hosts, max(1, len(hosts)))


def gpus_of_host(view: CorrelationView, host: str) -> Siblings:
    """The GPUs of one host among many."""
    gpus = {ref.name: (host,) for ref in view.graph.gpus_of(host)}
    return Siblings("host", gpus, {host: len(gpus)}, max(1, view.cluster.once(_count_of_hosts)))


def links_of_switches(view: CorrelationView, showing: FindingKind, names: Iterable[str]) -> Siblings:
    """These links, by the switches at their ends. showing: what they show, under which it is kept for the next step."""
    return view.kept(_links_of_switches, showing, tuple(names))


def _links_of_switches(view: CorrelationView, names: Sequence[str]) -> Siblings:
    links = {
        name: tuple(filter(view.graph.is_switch, view.graph.ends(ObjectRef(ObjectKind.LINK, name)))) for name in names
    }
    sizes = {switch: len(view.graph.links(switch)) for ends in links.values() for switch in ends}
    return Siblings("switch", links, sizes, max(1, len(view.graph.switches)))


def links_by_lot(view: CorrelationView, names: Iterable[str]) -> Siblings:
    """These links, by the lots of the modules at their ends.

    Errors show at a link and not at one of its two modules, so links are counted. Those of one switch or host have that
    in common before they have a lot, and a device that restarts damages what it sends without any.
    """
    graph = view.graph
    if not graph.lots:
        return Siblings(LOT, {}, {}, 1)
    restarted = {finding.object.device for finding in view.of(FindingKind.DEVICE_REBOOTED)} | view.members.keys()
    lots: dict[str, tuple[str, ...]] = {}
    places: dict[str, tuple[str, ...]] = {}
    for name in names:
        link = ObjectRef(ObjectKind.LINK, name)
        if restarted.isdisjoint(graph.ends(link)):
            lots[name] = tuple(sorted({graph.lots[port] for port in graph.ports(link) if port in graph.lots}))
            places[name] = graph.ends(link)
    known = {lot for of_link in lots.values() for lot in of_link}
    sizes = {lot: len({graph.link_of.get(port) for port in graph.ports_of_lot[lot]} - {None}) for lot in known}
    return Siblings(LOT, lots, sizes, max(1, len(graph.ports_of_lot)), places, graph.number_of_links)


def _version(new: NewVersion) -> str:
    return f"{new.component.replace('_', ' ')} {new.version}"


def _hosts_by_version(view: CorrelationView) -> Counter[str]:
    """How many hosts got each version."""
    return Counter(
        _version(new)
        for name, of_host in view.versions.items()
        if view.graph.role(name) is Role.HOST
        for new in of_host.values()
    )


def _hosts_by_rack(graph: Graph) -> Siblings:
    racks = {known.name: (known.rack,) for known in _hosts(graph) if known.rack}
    sizes = Counter(rack for (rack,) in racks.values())
    return Siblings("rack", racks, sizes, graph.number_of_racks)


def _hosts_by_pod(graph: Graph) -> Siblings:
    pods = {known.name: (known.pod,) for known in _hosts(graph) if known.pod}
    sizes = Counter(pod for (pod,) in pods.values())
    return Siblings("pod", pods, sizes, len(sizes))


def _hosts(graph: Graph) -> Iterator[Device]:
    return (known for known in graph.devices.values() if known.role is Role.HOST)


def _count_of_hosts(graph: Graph) -> int:
    return sum(1 for _ in _hosts(graph))
