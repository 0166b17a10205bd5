"""What a fault can reach, by path and kind, in a cluster of two jobs that share spines and storage."""

from dataclasses import dataclass, replace

import pytest

from common.units import NS_PER_S
from evaluation.families.counterfactual.harm import Harm
from evaluation.families.truth.severity import is_hard, limit_s, severities_due
from evaluation.families.truth.traffic import Traffic
from simulator.faults.truth import Truth
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.objects import ObjectRef, parse_object
from telemetry.topology import Job
from tests.unit.evaluation.families.made_up import (
    CABLE,
    GPU,
    GRAPH,
    SIBLING,
    SLOWED,
    STOPPED,
    UPLINK,
    finding,
    reach_of,
    traffic,
    truth,
)

START_NS = 1000 * NS_PER_S


def devices(ports: frozenset[ObjectRef]) -> set[str]:
    return {each.device for each in ports}


def test_bytes_between_hosts_of_one_leaf_take_that_leaf_alone() -> None:
    sent = traffic([("node1/mlx5_0", "node2/mlx5_0")])
    assert devices(sent.union(sent.pairs(Job("1", ("node1", "node2"))))) == {"node1", "node2", "leaf1"}


def test_bytes_between_two_leaves_take_one_spine_though_all_would_do() -> None:
    sent = traffic([("node1/mlx5_0", "node5/mlx5_0")], spread=2)
    found = devices(sent.union(sent.pairs(Job("1", ("node1", "node5")))))
    assert found == {"node1", "node5", "leaf1", "leaf3", "spine3"}


def test_pairs_of_a_job_are_those_that_sent() -> None:
    sent = traffic(
        [("node1/mlx5_0", "node2/mlx5_0"), ("node2/mlx5_0", "oss1/mlx5_0"), ("node2/mlx5_0", "node3/mlx5_0")]
    )
    found = {(a.device, b.device) for a, b in sent.pairs(Job("1", ("node1", "node2")))}
    assert found == {("node1", "node2"), ("node2", "oss1")}  # not the other rails, nor a host of somebody else


@pytest.mark.parametrize(
    ("about", "reached"),
    [
        ("port:leaf1/Ethernet0", True),  # the cable itself
        ("port:leaf1/Ethernet8", True),  # node2, which sends to node1 over the same leaf
        ("port:leaf1/Ethernet16", False),  # node3, idle
        ("port:leaf2/Ethernet0", False),  # rails that the cable is no part of
        ("port:leaf3/Ethernet0", False),  # the other job, in the other pod
        ("port:spine1/Ethernet1/1", True),  # to storage
        ("port:spine2/Ethernet1/1", False),  # as short a way, which nothing took
    ],
)
def test_a_cable_causes_congestion_on_the_routes_of_its_host_alone(about: str, reached: bool) -> None:
    (down,) = reach_of(truth("link-down", CABLE))
    assert down.explains(finding(FindingKind.ECN_MARKING, about)) is reached


def test_pauses_of_a_slow_receiver_reach_the_job_that_shares_a_paused_uplink_and_no_other() -> None:
    receiver = truth("slow-receiver", "port:leaf1/Ethernet0", ("node1",))
    mine = [("node2/mlx5_0", "node1/mlx5_0"), ("node1/mlx5_0", "oss1/mlx5_0")]
    shares = traffic([*mine, ("node5/mlx5_0", "oss1/mlx5_0")])
    apart = traffic([*mine, ("node5/mlx5_0", "node6/mlx5_0")])
    reached = []
    for sent in (shares, apart):
        (slow,) = reach_of(receiver, sent=sent)
        assert slow.explains(finding(FindingKind.PFC_PAUSE_SENT, "port:spine1/Ethernet1/1"))
        assert not slow.explains(finding(FindingKind.PFC_PAUSE_SENT, "port:leaf1/Ethernet16"))
        reached.append(slow.explains(finding(FindingKind.PFC_PAUSE_SENT, "port:leaf3/Ethernet0")))
    assert reached == [True, False]


def test_a_job_that_lost_no_time_is_not_slowed_though_it_shares_an_uplink() -> None:
    receiver = truth("slow-receiver", "port:leaf1/Ethernet0", ("node1",))
    found = [reach_of(receiver, harm=harm)[0] for harm in (Harm(jobs={"1": 0.4}), Harm(jobs={"1": 0.4, "2": 0.2}))]
    assert [slow.explains(finding(FindingKind.JOB_SLOWED, "job:2")) for slow in found] == [False, True]


