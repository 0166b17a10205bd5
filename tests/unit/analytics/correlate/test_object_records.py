"""Records of objects: what is kept, for how long, what follows a move, and when a fault is the same one again."""

from dataclasses import replace

import pytest

from analytics.correlate.cluster.graph import Graph, physical
from analytics.correlate.memory import CorrelatorMemory, dump, load
from analytics.correlate.object_records import EVENTS_MAX, KEPT_NS, OBJECTS_MAX, PARTS_MAX, LastIncident, ObjectRecords
from analytics.correlate.texts import record_line
from analytics.models.flap_comparison import FlapComparison, Verdict
from telemetry.changes import Change, ChangeKind
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, IncidentState, RecordEvent
from telemetry.objects import ObjectRef, gpu, parse_object, port
from telemetry.series import series_key
from telemetry.topology import Gpu, Link, Topology, Transceiver
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S, facts

DAY = 24 * 3600 * S
PORT = port("leaf1", "Ethernet4000")
LINK = parse_object("link:leaf1/Ethernet4000--spine1/Ethernet0")


def graph_of(topology: Topology) -> Graph:
    return Graph(physical(topology))


def record(cluster: Fabric, *kinds: K, at_s: float = 0.0, about: str = "leaf1/Ethernet4000") -> ObjectRecords:
    records = ObjectRecords()
    records.add_findings([cluster.find(kind, about, at_s) for kind in kinds], graph_of(cluster.topology))
    return records


def whats(records: ObjectRecords, ref: ObjectRef) -> list[str]:
    found = records.of(ref, T0)
    return [event.what for event in found.events] if found else []


def test_a_finding_about_a_port_is_in_the_record_of_its_cable_too(cluster: Fabric) -> None:
    records = record(cluster, K.LINK_FLAPPING, K.ECN_MARKING)
    assert whats(records, PORT) == whats(records, LINK) == ["flap"]


def test_both_ends_of_a_cable_show_one_event(cluster: Fabric) -> None:
    records, graph = ObjectRecords(), graph_of(cluster.topology)
    for at, name in ((0, cluster.uplink(1, 1)), (20, cluster.downlink(1, 1)), (300, cluster.downlink(1, 1))):
        records.add_findings([cluster.find(K.LINK_DOWN, name, at)], graph)
    assert whats(records, LINK) == ["outage", "outage"]


def test_errors_of_one_nvlink_are_counted_by_themselves(cluster: Fabric) -> None:
    records, graph, ref = ObjectRecords(), graph_of(cluster.topology), cluster.gpu(1, 1)
    for at_s, link in ((0, 5), (20, 5), (40, 7), (7200, 5)):
        found = cluster.find(K.GPU_NVLINK_ERRORS, ref, at_s)
        series = series_key("gpu_nvlink_errors_total", {"gpu": "GPU-1", "kind": "replay", "link": str(link)})
        records.add_findings([replace(found, evidence=(replace(found.evidence[0], series=series),))], graph)
    record = records.of(ref, T0 + 3 * 3600 * S)
    assert record is not None
    assert [event.detail for event in record.events] == ["link 5", "link 7", "link 5"]
    assert record.line == "3rd NVLink error in 24 h"
    assert record.parts == {"link 5": {"NVLink error": 2}, "link 7": {"NVLink error": 1}}


def test_parts_are_counted_longer_than_their_events_are_kept_and_up_to_a_limit(cluster: Fabric) -> None:
    records, graph, ref = ObjectRecords(), graph_of(cluster.topology), cluster.gpu(1, 1)
    for link in range(PARTS_MAX + 6):
        found = cluster.find(K.GPU_NVLINK_ERRORS, ref, link)
        series = series_key("gpu_nvlink_errors_total", {"gpu": "GPU-1", "link": str(link)})
        records.add_findings([replace(found, evidence=(replace(found.evidence[0], series=series),))], graph)
    record = records.of(ref, T0 + S)
    assert record is not None
    assert record.counts == {"NVLink error": PARTS_MAX + 6}
    assert set(record.parts) == {f"link {link}" for link in range(PARTS_MAX)}


