"""What a fault can reach, by path and kind, in a cluster of two jobs that share spines and storage."""

from dataclasses import dataclass

import pytest

from analytics.correlate.cluster.graph import Graph, physical
from evaluation.families.truth.paths import Paths
from evaluation.families.truth.severity import is_hard, limit_s, severities_due
from simulator.faults.truth import Truth
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.objects import ObjectRef, parse_object, port
from telemetry.topology import Device, Link, Role, Topology, TopologyFact
from tests.unit.evaluation.families.made_up import CABLE, GPU, SIBLING, TOPOLOGY, UPLINK, finding, reach_of, truth

PATHS = Paths(Graph(physical(TOPOLOGY)))


def devices(ports: frozenset[ObjectRef]) -> set[str]:
    return {each.device for each in ports}


def test_hosts_of_one_leaf_talk_over_that_leaf_alone() -> None:
    assert devices(PATHS.ports((port("node1", "mlx5_0"), port("node2", "mlx5_0")))) == {"node1", "node2", "leaf1"}


def test_hosts_of_two_leaves_may_use_every_spine() -> None:
    found = devices(PATHS.ports((port("node1", "mlx5_0"), port("node5", "mlx5_0"))))
    assert found == {"node1", "node5", "leaf1", "leaf3", "spine1", "spine2", "spine3", "spine4"}


def test_leaves_without_a_way_between_them_share_no_port() -> None:
    roles = {"a": Role.LEAF, "b": Role.LEAF, "h1": Role.HOST, "h2": Role.HOST}
    apart: list[Device | Link] = [Device(name, role) for name, role in roles.items()]
    apart += [Link("a", "1", "h1", "n"), Link("b", "1", "h2", "n")]
    paths = Paths(Graph(physical(Topology().with_facts(TopologyFact(each, 0, "test") for each in apart))))
    assert len(paths.ports((port("h1", "n"), port("h2", "n")))) == 4


@pytest.mark.parametrize(
    ("about", "reached"),
    [
        ("port:leaf1/Ethernet0", True),  # the cable itself
        ("port:leaf1/Ethernet8", True),  # node2, which sends to node1 over the same leaf
        ("port:leaf1/Ethernet16", False),  # node3, idle
        ("port:leaf2/Ethernet0", False),  # rails that the cable is no part of
        ("port:leaf3/Ethernet0", False),  # the other job, in the other pod
    ],
)
def test_a_cable_causes_congestion_on_the_routes_of_its_host_alone(about: str, reached: bool) -> None:
    (down,) = reach_of(truth("link-down", CABLE))
    assert down.explains(finding(FindingKind.ECN_MARKING, about)) is reached


def test_pauses_of_a_slow_receiver_reach_the_job_that_shares_a_paused_uplink_but_no_idle_host() -> None:
    (slow,) = reach_of(truth("slow-receiver", "port:leaf1/Ethernet0", ("node1",)))
    assert slow.explains(finding(FindingKind.PFC_PAUSE_SENT, "port:spine1/Ethernet1/1"))
    assert slow.explains(finding(FindingKind.JOB_SLOWED, "job:2"))
    assert not slow.explains(finding(FindingKind.PFC_PAUSE_SENT, "port:leaf1/Ethernet16"))


@pytest.mark.parametrize(
    ("kind", "about", "reached"),
    [
        (FindingKind.STRAGGLER, GPU, True),
        (FindingKind.STRAGGLER, SIBLING, False),
        (FindingKind.DEVIATION, SIBLING, True),  # it waits
        (FindingKind.JOB_SLOWED, "job:1", True),
        (FindingKind.JOB_SLOWED, "job:2", False),
        (FindingKind.PFC_PAUSE_SENT, "port:leaf1/Ethernet0", False),
        (FindingKind.DEVIATION, "port:leaf1/Ethernet0", True),  # its job sends less
        (FindingKind.DEVIATION, "port:leaf3/Ethernet0", False),
    ],
)
def test_a_slow_gpu_delays_its_own_job_and_pauses_nobody(kind: FindingKind, about: str, reached: bool) -> None:
    (slow,) = reach_of(truth("straggler-gpu", GPU, ("node1",)))
    assert slow.explains(finding(kind, about)) is reached


