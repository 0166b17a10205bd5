"""A device whose links are dark is silent at once; one that only lost a collection is not."""

from collections.abc import Iterable, Mapping, Sequence

import pytest

from analytics.correlate.correlator import Correlator
from analytics.engine import Engine, Output
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentKind, IncidentState
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Device, Entity, Link, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, down, port_key, run, table

LEAF = table("leaf1", [port_key("fabric_port_up")])
HOST = table("node1", [series_key("node_load_1m", {"device": "node1"})], "node")
FACTS: list[Entity] = [
    Device("leaf1", Role.LEAF),
    Device("node1", Role.HOST),
    Link("leaf1", "Ethernet0", "node1", "mlx5_0"),
]
FAILS = 12


def found(host: list[SampleBatch], up: dict[int, float], seqs: int = 20) -> list[Finding]:
    """host: its collections. up: state of the leaf's port by collection, 1 elsewhere."""
    return judged(host, [batch(LEAF, seq, [up.get(seq, 1.0)]) for seq in range(seqs)])


def judged(host: list[SampleBatch], leaf: list[SampleBatch]) -> list[Finding]:
    """Both with all of their collections."""
    engine = Engine(CONFIG)
    engine.add_facts(TopologyFact(fact, START_NS - 1, "lldp") for fact in FACTS)
    outputs = run(engine, sorted([*leaf, *host], key=lambda each: each.collection.collected_ns))
    return [one for one in outputs if isinstance(one, Finding) and one.detector == "target_cut_off"]


DARK = dict.fromkeys(range(FAILS, 40), 0.0)
ALIVE = [batch(HOST, seq, [float(seq)], at_s=seq * INTERVAL_S + 2) for seq in range(FAILS)]


@pytest.mark.parametrize("dies", [ALIVE, [*ALIVE, down(HOST, FAILS)]])
def test_it_is_silent_after_the_first_collection_that_is_missing(dies: list[SampleBatch]) -> None:
    first = found(dies, DARK)[0]
    assert str(first.object) == "device:node1"
    assert (first.observed_ns - START_NS) / SECOND <= (FAILS + 1) * INTERVAL_S + 5


@pytest.mark.parametrize(
    ("host", "up"),
    [
        ([*ALIVE, *(down(HOST, seq) for seq in range(FAILS, 20))], {}),  # its exporter is down
        ([batch(HOST, seq, [1.0], at_s=seq * INTERVAL_S + 2) for seq in range(20)], DARK),  # its cable is broken
    ],
)
def test_a_device_that_is_only_silent_or_only_unplugged_is_not_cut_off(
    host: list[SampleBatch], up: dict[int, float]
) -> None:
    assert found(host, up) == []


def test_an_answer_ends_it() -> None:
    back = [*ALIVE, *(batch(HOST, seq, [1.0], at_s=seq * INTERVAL_S + 2) for seq in range(17, 22))]
    states = [one.state for one in found(back, dict.fromkeys(range(FAILS, 17), 0.0), 22)]
    assert (states[0], states[-1]) == (FindingState.ACTIVE, FindingState.CLEARED)


@pytest.mark.parametrize(("host_s", "leaf_s", "stated_s"), [(10, 10, 10), (10, 30, 30), (30, 10, 30), (60, 30, 60)])
def test_it_states_how_often_something_new_is_known_of_the_host_and_its_ports(
    host_s: int, leaf_s: int, stated_s: int
) -> None:
    dies_s, ends_s = 1200, 1600
    host = [batch(HOST, seq, [float(seq)], at_s=at_s + 2) for seq, at_s in enumerate(range(0, dies_s, host_s))]
    leaf = [batch(LEAF, seq, [float(at_s < dies_s)], at_s=at_s) for seq, at_s in enumerate(range(0, ends_s, leaf_s))]
    assert judged(host, leaf)[0].cadence_s == pytest.approx(stated_s, rel=0.02)


HOSTS, LEAVES = ("node1", "node2", "node3"), ("leaf1", "leaf2")
RAILS = {leaf: [f"Ethernet{n}" for n in range(len(HOSTS))] for leaf in LEAVES}


