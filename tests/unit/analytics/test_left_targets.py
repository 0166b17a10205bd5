"""Targets that leave the lists of ingest: what is open about them ends, and their silence is no news."""

from collections.abc import Iterable

import pytest

from analytics.engine import Engine
from analytics.state.cluster_records import ClusterRecords
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import SeriesTable, series_key
from telemetry.topology import TargetList, Topology, TopologyFact
from tests.unit.analytics.restart import restarted
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, clockwork, port_key, table

UP = "fabric_port_up"
Targets = Iterable[tuple[str, str]]


def listed(at_s: float, targets: Targets, job: str = "gnmi", jobs: Iterable[str] = ("gnmi", "clock")) -> TopologyFact:
    entity = TargetList("ingest-0", job, tuple(jobs), tuple(targets))
    return TopologyFact(entity, START_NS + round(at_s * SECOND), "ingest/ingest-0")


def records(*facts: TopologyFact) -> ClusterRecords:
    """One tick each."""
    known = ClusterRecords()
    for fact in facts:
        known.add_facts([fact])
        known.update(fact.observed_ns + 1)
    return known


def silent(engine: Engine, facts: Iterable[TopologyFact], others: Iterable[SeriesTable] = ()) -> list[Finding]:
    """What is found of a device of which a target stops after 20 collections, by the 40th of the others."""
    of = table("node1", [port_key(UP, device="node1")])
    engine.add_facts(facts)
    found: list[Finding] = []
    for seq, clock in enumerate(clockwork(1, range(40))):
        if seq < 20:
            engine.observe(batch(of, seq, [1.0]))
        for other in others:
            engine.observe(batch(other, seq, [float(seq)]))
        engine.observe(clock)
        found += [each for each in engine.advance() if isinstance(each, Finding)]
    assert not engine.detectors.failures
    return [each for each in found if each.object.device == "node1"]


def test_a_target_that_nobody_collects_any_more_is_not_silent() -> None:
    both = listed(0, [("gnmi/node1", "node1")])
    assert {each.kind for each in silent(Engine(CONFIG), [both])} == {FindingKind.TARGET_SILENT}
    engine = Engine(CONFIG)
    assert silent(engine, [both, listed(19.5 * INTERVAL_S, [])]) == []
    assert (engine.registry.targets.names, len(engine.registry)) == (["clock/clock"], 1)
    assert engine.topology.uncollected == {"node1"}


def test_what_is_open_about_it_ends_at_once() -> None:
    found = silent(Engine(CONFIG), [listed(0, [("gnmi/node1", "node1")]), listed(35 * INTERVAL_S, [])])
    assert [(each.kind, each.state) for each in (found[0], found[-1])] == [
        (FindingKind.TARGET_SILENT, FindingState.ACTIVE),
        (FindingKind.TARGET_SILENT, FindingState.CLEARED),
    ]
    assert found[-1].id == found[0].id


def test_a_target_with_another_address_goes_on_with_its_series() -> None:
    engine = Engine(CONFIG)
    engine.add_facts([listed(0, [("gnmi/node1", "node1")]), listed(195, [("gnmi/moved", "node1")])])
    old = table("node1", [port_key(UP, device="node1")])
    new = SeriesTable("gnmi/moved", "node1", old.keys)
    found: list[Finding] = []
    for seq, clock in enumerate(clockwork(1, range(40))):
        engine.observe(batch(old if seq < 20 else new, seq, [float(seq < 10)]))
        engine.observe(clock)
        found += [each for each in engine.advance() if isinstance(each, Finding)]
    assert {(each.kind, each.state) for each in found} == {(FindingKind.LINK_DOWN, FindingState.ACTIVE)}
    assert len({each.id for each in found}) == 1
    assert (sorted(engine.registry.targets.names), len(engine.registry)) == (["clock/clock", "gnmi/moved"], 2)


def test_one_of_two_targets_of_a_device_leaves() -> None:
    """The silence of the exporter that is gone is none of the device."""
    exporter, jobs = table("node1", [series_key("node_load_1m", {"device": "node1"})], "node"), ("gnmi", "node")
    both = [listed(0, [("gnmi/node1", "node1")], "gnmi", jobs), listed(0, [("node/node1", "node1")], "node", jobs)]
    assert len(silent(Engine(CONFIG), both, [exporter])) > 0
    engine = Engine(CONFIG)
    assert silent(engine, [*both, listed(19.5 * INTERVAL_S, [], "gnmi", jobs)], [exporter]) == []
    assert engine.topology.uncollected == frozenset()


@pytest.mark.parametrize("restart_at", [None, 21, 100])
def test_what_others_still_report_ends_when_nobody_has_judged_it_for_half_an_hour(restart_at: int | None) -> None:
    """At the same time whether or not there is a restart in between."""
    jobs, half_an_hour = ("gnmi", "node"), 1800 // INTERVAL_S
    of = table("node1", [port_key(UP, device="node1")])
    other = table("node1", [port_key("fabric_port_rx_packets_total", device="node1")], "node")
    engine = Engine(CONFIG)
    engine.add_facts([listed(0, [(of.target, "node1")], "gnmi", jobs), listed(195, [], "gnmi", jobs)])
    engine.add_facts([listed(0, [(other.target, "node1")], "node", jobs)])
    ends: list[int] = []
    for seq in range(20 + half_an_hour + 10):
        if seq < 20:
            engine.observe(batch(of, seq, [float(seq < 10)]))
        engine.observe(batch(other, seq, [float(seq)]))
        found = [each for each in engine.advance() if isinstance(each, Finding) and each.kind is FindingKind.LINK_DOWN]
        ends += [seq for each in found if each.state is FindingState.CLEARED]
        if seq == restart_at:
            engine = restarted(engine, Engine(CONFIG))
    assert [seq - 20 - half_an_hour for seq in ends] == [1]


@pytest.mark.parametrize(
    ("facts", "left", "uncollected"),
    [
        ([listed(1, [("gnmi/a", "a"), ("gnmi/b", "b")]), listed(2, [("gnmi/b", "b")])], {"gnmi/a"}, {"a"}),
        ([listed(1, [("gnmi/a", "a")]), listed(2, [("x/a", "a")], "x", ["x"])], {"gnmi/a"}, set()),
        ([listed(1, [("gnmi/a", "a")]), listed(2, [], "x", ["x"])], {"gnmi/a"}, {"a"}),
        ([listed(1, [("gnmi/a", "a")]), listed(2, []), listed(3, [("gnmi/a", "a")])], set(), set()),
        ([listed(1, []), listed(2, [("gnmi/a", "a")])], set(), set()),
    ],
    ids=["leaves", "in another job", "its job is gone", "comes back", "is new"],
)
def test_what_has_left(facts: list[TopologyFact], left: set[str], uncollected: set[str]) -> None:
    known = records(*facts)
    assert (set(known.left), set(known.topology.uncollected)) == (left, uncollected)
    again = ClusterRecords()
    again.restore(known.state())
    assert again.topology.uncollected == uncollected


def test_an_older_snapshot_knows_of_none() -> None:
    head = {name: value for name, value in records().state().head.items() if name != "uncollected_ns"}
    known = ClusterRecords()
    known.restore(type(records().state())(head, {}))
    assert known.topology == Topology()
