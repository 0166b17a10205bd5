"""Who serves a file system, and what the clients that wait for it share."""

import pytest

from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.storage_clients import common_leaf, is_on_path, servers_of, waiting_clients
from analytics.correlate.view import CorrelationView
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.objects import device
from telemetry.topology import Device, Entity, Link, Mount, Role, StorageTarget, Topology
from tests.unit.analytics.correlate.small_fabric import T0, facts

HOME = "nas1:/home"


def cluster() -> list[Entity]:
    """Two clients on each of three leaves; on the fourth one alone, which has a link to the third too."""
    homes = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3, "f": 3, "g": 4}
    found: list[Entity] = [Device(f"leaf{n}", Role.LEAF) for n in range(1, 5)]
    found += [Device("nas1", Role.STORAGE), Link("leaf1", "Ethernet50", "nas1", "eth0")]
    for name, leaf in homes.items():
        found += [Device(name, Role.HOST), Link(f"leaf{leaf}", f"to-{name}", name, "eth0"), Mount(name, HOME)]
    return [*found, Link("leaf3", "to-g", "g", "eth1"), StorageTarget("scratch", "0", "oss1")]


def view(*waiting: str, filesystem: str = HOME) -> CorrelationView:
    known = Cluster()
    known.update(Topology().with_facts(facts(cluster())))
    return CorrelationView([wait(name, filesystem) for name in waiting], known)


def wait(name: str, filesystem: str = HOME) -> Finding:
    evidence = Evidence(f'storage_errors_total{{device="{name}",fs="{filesystem}"}}', 0.1, 0.0, "errors/s")
    of = FindingState.ACTIVE, T0, T0
    return Finding(name, FindingKind.STORAGE_WAIT, device(name), "storage_timeouts", *of, 2.0, 0.6, (evidence,))


@pytest.mark.parametrize(
    ("filesystem", "servers"),
    [
        ("scratch", ("oss1",)),
        (HOME, ("nas1",)),
        ("nas1.pod1.example.org:/home", ("nas1",)),
        ("10.0.0.1:/home", ()),
        ("nas1", ()),
        ("leaf1:/home", ()),
    ],
    ids=["by its targets", "by its export", "by a full name", "an address", "no export", "a switch serves nothing"],
)
def test_the_server_of_a_file_system(filesystem: str, servers: tuple[str, ...]) -> None:
    assert servers_of(view(), filesystem) == servers


@pytest.mark.parametrize(
    ("waiting", "leaf"),
    [
        ("cd", "leaf2"),
        ("c", ""),
        ("ce", ""),
        ("abcdefg", ""),
        ("eg", "leaf3"),
        ("efg", "leaf3"),
    ],
    ids=["both behind it", "one shows nothing", "of two leaves", "everybody", "most behind it", "all behind it"],
)
def test_the_leaf_that_clients_share(waiting: str, leaf: str) -> None:
    seen = view(*waiting)
    (clients,) = waiting_clients(seen)
    assert common_leaf(seen, clients) == leaf


def test_clients_of_two_file_systems_are_apart_and_each_counts_once() -> None:
    known = Cluster()
    known.update(Topology().with_facts(facts(cluster())))
    twice = [wait("a"), wait("a"), wait("b"), wait("c", "scratch")]
    seen = CorrelationView(twice, known)
    assert [(each.filesystem, each.count) for each in waiting_clients(seen)] == [
        (HOME, "2 of 2 clients"),
        ("scratch", "1 of 1 client"),
    ]


@pytest.mark.parametrize(
    ("devices", "found"),
    [
        ({"leaf2", "c"}, True),
        ({"leaf2", "d"}, False),
        ({"leaf1", "nas1"}, True),
        ({"leaf2", "spine1"}, True),
        ({"leaf3", "spine1"}, False),
    ],
    ids=["its own link", "another client's", "the server's", "an uplink of its leaf", "of another leaf"],
)
def test_the_way_of_a_client(devices: set[str], found: bool) -> None:
    assert is_on_path(view("c"), frozenset(devices), wait("c")) is found
