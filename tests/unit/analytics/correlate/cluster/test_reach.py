"""What causes reach, on the small fabric, counted by hand."""

from dataclasses import replace

import pytest

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.cluster.cluster import Cluster
from telemetry.incidents import IncidentKind as I
from telemetry.objects import parse_object
from telemetry.topology import Device, Entity, Job, Link, Role
from tests.unit.analytics.correlate.small_fabric import Fabric, facts

BOTH = {"1", "2"}
HOSTS = {f"node{n}" for n in range(1, 9)}
SPINES = {f"spine{n}" for n in range(1, 5)}
LEAVES = {f"leaf{n}" for n in range(1, 9)}
UPLINK = "link:leaf1/Ethernet4000--spine1/Ethernet0"


@pytest.fixture
def fabric(cluster: Fabric) -> Cluster:
    known = Cluster()
    known.update(cluster.topology)
    return known


@pytest.fixture
def spread(cluster: Fabric) -> Cluster:
    """One job on one host more, and a second link of a storage server."""
    known = Cluster()
    link = Link("leaf9", "Ethernet0", "oss1", "mlx5_1")
    more: list[Entity] = [Job("3", ("node1",)), Device("leaf9", Role.LEAF), link]
    known.update(cluster.topology.with_facts(facts(more)))
    return known


@pytest.mark.parametrize(
    ("kind", "root", "cut_off"),
    [
        # Collectives of a job on several hosts use every NIC of each; a job on one host needs none.
        (I.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0", {"1"}),
        (I.LINK_DOWN, "port:node5/mlx5_0", {"2"}),
        (I.DEVICE_DOWN, "device:leaf3", BOTH),
        (I.DEVICE_DOWN, "device:node1", {"1"}),
        (I.LINK_DOWN, UPLINK, set()),
        (I.DEVICE_DOWN, "device:spine1", set()),
        # One storage server has a second link, the other has none.
        (I.DEVICE_DOWN, "device:oss1", {*BOTH, "3"}),
        (I.LINK_DOWN, "port:oss1/mlx5_0", set()),
        (I.LINK_DOWN, "port:oss2/mlx5_0", {*BOTH, "3"}),
        (I.DEVICE_DOWN, "device:leaf9", set()),
        # Nothing is lost.
        (I.LINK_DEGRADED, "link:leaf1/Ethernet0--node1/mlx5_0", set()),
        (I.DEVICE_REBOOTED, "device:leaf3", set()),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0002", set()),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", set()),
    ],
)
def test_jobs_that_are_cut_off(spread: Cluster, kind: I, root: str, cut_off: set[str]) -> None:
    assert spread.cut_off(cause(kind, root)) == cut_off


def cause(kind: I, root: str, devices: frozenset[str] = frozenset(), gone: frozenset[str] = frozenset()) -> Cause:
    return cause_of(kind, parse_object(root), frozenset(), "", devices=devices, gone=gone)


@pytest.mark.parametrize(
    ("kind", "root", "own", "devices", "certain", "possible"),
    [
        # A link between switches carries any job next to its ends, and none for certain.
        (I.LINK_DOWN, UPLINK, 3, {"leaf1", "spine1"}, set(), BOTH),
        (I.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0", 3, {"leaf1", "node1"}, {"1"}, BOTH),
        # The switch itself, its 8 host links, 4 uplinks and the link of a storage server, with both ports of each.
        (I.DEVICE_DOWN, "device:leaf1", 1 + 13 + 26, {"leaf1", "oss1", *HOSTS, *SPINES}, BOTH, BOTH),
        # A host with 8 GPUs and 8 links: its neighbours carry all jobs.
        (I.DEVICE_DOWN, "device:node1", 1 + 8 + 8 + 16, {"node1", *LEAVES}, {"1"}, BOTH),
        # A GPU fault does not disturb the fabric.
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", 1, {"node1"}, {"1"}, {"1"}),
        # Four hosts with 8 GPUs and 8 links each, and the rack.
        (I.RACK_POWER, "rack:r1", 1 + 4 * 33, {"node1", "node2", "node3", "node4", *LEAVES}, {"1"}, BOTH),
        # Target, its server and the file system; every job that mounts it may wait.
        (I.SLOW_STORAGE, "storage_target:scratch/OST0002", 3, {"oss2"}, set(), BOTH),
        # A storage server or its link: jobs that mount the file system cannot go on, as files lie on all targets.
        (I.DEVICE_DOWN, "device:oss1", 1 + 1 + 2, {"oss1", "leaf1"}, BOTH, BOTH),
        (I.LINK_DOWN, "link:leaf1/Ethernet7000--oss1/mlx5_0", 3, {"leaf1", "oss1"}, BOTH, BOTH),
        (I.LATE_CHECKPOINT, "job:2", 1, set(), {"2"}, set()),
        (I.UNEXPLAINED, "device:unknown", 1, {"unknown"}, set(), set()),
    ],
)
def test_reach_of_a_cause(
    fabric: Cluster, kind: I, root: str, own: int, devices: set[str], certain: set[str], possible: set[str]
) -> None:
    reached = fabric.reach(cause(kind, root))
    assert len(reached.own) == own
    assert reached.devices == devices
    assert reached.certain == certain
    assert reached.possible == possible
    assert parse_object(root) in reached.own


def test_further_devices_are_disturbed_and_part_of_the_root_only_when_gone_with_it(fabric: Cluster) -> None:
    further = frozenset({"node1", "node2"})
    disturbed = fabric.reach(cause(I.DEVICE_REBOOTED, "device:node1", further))
    gone = fabric.reach(cause(I.DEVICE_REBOOTED, "device:node1", gone=further))
    assert further <= disturbed.devices == gone.devices
    assert gone.own - disturbed.own == fabric.reach(cause(I.DEVICE_REBOOTED, "device:node2")).own


def test_further_links_are_a_part_of_the_root(fabric: Cluster) -> None:
    """The second one leads to a host of another job."""
    first, second = "link:leaf1/Ethernet0--node1/mlx5_0", "link:leaf2/Ethernet16--node5/mlx5_1"
    alone, other = (fabric.reach(cause(I.LINK_DEGRADED, link)) for link in (first, second))
    both = fabric.reach(replace(cause(I.LINK_DEGRADED, first), links=frozenset({parse_object(second)})))
    assert both.own == alone.own | other.own
    assert both.devices == {"leaf1", "node1", "leaf2", "node5"}
    assert alone.certain == {"1"}
    assert both.certain == BOTH