def test_the_newest_events_are_kept_and_all_are_counted(cluster: Fabric) -> None:
    records, graph = ObjectRecords(), graph_of(cluster.topology)
    for hour in range(20):
        records.add_findings([cluster.find(K.GPU_ECC, cluster.gpu(1, 1), 3600 * hour)], graph)
    found = records.of(cluster.gpu(1, 1), T0 + DAY)
    assert found is not None
    assert [event.at_ns for event in found.events] == [T0 + 3600 * hour * S for hour in range(20 - EVENTS_MAX, 20)]
    assert found.counts == {"memory error": 20}
    assert found.since_ns == T0


def test_an_event_counts_half_after_a_week(cluster: Fabric) -> None:
    records = record(cluster, K.LINK_FLAPPING)
    scores = [found.score for days in (0, 7, 14) if (found := records.of(LINK, T0 + days * DAY))]
    assert scores == [1.0, 0.5, 0.25]


def test_what_is_quiet_for_a_month_is_forgotten(cluster: Fabric) -> None:
    records = record(cluster, K.LINK_FLAPPING)
    records.forget_old(T0 + KEPT_NS)
    assert records.of(LINK, T0) is not None
    records.forget_old(T0 + KEPT_NS + 1)
    assert records.known == {}


def test_of_too_many_objects_those_that_were_quiet_longest_give_way(cluster: Fabric) -> None:
    """A tenth of them at a time."""
    records, graph = ObjectRecords(), Graph({})
    found = [cluster.find(K.GPU_XID, gpu("node1", f"GPU-{n}"), n) for n in range(OBJECTS_MAX + 1)]
    records.add_findings(found, graph)
    assert len(records.known) == OBJECTS_MAX - OBJECTS_MAX // 10 + 1
    assert records.of(gpu("node1", f"GPU-{OBJECTS_MAX // 10 - 1}"), T0) is None
    assert records.of(gpu("node1", f"GPU-{OBJECTS_MAX // 10}"), T0) is not None


def test_a_port_that_leads_elsewhere_was_moved(cluster: Fabric) -> None:
    records = record(cluster, K.LINK_FLAPPING)
    gone = [
        fact for fact in cluster.topology.facts.values() if isinstance(fact.entity, Link) and fact.entity.ref == LINK
    ]
    moved = Link("leaf1", "Ethernet4000", "spine9", "Ethernet8")
    topology = cluster.topology.with_facts([replace(gone[0], gone=True, observed_ns=T0 + S), *facts([moved])])
    for _ in range(2):
        records.follow_moves(graph_of(topology), T0 + DAY)
    found = records.of(PORT, T0 + DAY)
    assert found is not None
    assert [(event.what, event.detail) for event in found.events] == [
        ("flap", ""),
        ("move", "from spine1/Ethernet0 to spine9/Ethernet8"),
    ]
    assert found.line == "moved from spine1/Ethernet0 to spine9/Ethernet8 on 2027-01-16"


def test_the_record_of_a_gpu_goes_with_it_into_another_host(cluster: Fabric) -> None:
    records = record(cluster, K.GPU_ROW_REMAP, about="gpu:node1/GPU-0001-1")
    there = gpu("node9", "GPU-0001-1")
    records.follow_moves(Graph({"gpu": Gpu("node9", "GPU-0001-1", 0)}), T0 + S)
    assert (whats(records, cluster.gpu(1, 1)), whats(records, there)) == ([], ["row remap", "move"])


def test_what_was_done_to_an_object_is_in_its_record_once(cluster: Fabric) -> None:
    records = record(cluster, K.LINK_FLAPPING)
    changes = [
        Change("a", ChangeKind.MAINTENANCE, (LINK,), T0 + 60 * S, summary="cable swapped"),
        Change("b", ChangeKind.MAINTENANCE, (LINK,), T0 + DAY, summary="to come"),
        Change("c", ChangeKind.MAINTENANCE, (LINK,), T0 - DAY, summary="before its record"),
        Change("d", ChangeKind.JOB_START, (LINK,), T0 + 60 * S),
    ]
    for _ in range(2):
        records.add_changes(changes, T0 + 3600 * S)
    found = records.of(LINK, T0)
    assert found is not None
    assert [event.detail for event in found.events] == ["", "maintenance cable swapped"]
    assert found.counts == {"change": 1, "flap": 1}