@pytest.mark.parametrize(
    ("kind", "about", "reached"),
    [
        (FindingKind.STRAGGLER, GPU, True),
        (FindingKind.STRAGGLER, SIBLING, False),
        (FindingKind.DEVIATION, SIBLING, True),  # it waits
        (FindingKind.JOB_SLOWED, "job:1", True),
        (FindingKind.JOB_IDLE, "job:1", True),
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


NOTHING = Harm()
WEAK, MIDDLE, STRONG = (Harm(gpus=gpus) for gpus in (3.9, 6.0, 9.1))
LASTING = Harm(START_NS, (0.0, 950.0), 950.0, {"1": 0.1}, 3.0)


@pytest.mark.parametrize(
    ("fault", "root", "harm", "due"),
    [
        ("link-down", UPLINK, NOTHING, {Severity.WARNING}),  # three others carry its traffic
        ("link-down", CABLE, WEAK, {Severity.WARNING}),
        ("link-down", CABLE, MIDDLE, {Severity.WARNING, Severity.CRITICAL}),
        ("link-down", CABLE, STRONG, {Severity.CRITICAL}),
        ("link-down", CABLE, LASTING, {Severity.CRITICAL}),  # slowly, but more than is promised
        ("hung-gpu", GPU, STOPPED, {Severity.CRITICAL}),
        ("hung-gpu", GPU, Harm(gpus=1.0, standing=1), {Severity.WARNING}),  # a job of one GPU
        ("rack-power-loss", "rack:r1", Harm(gpus=8.0, standing=8), {Severity.CRITICAL}),
        ("pfc-deadlock", "port:leaf1/Ethernet32", NOTHING, {Severity.CRITICAL}),
        ("switch-reboot", "device:leaf1", NOTHING, {Severity.INFO, Severity.WARNING}),
        ("switch-reboot", "device:leaf1", replace(SLOWED, gpus=9.1), {Severity.CRITICAL}),
        ("dirty-optic", UPLINK, NOTHING, {Severity.INFO, Severity.WARNING}),  # a cable that gets worse
        ("speed-downgrade", UPLINK, NOTHING, {Severity.WARNING}),  # half of its bandwidth is gone
        ("slow-receiver", "port:node1/mlx5_0", NOTHING, {Severity.INFO}),  # pauses that nobody waits for
        ("slow-receiver", "port:node1/mlx5_0", replace(SLOWED, gpus=9.1), {Severity.CRITICAL}),
        ("slow-storage-target", "storage_target:scratch/OST0001", NOTHING, {Severity.INFO}),
        ("exporter-frozen", "device:node1", NOTHING, {Severity.INFO}),
        ("planned-reboot-wave", "device:node1", STOPPED, set()),
    ],
)
def test_severity_follows_from_the_cost(fault: str, root: str, harm: Harm, due: set[Severity]) -> None:
    (found,) = reach_of(truth(fault, root), harm=harm)
    assert severities_due(found, found.truth.end_ns) == due


def test_a_path_that_no_job_used_may_be_a_line_on_a_board() -> None:
    to_storage = (traffic([("node1/mlx5_0", "oss1/mlx5_0")], spread) for spread in range(8))
    crossing = next(filter(_crosses, to_storage))
    due = []
    for sent in (crossing, traffic([("node1/mlx5_0", "node2/mlx5_0")])):
        (lost,) = reach_of(truth("link-down", UPLINK), sent=sent, harm=Harm())
        due.append(severities_due(lost))
    assert due == [{Severity.WARNING}, {Severity.INFO, Severity.WARNING}]


def _crosses(sent: Traffic) -> bool:
    return parse_object(f"port:{UPLINK.partition(':')[2].partition('--')[0]}") in sent.union(
        sent.pairs(Job("1", ("node1", "node2")))
    )


def test_what_is_lost_later_makes_no_early_page_critical() -> None:
    (found,) = reach_of(truth("link-down", CABLE), harm=LASTING)
    assert severities_due(found, START_NS) == {Severity.WARNING}


def test_a_hard_fault_has_one_interval_and_a_slow_one_three() -> None:
    hard, slow = reach_of(truth("link-down", UPLINK), truth("dirty-optic", UPLINK))
    assert (is_hard(hard), is_hard(slow)) == (True, False)
    assert (limit_s(hard, 30.0), limit_s(slow, 30.0)) == (35.0, 90.0)


def test_a_slow_gpu_of_an_idle_host_is_not_visible() -> None:
    idle = next(f"gpu:node3/{unit.name.partition('/')[2]}" for unit in GRAPH.gpus_of("node3"))
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


def test_a_slow_gpu_whose_job_lost_no_time_slows_no_job_and_still_is_on_its_host() -> None:
    slow = truth("straggler-gpu", GPU, ("node1",))
    found = [reach_of(slow, harm=harm)[0] for harm in (NOTHING, SLOWED)]
    assert [each.explains(finding(FindingKind.JOB_SLOWED, "job:1")) for each in found] == [False, True]
    assert [each.reaches(parse_object("device:node1")) for each in found] == [True, True]
    assert [each.reaches(parse_object("device:node2")) for each in found] == [False, True]  # it waits for node1