def test_a_dead_leaf_breaks_no_gpu() -> None:
    (down,) = reach_of(truth("switch-reboot", "device:leaf1"))
    assert down.explains(finding(FindingKind.LINK_DOWN, "port:node1/mlx5_0"))
    assert down.explains(finding(FindingKind.JOB_STALLED, "job:1"))
    assert not down.explains(finding(FindingKind.GPU_XID, GPU))
    assert not down.explains(finding(FindingKind.JOB_STALLED, "job:3"))


def test_a_finding_is_of_a_fault_that_lasts() -> None:
    (down,) = reach_of(truth("link-down", CABLE))
    times = (985.0, 995.0, 1159.0, 1165.0)
    assert [down.explains(finding(FindingKind.LINK_DOWN, CABLE, at_s)) for at_s in times] == [False, True, True, False]


def test_an_announced_wave_is_named_by_any_of_its_hosts() -> None:
    (wave,) = reach_of(truth("planned-reboot-wave", "device:node1", ("node1", "node2")))
    assert [wave.is_root(parse_object(f"device:{name}")) for name in ("node2", "node3")] == [True, False]


@pytest.mark.parametrize(
    ("fault", "root", "reach", "due"),
    [
        ("link-down", CABLE, (), {Severity.WARNING, Severity.CRITICAL}),
        ("link-down", "link:leaf1/Ethernet16--node3/mlx5_0", (), {Severity.WARNING}),  # idle
        ("hung-gpu", GPU, ("node1",), {Severity.CRITICAL}),
        ("rack-power-loss", "rack:r1", ("node1", "node2"), {Severity.CRITICAL}),
        ("exporter-frozen", "device:node1", (), {Severity.INFO}),
        ("planned-reboot-wave", "device:node1", ("node1",), set()),
    ],
)
def test_severity_follows_from_what_stands_still(
    fault: str, root: str, reach: tuple[str, ...], due: set[Severity]
) -> None:
    (found,) = reach_of(truth(fault, root, reach))
    assert severities_due(found) == due


def test_maintenance_that_nobody_announced_may_page() -> None:
    (wave,) = reach_of(truth("planned-reboot-wave", "device:node1", ("node1",)))
    assert severities_due(wave, announced=False) == set(Severity)


def test_a_hard_fault_has_one_interval_and_a_slow_one_three() -> None:
    hard, slow = reach_of(truth("link-down", UPLINK), truth("dirty-optic", UPLINK))
    assert (is_hard(hard), is_hard(slow)) == (True, False)
    assert (limit_s(hard, 30.0), limit_s(slow, 30.0)) == (35.0, 90.0)


def test_a_slow_gpu_of_an_idle_host_is_not_visible() -> None:
    idle = next(f"gpu:node3/{unit.name.partition('/')[2]}" for unit in PATHS.graph.gpus_of("node3"))
    here, there = reach_of(truth("straggler-gpu", GPU, ("node1",)), truth("straggler-gpu", idle, ("node3",)))
    assert (here.visible, there.visible) == (True, False)


@dataclass(frozen=True, slots=True)
class _SeveralRoots(Truth):
    """A fault with further objects and kinds that are as right as the root and its kind."""

    accepted: tuple[IncidentKind, ...] = (IncidentKind.LINK_DEGRADED,)
    roots: tuple[ObjectRef, ...] = (parse_object(UPLINK),)


def test_objects_and_kinds_that_are_as_right_as_the_root_may_be_named() -> None:
    begun, ended = (truth("link-down", CABLE).start_ns, truth("link-down", CABLE).end_ns)
    (swapped,) = reach_of(_SeveralRoots("link-down", IncidentKind.LINK_DOWN, parse_object(CABLE), begun, ended))
    assert [swapped.is_root(parse_object(root)) for root in (CABLE, UPLINK, "device:leaf1")] == [True, True, False]
    kinds = (IncidentKind.LINK_DOWN, IncidentKind.LINK_DEGRADED, IncidentKind.LINK_FLAPPING)
    assert [swapped.is_kind(kind, begun) for kind in kinds] == [True, True, False]
    assert swapped.explains(finding(FindingKind.LINK_ERRORS, UPLINK))
    (alone,) = reach_of(truth("link-down", CABLE))
    assert not alone.explains(finding(FindingKind.LINK_ERRORS, UPLINK))