@pytest.mark.parametrize(
    ("events", "line"),
    [
        ([], ""),
        ([(0, "flap", "")], ""),  # once is no record
        ([(0, "flap", ""), (1, "flap", ""), (2, "outage", "")], "2nd flap in 24 h"),
        ([(-40, "flap", ""), (0, "flap", "")], ""),  # hours: more than a day apart
        ([(-60, "incident", ""), (-40, "incident", ""), (0, "incident", "")], "3rd incident in 30 days"),
        ([(h, "XID", "") for h in range(11)], "11th XID in 24 h"),
    ],
)
def test_a_record_in_one_line(events: list[tuple[int, str, str]], line: str) -> None:
    assert record_line.of([RecordEvent(T0 + h * 3600 * S, *rest) for h, *rest in events], T0 + 12 * 3600 * S) == line


def flap(run: Run, cluster: Fabric, kind: K = K.LINK_DOWN, quiet_ticks: int = 20) -> Incident:
    at_s = (run.now_ns - T0) / S
    down = [cluster.find(kind, name, at_s) for name in (cluster.uplink(1, 1), cluster.downlink(1, 1))]
    down = [replace(each, id=f"{each.id}/{at_s}") for each in down]
    run.tick(*down, ticks=4)
    newest = max(run.incidents.values(), key=lambda one: one.updated_ns)
    run.clear(*down)
    run.tick(ticks=quiet_ticks)
    return newest


def test_a_link_that_fails_again_within_an_hour_is_one_incident_with_a_count(cluster: Fabric, run: Run) -> None:
    first, second = flap(run, cluster), flap(run, cluster, K.LINK_FLAPPING)
    third = flap(run, cluster, quiet_ticks=720 + 20)
    assert [(one.state, one.occurrences) for one in (first, second, third)] == [
        (IncidentState.FIRING, times) for times in (1, 2, 3)
    ]
    assert first.id == second.id == third.id
    assert any("came back: occurrence 3" in entry.text for entry in third.timeline)
    assert third.record is not None
    assert third.record.line == "2nd outage in 24 h"
    assert flap(run, cluster).id != first.id  # more than an hour later


def test_what_does_not_come_and_go_is_another_incident(cluster: Fabric, run: Run) -> None:
    ids = []
    for _ in range(2):
        slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", (run.now_ns - T0) / S)
        run.tick(replace(slow, id=str(run.now_ns)), ticks=3)
        ids.append(max(run.incidents.values(), key=lambda one: one.updated_ns).id)
        run.clear(replace(slow, id=str(run.now_ns - 15 * S)))
        run.tick(ticks=20)
    assert len(set(ids)) == 2


def test_records_outlive_a_restart(cluster: Fabric, run: Run) -> None:
    first = flap(run, cluster)
    last = load(dump(run.correlator._memory)).records.known[str(LINK)].last
    assert last is not None
    assert last == LastIncident(first.id, last.resolved_ns, 1, 0.0)
    run.correlator.restore(run.correlator.state())
    assert flap(run, cluster).occurrences == 2


THERE = port("leaf2", "Ethernet8")


def with_modules(topology: Topology, **serials: str) -> Topology:
    """leaf1="A" is module A in PORT, leaf2="A" in THERE; '' is none."""
    places = {"leaf1": "Ethernet4000", "leaf2": "Ethernet8"}
    modules = [Transceiver(name, places[name], serial or "gone") for name, serial in serials.items()]
    gone = [not serial for serial in serials.values()]
    return topology.with_facts([replace(f, gone=g) for f, g in zip(facts(modules), gone, strict=True)])


def follow(records: ObjectRecords, topology: Topology, at_ns: int, **serials: str) -> list[str]:
    said = records.follow_modules(graph_of(with_modules(topology, **serials)), at_ns)
    return [f"{entry.object}: {entry.text}" for entry in said]


def details(records: ObjectRecords, ref: ObjectRef) -> list[tuple[str, str]]:
    found = records.of(ref, T0)
    return [(event.what, event.detail) for event in found.events] if found else []


def flapped(cluster: Fabric, serial: str) -> ObjectRecords:
    records = ObjectRecords()
    graph = graph_of(with_modules(cluster.topology, leaf1=serial))
    records.add_findings([cluster.find(K.LINK_FLAPPING, "leaf1/Ethernet4000")], graph)
    return records


