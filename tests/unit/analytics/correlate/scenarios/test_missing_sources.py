"""A cluster whose cables and racks nobody recorded: what went away together is one incident all the same."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from analytics.inference.entities import SOURCE
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, Severity
from telemetry.incidents import IncidentKind as I
from telemetry.objects import device
from telemetry.topology import Device, Entity, Job, Link, Role, Topology, TopologyFact
from tests.unit.analytics.correlate.small_fabric import Fabric, Run, S, entities, facts

HOSTS = ("node1", "node2", "node3", "node4")


class Unrecorded(Fabric):
    """Devices with their roles, GPUs and file systems; no link, no rack, no job. Names of ports are as ever."""

    def __init__(self, more: Iterable[Entity] = ()) -> None:
        super().__init__()
        known = [replace(each, rack="") if isinstance(each, Device) else each for each in entities()]
        self.bare = Topology().with_facts(facts([*(each for each in known if not isinstance(each, Link)), *more]))

    def dark(self, *ports: str, at: float = 0.0) -> list[Finding]:
        return [self.find(K.LINK_DOWN, port, at) for port in ports]

    def silent(self, *names: str, at: float = 0.0) -> list[Finding]:
        return [replace(self.find(K.TARGET_SILENT, name, at), confidence=0.95) for name in names]

    def of_hosts(self, *hosts: str) -> list[str]:
        return [self.facing(leaf, int(host[4:])) for host in hosts for leaf in range(1, 9)]


@pytest.fixture(scope="module")
def bare() -> Unrecorded:
    return Unrecorded()


@pytest.fixture
def run(bare: Unrecorded) -> Run:
    found = Run(bare)
    found.topology = bare.bare
    return found


def test_hosts_that_are_lost_together_are_one_incident_that_says_what_is_not_known(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.dark(*bare.of_hosts(*HOSTS)))
    run.tick(*bare.silent(*HOSTS, at=8), ticks=12)
    assert run.roots == ["device_down node1"]
    assert "4 hosts node1 to node4 (rack not recorded) down since" in run.only.title
    assert len(run.only.blast.gpus) == 32
    (why,) = [entry.text for entry in run.only.timeline if entry.text.startswith("fired: ")]
    assert "4 hosts lost together, and 32 ports elsewhere lost their carrier" in why
    assert "power, rack or switch; an inventory with racks, or LLDP, would name it" in why


@pytest.mark.parametrize("recorded", [False, True])
def test_hosts_that_are_cut_off_first_and_silent_later_are_one_incident(
    recorded: bool, bare: Unrecorded, cluster: Fabric, run: Run
) -> None:
    """Two detectors say that nothing comes of them, the second one ten seconds after the first. recorded: their rack
    is known, and no cable."""
    if recorded:
        known = (fact for fact in cluster.topology.facts.values() if not isinstance(fact.entity, Link))
        run.topology = Topology().with_facts(known)
    run.tick(*bare.dark(*bare.of_hosts(*HOSTS)))
    cut_off = [replace(each, id=f"cut off {each.id}", detector="target_cut_off") for each in bare.silent(*HOSTS, at=5)]
    run.tick(*cut_off, ticks=2)
    run.tick(*bare.silent(*HOSTS, at=7), ticks=12)
    assert run.roots == (["rack_power r1"] if recorded else ["device_down node1"])
    assert len(run.only.findings) == 32 + 2 * len(HOSTS)


@pytest.mark.parametrize("hosts", [HOSTS, HOSTS[:2], HOSTS[:1]])
@pytest.mark.parametrize("dark_more", [0, 8])
def test_hosts_that_account_for_all_dark_ports_wait_for_no_others(
    hosts: tuple[str, ...], dark_more: int, bare: Unrecorded, run: Run
) -> None:
    """dark_more: ports that led to another host, which is not known to be silent by then."""
    run.tick(*bare.dark(*bare.of_hosts(*hosts), *bare.of_hosts("node8")[:dark_more]))
    links = (Evidence('links_without_carrier{device="node1"}', 8.0, 0.0, "links"),)
    silent = bare.silent(*hosts, at=5)
    run.tick(*(replace(each, detector="target_cut_off", evidence=links) for each in silent))
    assert len(run.pages) == (0 if dark_more else 1)
    run.tick(ticks=4)
    assert run.pages == ["device_down node1"]


def test_hosts_whose_numbers_do_not_follow_each_other_are_counted(bare: Unrecorded, run: Run) -> None:
    lost = ("node1", "node3", "node8")
    run.tick(*bare.dark(*bare.of_hosts(*lost)), *bare.silent(*lost), ticks=12)
    assert "node1 and 2 more hosts (rack not recorded) down since" in run.only.title


def test_an_incident_says_what_nobody_has_recorded(bare: Unrecorded, run: Run, cluster: Fabric) -> None:
    run.tick(*bare.dark("node5/mlx5_2"), ticks=10)
    assert [gap.partition(":")[0] for gap in run.only.gaps] == [
        "no cable recorded",
        "no rack recorded",
        "no job recorded",
    ]
    inferred = TopologyFact(Device("x1", Role.HOST), 0, SOURCE)
    run.topology = run.topology.with_facts([inferred])
    run.tick()
    assert run.only.gaps[0] == "roles of 1 device inferred from what they send"
    recorded = Run(cluster)
    recorded.tick(*bare.dark("node5/mlx5_2"), ticks=10)
    assert recorded.only.gaps == ()


def test_hosts_that_come_back_one_by_one_stay_in_the_incident_of_their_loss(bare: Unrecorded, run: Run) -> None:
    dark = {host: bare.dark(*bare.of_hosts(host)) for host in HOSTS}
    silent = {host: bare.silent(host, at=8) for host in HOSTS}
    run.tick(*(finding for host in HOSTS for finding in (*dark[host], *silent[host])), ticks=6)
    for number, host in enumerate(HOSTS):
        run.clear(*dark[host], *silent[host])
        run.tick(bare.find(K.DEVICE_REBOOTED, host, 60 + 10 * number))
        back = f", {number + 1} of 4 back" if number < 3 else ", back since 08:01:05"
        assert f"{back} — 32 GPUs reached" in run.only.title
    run.tick(ticks=4)
    assert run.roots == ["device_down node1"]
    assert "outage of 4 hosts node1 to node4 (rack not recorded), back since 08:01:05" in run.only.title


def test_a_switch_that_falls_silent_is_what_the_dark_ports_led_to(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.dark(*(bare.uplink(leaf, 2) for leaf in range(1, 9))))
    run.tick(*bare.silent("spine2", at=9), ticks=10)
    assert run.roots == ["device_down spine2"]


def test_a_switch_that_took_its_ports_along_waits_for_nothing_larger_that_is_not_known(
    bare: Unrecorded, run: Run
) -> None:
    """Eleven ports: what is behind them is an incident to be, beside that of the switch for one tick."""
    others = ["node1/mlx5_1", "node5/mlx5_1", "oss1/mlx5_0"]
    run.tick(*bare.dark(*(bare.uplink(leaf, 2) for leaf in range(1, 9)), *others))
    run.tick(ticks=2)
    run.tick(*bare.silent("spine2", at=9))
    assert (run.only.kind, run.only.fired_ns) == (I.DEVICE_DOWN, run.now_ns)


def test_planned_work_covers_the_ports_that_lead_to_its_devices(bare: Unrecorded, run: Run) -> None:
    hosts = tuple(device(host) for host in HOSTS)
    run.changes = [Change("c1", ChangeKind.MAINTENANCE, hosts, run.now_ns, run.now_ns + 3600 * S, summary="new PSUs")]
    run.tick(*bare.dark(*bare.of_hosts(*HOSTS)))
    run.tick(*bare.silent(*HOSTS, at=8), ticks=12)
    assert (run.only.kind, run.only.severity) == (I.DEVICE_REBOOTED, Severity.INFO)


def partly(cluster: Fabric, *unrecorded: str) -> Topology:
    """The whole topology without the links of these devices to hosts."""
    kept = [fact for fact in cluster.topology.facts.values() if not _is_host_link(fact.entity, unrecorded)]
    return Topology().with_facts(kept)


def _is_host_link(entity: Entity, of: tuple[str, ...]) -> bool:
    return isinstance(entity, Link) and entity.b_device.startswith("node") and entity.a_device in of


def test_a_dead_leaf_takes_the_cables_along_that_nobody_recorded(bare: Unrecorded, cluster: Fabric) -> None:
    run = Run(cluster)
    run.topology = partly(cluster, "leaf3")
    links = [port for spine in range(1, 5) for port in (cluster.downlink(spine, 3),)]
    run.tick(*bare.dark(*links, *(f"node{n}/mlx5_2" for n in range(1, 9))))
    run.tick(*bare.silent("leaf3", at=9), ticks=10)
    assert run.roots == ["device_down leaf3"]


def test_a_rack_without_power_takes_the_cables_along_that_nobody_recorded(bare: Unrecorded, cluster: Fabric) -> None:
    run = Run(cluster)
    run.topology = partly(cluster, "leaf3")
    run.tick(*bare.dark(*bare.of_hosts(*HOSTS)), *bare.silent(*HOSTS), ticks=10)
    assert run.roots == ["rack_power r1"]


def test_two_ports_that_lose_their_carrier_at_once_are_one_cable(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.dark(bare.facing(3, 5)))
    run.tick(*bare.dark("node5/mlx5_2", at=4), ticks=10)
    assert [str(incident.root) for incident in run.incidents.values()] == ["link:leaf3/Ethernet16--node5/mlx5_2"]


@pytest.mark.parametrize(("switch", "at_once"), [("leaf3/Ethernet16", True), ("spine2/Ethernet8", False)])
def test_a_cable_of_a_host_waits_for_no_dead_device(switch: str, at_once: bool, bare: Unrecorded, run: Run) -> None:
    """A dead leaf takes a port of a host and one of a spine with it, and no device one of a leaf and one of a host."""
    run.tick(*bare.dark(switch))
    run.tick(*bare.dark("node5/mlx5_2", at=4))
    assert bool(run.pages) is at_once
    run.tick(ticks=3)
    assert run.pages == [f"link_down {switch}--node5/mlx5_2" if at_once else f"link_down node5/mlx5_2--{switch}"]


@pytest.mark.parametrize(
    ("known", "severity"), [([], Severity.CRITICAL), ([Job("1", ("node1", "node2"))], Severity.WARNING)]
)
def test_a_host_that_loses_a_link_stops_where_nobody_says_which_jobs_run(
    known: list[Entity], severity: Severity, bare: Unrecorded, run: Run
) -> None:
    """Where jobs are known and none is on this host, nothing stops."""
    run.topology = run.topology.with_facts(facts(known))
    run.tick(*bare.dark(bare.facing(3, 5), "node5/mlx5_2"), ticks=10)
    assert (run.only.kind, run.only.severity, run.only.gpu_seconds) == (I.LINK_DOWN, severity, 0.0)


def test_a_link_between_switches_stops_no_host(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.dark(bare.uplink(3, 2), bare.downlink(2, 3)), ticks=10)
    assert (run.only.kind, run.only.severity) == (I.LINK_DOWN, Severity.WARNING)


def test_two_leaves_have_no_cable_between_them(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.dark(bare.facing(3, 5), bare.facing(4, 6)), ticks=10)
    assert run.roots == ["link_down leaf3/Ethernet16", "link_down leaf4/Ethernet20"]


def test_ports_that_go_dark_minutes_apart_have_nothing_in_common(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.dark(bare.facing(3, 5)), ticks=24)
    run.tick(*bare.dark("node7/mlx5_2", at=120), ticks=10)
    assert run.roots == ["link_down leaf3/Ethernet16", "link_down node7/mlx5_2"]


@pytest.mark.parametrize("also_silent", [(), ("leaf8",)])
def test_a_part_of_a_switch_is_known_by_the_other_ends(
    also_silent: tuple[str, ...], bare: Unrecorded, run: Run
) -> None:
    ends = [port for leaf in range(1, 5) for port in (bare.downlink(1, leaf), bare.uplink(leaf, 1))]
    run.tick(*bare.dark(*ends), *bare.silent(*also_silent), ticks=10)
    assert "device_down spine1" in run.roots
    assert {root for root in run.roots if not root.startswith("telemetry_lost")} == {"device_down spine1"}
    assert any("4 ports of spine1 down" in incident.title for incident in run.incidents.values())


def test_what_nobody_collects_from_is_named_by_what_leads_to_it(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.dark(*(bare.facing(leaf, node) for leaf in (2, 5, 7) for node in (1, 2))), ticks=12)
    assert "what is behind 6 ports of leaf7 and 2 more devices down" in run.only.title


def test_silence_without_a_dark_port_is_no_death(bare: Unrecorded, run: Run) -> None:
    run.tick(*bare.silent(*HOSTS), ticks=20)
    assert {incident.kind for incident in run.incidents.values()} == {I.TELEMETRY_LOST}


@pytest.mark.parametrize(("lost", "kinds"), [(12, {I.DEVICE_DOWN}), (2, {I.TELEMETRY_LOST}), (30, {I.TELEMETRY_LOST})])
def test_hosts_that_nobody_else_could_see_are_lost_when_several_are(lost: int, kinds: set[I], bare: Unrecorded) -> None:
    run = Run(bare)
    run.topology = Topology().with_facts(facts(Device(f"gpu{n}", Role.HOST) for n in range(40)))
    run.tick(*bare.silent(*(f"gpu{n}" for n in range(lost))), ticks=20)
    assert {incident.kind for incident in run.incidents.values()} == kinds


def lost_sessions(bare: Fabric, name: str, at: float, *peers: str) -> Finding:
    series = f'sessions_up{{device="{name}",peer="{",".join(peers)}"}}'
    return replace(bare.find(K.BGP_SESSION, name, at), evidence=(Evidence(series, 0.0, float(len(peers)), "sessions"),))


def test_sessions_by_address_lead_to_the_daemon_that_all_of_them_lost(bare: Unrecorded, run: Run) -> None:
    run.tick(*(lost_sessions(bare, f"leaf{n}", n, f"10.0.0.{2 * n + 1}") for n in range(1, 5)))
    run.tick(lost_sessions(bare, "agg9", 3, *(f"10.0.0.{2 * n}" for n in range(1, 5))), ticks=10)
    assert run.roots == ["bgp_down agg9"]
    assert "4 neighbours lost their session with agg9" in next(
        entry.text for entry in run.only.timeline if "fired" in entry.text
    )


def test_sessions_with_somebody_who_does_not_answer_are_one_incident(bare: Unrecorded, run: Run) -> None:
    run.tick(*(lost_sessions(bare, f"leaf{n}", n, f"10.0.0.{2 * n + 1}") for n in range(1, 5)), ticks=10)
    assert run.only.kind is I.BGP_DOWN
    assert "4 devices" in run.only.title


def test_hosts_that_get_warm_together_are_one_incident(bare: Unrecorded, run: Run) -> None:
    run.tick(bare.find(K.OVERHEATED, "node3", 0))
    run.tick(bare.find(K.OVERHEATED, "node4", 10), *by_heat(bare, 4), ticks=10)
    assert run.roots == ["environment node3"]
    assert "2 hosts node3 to node4 (rack not recorded)" in run.only.title


def test_jobs_of_all_hosts_that_a_power_brake_slows_wait_for_it(bare: Unrecorded, run: Run) -> None:
    """One job on each of two hosts, and none is left over as unexplained."""
    run.topology = run.topology.with_facts(facts(each for each in bare.topology.entities(Job)))
    run.tick(ticks=30)
    brakes = [replace(each, onset_ns=run.now_ns) for node in (4, 5) for each in by_heat(bare, node, "hw_power_brake")]
    run.tick(*brakes, ticks=6)
    run.tick(*(bare.find(K.JOB_SLOWED, f"job:{job}", 190) for job in (1, 2)), ticks=20)
    assert (run.roots, run.pages) == (["environment node4"], ["environment node4"])
    assert run.only.blast.jobs == ("1", "2")
    assert run.only.because[0] == (
        "a power brake slows GPUs of 2 hosts since the same minute. Nothing is known that they share: rack or power; "
        "an inventory with racks would name it"
    )


def test_gpus_of_one_host_that_heat_slows_are_a_matter_of_its_cooling(bare: Unrecorded, run: Run) -> None:
    run.tick(*by_heat(bare, 6), ticks=10)
    assert run.roots == ["environment node6"]


def test_gpus_of_one_host_with_other_faults_are_not(bare: Unrecorded, run: Run) -> None:
    run.tick(*by_heat(bare, 6), bare.find(K.GPU_XID, bare.gpu(6, 1)), ticks=10)
    assert run.only.kind is I.GPU_FAULT


def by_heat(bare: Unrecorded, node: int, reason: str = "hw_thermal") -> list[Finding]:
    series = f'gpu_throttle_seconds_total{{device="node{node}",gpu="g",reason="{reason}"}}'
    evidence = (Evidence(series, 0.9, 0.0, "ratio"),)
    return [replace(bare.find(K.GPU_THROTTLED, bare.gpu(node, n), 2), evidence=evidence) for n in range(8)]


def waiting(cluster: Fabric, run: Run, *silent: Finding, at: float) -> Incident:
    """The incident of job 1, that waits from 100 s on."""
    run.tick(*silent, ticks=int(at) // 5)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", at), ticks=30)
    (found,) = [one for one in run.incidents.values() if one.kind is I.UNEXPLAINED]
    return found


@pytest.mark.parametrize(
    ("silent", "said"),
    [
        ({"node2": 90}, "unexplained symptoms at job 1, whose node2 does not answer"),
        ({"node2": 90, "node6": 90}, "unexplained symptoms at job 1, whose node2 does not answer"),  # of another job
        ({"node2": 90, "node3": 90}, "unexplained symptoms at job 1"),  # who of them?
        ({"node2": 0}, "unexplained symptoms at job 1"),  # the job did well without it being seen
        ({}, "unexplained symptoms at job 1"),
    ],
)
def test_what_a_job_waits_for_may_be_behind_its_host_that_does_not_answer(
    silent: dict[str, int], said: str, cluster: Fabric
) -> None:
    run = Run(cluster)
    found = waiting(cluster, run, *(cluster.find(K.TARGET_SILENT, name, at) for name, at in silent.items()), at=100)
    assert found.title.partition(" — ")[0].partition("] ")[2] == said
