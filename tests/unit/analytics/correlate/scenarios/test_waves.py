"""Waves of reboots that nobody announced, and what only looks like one."""

from dataclasses import replace

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from telemetry.objects import device
from telemetry.topology import Intent, Job, Link, TopologyFact
from tests.unit.analytics.correlate.hosts import Hosts
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S, entities

FIRST = ("node1", "node2", "node3", "node4")


def drained(hosts: Hosts) -> Hosts:
    """The job of the first four hosts is over, half a minute ago."""
    hosts.end_job("1", FIRST)
    hosts.rest(30)
    return hosts


def test_hosts_that_reboot_in_turn_without_a_job_are_one_incident_that_pages_nobody(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    for name in FIRST:
        hosts.step(off=[name])
        hosts.rest(120)
        hosts.step(on=[name])
        hosts.rest(60)
    assert not hosts.paged
    assert (run.only.kind, run.only.root, run.only.severity) == (I.DEVICE_REBOOTED, device("node1"), Severity.INFO)
    assert "rolling reboot of 4 hosts, 4 back" in run.only.title
    assert any("node1 was without a job since" in entry.text for entry in run.only.timeline)


def test_the_next_job_of_a_host_that_is_back_did_not_run_when_it_went(hosts: Hosts, run: Run) -> None:
    """It starts before every port was read again."""
    drained(hosts)
    hosts.step(off=["node1"])
    hosts.rest(300)
    started = Job("9", ("node1",), started_ns=run.now_ns)
    run.topology = run.topology.with_facts([TopologyFact(started, run.now_ns, "slurm")])
    hosts.rest(15)
    hosts.step(on=["node1"])
    hosts.rest(60)
    assert not hosts.paged


def test_hosts_that_reboot_in_batches_are_one_incident_that_pages_nobody(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    for batch in (FIRST[:2], FIRST[2:]):
        hosts.step(off=batch)
        hosts.rest(200)
        hosts.step(on=batch)
    hosts.rest(60)
    assert (hosts.paged, run.only.kind) == ([], I.DEVICE_REBOOTED)


def test_the_one_that_does_not_come_back_is_paged_once_when_it_is_overdue(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    for name in FIRST:
        hosts.step(off=[name])
        hosts.rest(120)
        if name != "node4":
            hosts.step(on=[name])
    assert not hosts.paged
    hosts.rest(300)
    assert len(hosts.paged) == 1
    worst = next(one for one in run.incidents.values() if one.severity is not Severity.INFO)
    assert (worst.kind, worst.root, worst.severity) == (I.DEVICE_DOWN, device("node4"), Severity.WARNING)
    assert any("it was expected back by" in entry.text for entry in worst.timeline)
    assert any("the 3 others of its wave took at most" in entry.text for entry in worst.timeline)
    hosts.rest(900)
    assert len(hosts.paged) == 1, "nobody uses it, so it costs nothing"


def test_a_host_with_a_job_is_paged_at_once_also_within_a_wave(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    for name in FIRST:
        hosts.step(off=[name])
        hosts.rest(60)
        hosts.step(on=[name])
    hosts.step(off=["node5"])
    hosts.step()
    hosts.step()
    assert [one.root.name for one in run.incidents.values() if one.severity is not Severity.INFO] == ["node5"]


def leaf_reboots(run: Run, leaf: str, away_s: int = 30) -> None:
    """A leaf that is gone for a while, and some time after it."""
    graph = run.topology
    links = [
        fact.entity for fact in graph.facts.values() if isinstance(fact.entity, Link) and fact.entity.a_device == leaf
    ]
    at = (run.now_ns - T0) / S
    found = [run.cluster.find(K.LINK_DOWN, f"{each.b_device}/{each.b_port}", at) for each in links]
    found = [replace(each, id=f"{each.id}@{at}") for each in (*found, run.cluster.find(K.TARGET_SILENT, leaf, at))]
    run.tick(*found, ticks=away_s // 5)
    run.clear(*found)
    run.tick(ticks=40)


def test_the_third_leaf_that_fails_under_jobs_is_paged_like_the_first(cluster: Fabric, run: Run) -> None:
    """Jobs on several hosts stop with one of their NICs, so none of these leaves was drained."""
    for leaf in ("leaf3", "leaf4", "leaf5"):
        leaf_reboots(run, leaf)
    assert [page.partition(" ")[2] for page in run.pages] == ["leaf3", "leaf4", "leaf5"]
    assert {page.incident.severity for page in run.pager.pages} == {Severity.CRITICAL}


def test_leaves_that_reboot_in_turn_below_spares_are_a_wave(cluster: Fabric, run: Run) -> None:
    """Once two were back, the third one pages nobody."""
    ended = [fact for fact in run.topology.facts.values() if isinstance(fact.entity, Job)]
    run.topology = run.topology.with_facts(replace(fact, gone=True, observed_ns=run.now_ns) for fact in ended)
    run.tick(ticks=10)
    for leaf in ("leaf3", "leaf4", "leaf5"):
        leaf_reboots(run, leaf)
    assert "leaf5" not in " ".join(run.pages)


def test_a_rack_with_jobs_that_goes_at_once_is_paged_at_once(hosts: Hosts, run: Run) -> None:
    hosts.rest(30)
    hosts.step(off=FIRST)
    hosts.end_job("1", FIRST)  # it dies with its hosts, and Slurm notices
    hosts.rest(15)
    assert [(one.kind, one.severity) for one in run.incidents.values()] == [(I.RACK_POWER, Severity.CRITICAL)]


def test_a_rack_of_which_a_part_was_in_use_is_paged_at_once(cluster: Fabric, run: Run) -> None:
    hosts = Hosts(cluster, run)
    hosts.end_job("1", FIRST)
    facts = [TopologyFact(Job("3", FIRST[:1], started_ns=run.now_ns), run.now_ns, "slurm")]
    run.topology = run.topology.with_facts(facts)
    hosts.rest(30)
    hosts.step(off=FIRST)
    hosts.rest(15)
    assert [(one.kind, one.root.name) for one in run.incidents.values()] == [(I.RACK_POWER, "r1")]


def test_an_idle_rack_that_goes_at_once_is_paged_when_it_is_overdue(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    hosts.step(off=FIRST)
    hosts.rest(1700)
    assert not hosts.paged
    hosts.rest(200)
    assert [(one.kind, one.severity) for one in run.incidents.values()] == [(I.RACK_POWER, Severity.CRITICAL)]


def test_a_job_that_dies_with_its_host_does_not_make_it_an_idle_one(hosts: Hosts, run: Run) -> None:
    hosts.rest(30)
    hosts.end_job("1", FIRST)
    hosts.step(off=["node1"])
    hosts.rest(15)
    assert (run.only.kind, run.only.severity) == (I.DEVICE_DOWN, Severity.CRITICAL)


def without_scheduler(run: Run) -> None:
    facts = {key: fact for key, fact in run.topology.facts.items() if not isinstance(fact.entity, Job)}
    run.topology = replace(run.topology, facts=facts)


def test_without_a_scheduler_the_third_host_of_a_wave_pages_nobody(hosts: Hosts, run: Run) -> None:
    without_scheduler(run)
    for name in [f"node{n}" for n in range(1, 9)]:
        hosts.step(off=[name])
        hosts.rest(120)
        hosts.step(on=[name])
        hosts.rest(90)
    roots = {one.root.name for one in run.incidents.values() if one.severity is not Severity.INFO}
    assert roots == {"node1", "node2"}
    assert len(run.incidents) == 3


@pytest.mark.parametrize(("used_bytes", "pages"), [(0.0, 0), (40e9, 1)])
def test_without_a_scheduler_the_memory_of_its_gpus_says_whether_a_host_was_used(
    hosts: Hosts, run: Run, used_bytes: float, pages: int
) -> None:
    without_scheduler(run)
    hosts.memory_bytes = used_bytes
    hosts.step(off=["node1"])
    hosts.rest(60)
    assert len(hosts.paged) == pages
    assert ("without a process on its GPUs" in run.only.title) is (pages == 0)


def test_a_drained_host_that_is_switched_off_pages_nobody_while_it_is_drained(hosts: Hosts, run: Run) -> None:
    hosts.say("node1", Intent.DRAINED, "exchange of a NIC")
    drained(hosts)
    hosts.step(off=["node1"])
    hosts.rest(4000)
    assert (hosts.paged, run.only.severity) == ([], Severity.INFO)
    assert "drained by root since" in run.only.title
    assert any("exchange of a NIC" in entry.text for entry in run.only.timeline)
    hosts.say("node1", None)
    hosts.rest(60)
    assert len(hosts.paged) == 1
    assert (run.only.kind, run.only.severity) == (I.DEVICE_DOWN, Severity.WARNING)


def test_a_host_that_is_drained_because_it_failed_is_paged(hosts: Hosts, run: Run) -> None:
    hosts.rest(30)
    hosts.step(off=["node1"])
    hosts.say("node1", Intent.DRAINED, "Not responding")
    hosts.rest(30)
    assert (run.only.kind, run.only.severity) == (I.DEVICE_DOWN, Severity.CRITICAL)


def test_a_wave_survives_a_restart(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    for name in FIRST[:3]:
        hosts.step(off=[name])
        hosts.rest(60)
        hosts.step(on=[name])
        state = run.correlator.state()
        run.correlator.restore(state)
        assert run.correlator.state() == state
    hosts.step(off=["node4"])
    hosts.rest(30)
    assert (hosts.paged, len(run.incidents)) == ([], 1)
    assert "rolling reboot of 4 hosts, 3 back" in run.only.title


def test_an_unannounced_wave_of_288_hosts_is_one_incident_and_the_one_that_stays_away_one_page() -> None:
    count = 288
    cluster = Fabric(entities(hosts=count, rails=2, spines=1, hosts_per_rack=8))
    run = Run(cluster)
    names = [f"node{n}" for n in range(1, count + 1)]
    hosts = Hosts(cluster, run, leaves=2)
    hosts.end_job("1", names[:4])
    hosts.end_job("2", names[4:8])
    hosts.rest(30)
    for at in range(0, count, 12):
        batch = names[at : at + 12]
        hosts.step(off=batch)
        hosts.rest(60)
        hosts.step(on=[name for name in batch if name != "node150"])
    hosts.rest(30)
    roots = {(one.kind, one.root.name) for one in run.incidents.values() if one.severity is not Severity.INFO}
    assert (roots, len(hosts.paged)) == ({(I.DEVICE_DOWN, "node150")}, 1)
    wave = next(one for one in run.incidents.values() if one.kind is I.DEVICE_REBOOTED)
    assert len(run.incidents) == 2
    assert "rolling reboot of 287 hosts, 287 back" in wave.title


def test_an_idle_host_that_is_not_back_when_its_announced_window_ends_is_paged_then(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    nodes = tuple(map(device, FIRST[:3]))
    window = Change("m1", ChangeKind.MAINTENANCE, nodes, run.now_ns, run.now_ns + 700 * S, summary="new BIOS")
    run.changes = [*run.changes, window]
    hosts.step(off=FIRST[:3])
    hosts.rest(300)
    hosts.step(on=FIRST[:2])
    hosts.rest(300)
    assert (hosts.paged, run.only.kind) == ([], I.DEVICE_REBOOTED)
    hosts.rest(200)
    assert [one.root.name for one in run.incidents.values() if one.severity is not Severity.INFO] == ["node3"]


def test_a_link_of_an_idle_host_that_still_answers_is_paged(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    run.tick(hosts.find(K.LINK_DOWN, hosts.cluster.facing(1, 1)))
    hosts.rest(60)
    assert {one.kind for one in run.incidents.values() if one.severity is not Severity.INFO} == {I.LINK_DOWN}


def test_a_gpu_that_is_lost_in_a_reboot_is_paged(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    hosts.step(off=["node1"])
    hosts.rest(120)
    hosts.step(on=["node1"])
    run.tick(hosts.find(K.GPU_LOST, f"gpu:{hosts.cluster.gpu(1, 5).name}"))
    hosts.rest(30)
    assert not hosts.paged, "drivers load one after the other"
    hosts.rest(60)
    assert {one.kind for one in run.incidents.values() if one.severity is not Severity.INFO} == {I.GPU_FAULT}


def test_a_link_that_does_not_come_back_with_its_host_is_paged(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    hosts.step(off=["node1"])
    hosts.rest(120)
    left = hosts.gone["node1"].pop(0)
    hosts.step(on=["node1"])
    assert not hosts.paged
    hosts.rest(120)
    worst = [one for one in run.incidents.values() if one.severity is not Severity.INFO]
    assert [(one.kind, left.object.name in one.root.name) for one in worst] == [(I.LINK_DOWN, True)]


def test_a_fault_of_a_drained_host_is_no_page_until_it_takes_jobs_again(hosts: Hosts, run: Run) -> None:
    hosts.say("node1", Intent.DRAINED, "bad DIMM")
    drained(hosts)
    run.tick(hosts.find(K.GPU_LOST, f"gpu:{hosts.cluster.gpu(1, 5).name}"))
    hosts.rest(60)
    assert (hosts.paged, run.only.kind) == ([], I.GPU_FAULT)
    hosts.say("node1", None)
    hosts.rest(10)
    assert len(hosts.paged) == 1


def test_a_wave_does_not_explain_a_job_that_waits_for_something_else(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    hosts.step(off=["node1"])
    hosts.rest(30)
    run.tick(hosts.find(K.JOB_STALLED, "job:2"))
    hosts.rest(120)
    wave = next(one for one in run.incidents.values() if one.kind is I.DEVICE_REBOOTED)
    assert (wave.severity, wave.gpu_seconds) == (Severity.INFO, 0.0)
    assert {one.kind for one in run.incidents.values() if one.severity is not Severity.INFO} == {I.UNEXPLAINED}


def test_a_host_that_fails_with_a_job_after_its_wave_is_an_incident_of_its_own(hosts: Hosts, run: Run) -> None:
    drained(hosts)
    hosts.step(off=["node1"])
    hosts.rest(60)
    hosts.step(on=["node1"])
    hosts.rest(200)
    run.topology = run.topology.with_facts([TopologyFact(Job("3", FIRST, started_ns=run.now_ns), run.now_ns, "slurm")])
    hosts.rest(200)
    began_ns = run.now_ns
    hosts.step(off=["node1"])
    hosts.rest(15)
    worst = [one for one in run.incidents.values() if one.severity is not Severity.INFO]
    assert [(one.kind, one.root.name, one.onset_ns) for one in worst] == [(I.DEVICE_DOWN, "node1", began_ns)]


def test_a_host_that_is_back_from_the_repair_of_its_gpu_belongs_to_that_incident(hosts: Hosts, run: Run) -> None:
    """Its job has ended, so nobody uses it."""
    drained(hosts)
    lost = hosts.find(K.GPU_LOST, f"gpu:{hosts.cluster.gpu(1, 5).name}")
    run.tick(lost)
    hosts.rest(60)
    run.tick(hosts.find(K.DEVICE_REBOOTED, "node1"))
    run.clear(lost)
    hosts.rest(60)
    assert run.only.kind is I.GPU_FAULT