def test_the_record_of_a_module_goes_with_it_into_another_port(cluster: Fabric) -> None:
    records = flapped(cluster, "A")
    follow(records, cluster.topology, T0 + S, leaf1="B", leaf2="A")
    assert details(records, THERE) == [("flap", ""), ("move", "from leaf1/Ethernet4000 to leaf2/Ethernet8")]
    assert details(records, PORT) == [("module", "B in place of A")]
    assert records.known[str(THERE)].serials == {"leaf2/Ethernet8": "A"}
    link = graph_of(cluster.topology).link_of[THERE]
    assert details(records, link) == [("module", "A from leaf1/Ethernet4000 in leaf2/Ethernet8, there 1 x flap")]
    assert details(records, LINK) == [("flap", ""), ("module", "B in place of A in leaf1/Ethernet4000")]


def test_an_empty_port_gives_its_record_to_the_one_that_has_the_module(cluster: Fabric) -> None:
    records = flapped(cluster, "A")
    follow(records, cluster.topology, T0 + S, leaf1="", leaf2="A")
    assert (whats(records, PORT), whats(records, THERE)) == ([], ["flap", "move"])


def test_the_other_end_of_a_cable_with_one_serial_is_no_other_port(cluster: Fabric) -> None:
    records = flapped(cluster, "A")
    far = cluster.topology.with_facts(facts([Transceiver("spine1", "Ethernet0", "A")]))
    assert follow(records, far, T0 + S, leaf1="") == []
    assert whats(records, PORT) == ["flap"]


def test_two_modules_that_are_exchanged_exchange_their_records(cluster: Fabric) -> None:
    records, graph = ObjectRecords(), graph_of(with_modules(cluster.topology, leaf1="A", leaf2="B"))
    records.add_findings([cluster.find(K.LINK_FLAPPING, "leaf1/Ethernet4000")], graph)
    records.add_findings([cluster.find(K.LINK_DOWN, "leaf2/Ethernet8")], graph)
    said = follow(records, cluster.topology, T0 + S, leaf1="B", leaf2="A")
    assert whats(records, PORT) == ["outage", "module", "move"]
    assert whats(records, THERE) == ["flap", "module", "move"]
    assert "port:leaf1/Ethernet4000: module B was in leaf2/Ethernet8 before" in said
    assert follow(records, cluster.topology, T0 + 2 * S, leaf1="B", leaf2="A") == []


def test_a_module_may_lie_in_a_drawer_before_it_comes_back(cluster: Fabric) -> None:
    records = flapped(cluster, "A")
    follow(records, cluster.topology, T0 + S, leaf1="B")
    assert (whats(records, PORT), list(records.unplugged)) == (["module"], ["A"])
    records = load(dump(CorrelatorMemory(records=records))).records
    follow(records, cluster.topology, T0 + DAY, leaf1="A")
    assert details(records, PORT) == [("flap", ""), ("module", "A in place of B")]
    assert list(records.unplugged) == ["B"]
    records.forget_old(T0 + 3 * KEPT_NS)
    assert (records.known, records.unplugged) == ({}, {})


@pytest.mark.parametrize("serial", ["A", ""])
def test_a_port_that_states_no_other_serial_keeps_its_record(cluster: Fabric, serial: str) -> None:
    records = flapped(cluster, serial)
    assert follow(records, cluster.topology, T0 + S, leaf1="") == []
    assert follow(records, cluster.topology, T0 + S, leaf1="A") == []  # put in again, or stated for the first time
    assert (whats(records, PORT), records.unplugged) == (["flap"], {})
    assert records.known[str(PORT)].serials == {"leaf1/Ethernet4000": "A"}


def test_an_old_claim_does_not_keep_the_record_from_its_module(cluster: Fabric) -> None:
    """A port may state the serial of a module that was pulled until another one is put in."""
    records = flapped(cluster, "A")
    assert follow(records, cluster.topology, T0 + S, leaf1="A", leaf2="A") == []
    follow(records, cluster.topology, T0 + 2 * S, leaf1="B", leaf2="A")
    assert (whats(records, PORT), whats(records, THERE)) == (["module"], ["flap", "move"])