def unrecorded(*, dies: Mapping[str, int], dark: Mapping[str, Sequence[str]], seqs: int = 20) -> list[Output]:
    """A cluster without a recorded cable: hosts with a NIC for each leaf.

    dies: hosts, each with its first collection that fails. dark: ports that lose their carrier, some seconds before
    collection FAILS of the hosts.
    """
    engine, batches = Engine(CONFIG, Correlator()), list[SampleBatch]()
    roles = {**dict.fromkeys(HOSTS, Role.HOST), **dict.fromkeys(LEAVES, Role.LEAF)}
    engine.add_facts(TopologyFact(Device(name, role), START_NS - 1, "inventory") for name, role in roles.items())
    for at, leaf in enumerate(LEAVES):
        of = table(leaf, [port_key("fabric_port_up", port, leaf) for port in RAILS[leaf]])
        for seq in range(seqs):
            up = [float(seq < FAILS - 1 or port not in dark.get(leaf, ())) for port in RAILS[leaf]]
            batches.append(batch(of, seq, up, at_s=seq * INTERVAL_S + 2 + at))
    for host in HOSTS:
        of = table(host, [port_key("nic_up", f"mlx5_{n}", host) for n in range(len(LEAVES))], "node")
        batches += [down(of, seq) if seq >= dies.get(host, seqs) else batch(of, seq, [1.0, 1.0]) for seq in range(seqs)]
    return run(engine, sorted(batches, key=lambda each: each.collection.collected_ns))


def cut_off(outputs: Iterable[Output]) -> list[Finding]:
    return [one for one in outputs if isinstance(one, Finding) and one.detector == "target_cut_off"]


def behind(*hosts: str) -> dict[str, list[str]]:
    """The ports that lead to these hosts."""
    return {leaf: [RAILS[leaf][HOSTS.index(host)] for host in hosts] for leaf in LEAVES}


def test_hosts_that_account_for_the_dark_ports_are_cut_off_once_all_ports_were_read() -> None:
    """Ports go dark at 112 and 113 s, are read again at 122 and 123 s, and meanwhile a collection fails at 120 s."""
    found = cut_off(unrecorded(dies={"node1": FAILS, "node2": FAILS}, dark=behind("node1", "node2")))
    assert [str(one.object) for one in found[:2]] == ["device:node1", "device:node2"]
    at_s = {(one.observed_ns - START_NS) / SECOND for one in found[:2]}
    assert all(FAILS * INTERVAL_S < each <= FAILS * INTERVAL_S + 5 for each in at_s)
    assert found[0].evidence[0].value == len(LEAVES)


@pytest.mark.parametrize(
    ("dies", "dark"),
    [
        ({"node1": FAILS, "node2": FAILS}, {}),  # nothing but their telemetry is lost
        ({"node1": FAILS}, behind(*HOSTS)),  # three times as many ports as it has
        ({"node1": FAILS}, behind("node1")),  # two cables, as far as anybody knows
        ({"node1": FAILS - 8, "node2": FAILS - 8}, behind("node1", "node2")),  # they failed long before
    ],
)
def test_what_does_not_account_for_the_dark_ports_waits_for_its_silence(
    dies: dict[str, int], dark: dict[str, list[str]]
) -> None:
    assert cut_off(unrecorded(dies=dies, dark=dark)) == []


def test_they_are_one_incident_that_names_all_of_them_from_the_first_page_on() -> None:
    outputs = unrecorded(dies={"node1": FAILS, "node2": FAILS}, dark=behind("node1", "node2"))
    incidents = [one for one in outputs if isinstance(one, Incident) and one.state is IncidentState.FIRING]
    assert {one.kind for one in incidents} == {IncidentKind.DEVICE_DOWN}
    assert len({one.id for one in incidents}) == 1
    assert "2 hosts node1 to node2 (rack not recorded) down since" in incidents[0].title
    assert (incidents[0].fired_ns - START_NS) / SECOND <= (FAILS - 1) * INTERVAL_S + 2 + INTERVAL_S + 5
