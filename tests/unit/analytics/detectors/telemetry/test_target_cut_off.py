"""A device whose links are dark is silent at once; one that only lost a collection is not."""

import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingState
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
    engine = Engine(CONFIG)
    engine.add_facts(TopologyFact(fact, START_NS - 1, "lldp") for fact in FACTS)
    leaf = [batch(LEAF, seq, [up.get(seq, 1.0)]) for seq in range(seqs)]
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