def test_an_incident_names_the_modules_of_its_link_and_says_when_one_is_replaced(cluster: Fabric, run: Run) -> None:
    run.topology = with_modules(cluster.topology, leaf1="A")
    down = [cluster.find(K.LINK_DOWN, name) for name in (cluster.uplink(1, 1), cluster.downlink(1, 1))]
    run.tick(*down, ticks=4)
    run.topology = with_modules(cluster.topology, leaf1="B")
    run.tick(ticks=2)
    (incident,) = run.incidents.values()
    texts = [entry.text for entry in incident.timeline]
    assert any(text.startswith("fired") and text.endswith("; module A in leaf1/Ethernet4000") for text in texts)
    assert "module B in place of A in leaf1/Ethernet4000" in texts
    assert incident.record is not None
    assert incident.record.serials == {"leaf1/Ethernet4000": "B"}
    assert "module B in place of A in leaf1/Ethernet4000 on " in incident.record.line


def flapped_port(verdict: Verdict, changes: str = "") -> FlapComparison:
    return FlapComparison(PORT, T0 + 60 * S, verdict, changes)


def test_what_a_flap_changed_is_in_the_records_of_the_port_and_its_link(cluster: Fabric) -> None:
    records, graph = record(cluster, K.LINK_FLAPPING), graph_of(cluster.topology)
    worse = flapped_port(Verdict.WORSE, "pre-FEC BER 1e-9 to 1e-6")
    said = records.add_comparison(worse, graph, T0 + 240 * S)
    assert [(entry.object, entry.text) for entry in said] == [
        (PORT, "after the flap at 08:01:00: worse: pre-FEC BER 1e-9 to 1e-6"),
        (LINK, "after the flap at 08:01:00: worse at leaf1/Ethernet4000: pre-FEC BER 1e-9 to 1e-6"),
    ]
    far = port("spine1", "Ethernet0")
    records.add_comparison(replace(worse, port=far, changes="rx power -2 to -5 dBm"), graph, T0 + 240 * S)
    found = records.of(LINK, T0 + 240 * S)
    assert found is not None
    assert whats(records, LINK) == ["flap", "after flap", "after flap"]  # each end has its own
    assert found.score == pytest.approx(1.0, abs=0.01)  # it is no failure
    assert found.line == "after the flap on 2027-01-15 worse at spine1/Ethernet0: rx power -2 to -5 dBm"


def test_a_flap_that_changed_nothing_begins_no_record(cluster: Fabric) -> None:
    records, graph = ObjectRecords(), graph_of(cluster.topology)
    (_, entry) = records.add_comparison(flapped_port(Verdict.AS_BEFORE), graph, T0 + 240 * S)
    assert entry.text == "after the flap at 08:01:00 at leaf1/Ethernet4000: as before"
    assert records.known == {}
    records = record(cluster, K.LINK_FLAPPING)
    records.add_comparison(flapped_port(Verdict.AS_BEFORE), graph, T0 + 240 * S)
    found = records.of(LINK, T0 + 240 * S)
    assert found is not None
    assert (whats(records, LINK), found.line) == (["flap", "after flap"], "")


def test_an_incident_that_is_over_still_says_how_its_link_came_back(cluster: Fabric, run: Run) -> None:
    flap(run, cluster)
    over = run.only
    assert over.state is IncidentState.RESOLVED
    run.correlator.restore(run.correlator.state())
    flaps = [flapped_port(Verdict.AS_BEFORE)]
    now_ns = run.now_ns + 5 * S
    (said,) = run.correlator.step(now_ns, (), run.topology, (), flaps)
    assert (said.id, said.state, said.updated_ns, len(said.timeline)) == (
        over.id,
        over.state,
        now_ns,
        len(over.timeline) + 1,
    )
    assert said.timeline[-1].text == "after the flap at 08:01:00 at leaf1/Ethernet4000: as before"
    assert said.record is not None
    assert said.record.events[-1].what == "after flap"
    assert run.correlator.step(now_ns + 700 * S, (), run.topology, ()) == []
    assert run.correlator.step(now_ns + 705 * S, (), run.topology, (), flaps) == []  # long over
