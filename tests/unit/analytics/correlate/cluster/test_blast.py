"""Blast radius, counted by hand on the small fabric: job 1 on node1 to node4, job 2 on node5 to node8, 8 GPUs each."""

import pytest

from analytics.correlate.cause import cause_of
from analytics.correlate.cluster.cluster import Cluster
from telemetry.incidents import IncidentKind as I
from telemetry.objects import parse_object
from tests.unit.analytics.correlate.small_fabric import Fabric

NOTHING: frozenset[str] = frozenset()
HALF = ("node1", "node2", "node3", "node4")
OTHER_HALF = ("node5", "node6", "node7", "node8")


@pytest.fixture
def fabric(cluster: Fabric) -> Cluster:
    known = Cluster()
    known.update(cluster.topology)
    return known


@pytest.mark.parametrize(
    ("kind", "root", "waiting", "links", "nodes", "gpus", "jobs"),
    [
        # ECMP carries the traffic of a link between switches: nothing but the link, until a job shows that it waits.
        (I.LINK_DOWN, "link:leaf1/Ethernet4000--spine1/Ethernet0", NOTHING, 1, (), 0, ()),
        (I.LINK_DOWN, "link:leaf1/Ethernet4000--spine1/Ethernet0", {"2"}, 1, OTHER_HALF, 32, ("2",)),
        # The host behind a port stops its whole job: training is lockstep.
        (I.SLOW_RECEIVER, "port:leaf3/Ethernet4", NOTHING, 1, HALF, 32, ("1",)),
        (I.GPU_FAULT, "gpu:node6/GPU-0006-1", NOTHING, 0, OTHER_HALF, 32, ("2",)),
        # Links of the switch: 8 to hosts, 4 to spines, 1 to a storage server, which is a node too.
        (I.DEVICE_DOWN, "device:leaf1", NOTHING, 13, (*HALF, *OTHER_HALF, "oss1"), 64, ("1", "2")),
        (I.DEVICE_DOWN, "device:spine1", NOTHING, 8, (), 0, ()),
        (I.RACK_POWER, "rack:r1", NOTHING, 0, HALF, 32, ("1",)),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", NOTHING, 0, (*HALF, *OTHER_HALF), 64, ("1", "2")),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", {"1"}, 0, HALF, 32, ("1",)),
        (I.LATE_CHECKPOINT, "job:1", {"1"}, 0, HALF, 32, ("1",)),
        # Without telemetry nothing is known to suffer.
        (I.TELEMETRY_LOST, "device:node5", NOTHING, 0, ("node5",), 0, ()),
        (I.TELEMETRY_LOST, "device:leaf1", NOTHING, 0, (), 0, ()),
        (I.UNEXPLAINED, "device:unknown", NOTHING, 0, (), 0, ()),
    ],
)
def test_blast_radius(
    fabric: Cluster,
    kind: I,
    root: str,
    waiting: set[str],
    links: int,
    nodes: tuple[str, ...],
    gpus: int,
    jobs: tuple[str, ...],
) -> None:
    cause = cause_of(kind, parse_object(root), frozenset(), "")
    blast = fabric.blast_radius(cause, frozenset(waiting))
    assert (len(blast.links), blast.nodes, len(blast.gpus), blast.jobs) == (links, nodes, gpus, jobs)


def test_devices_that_went_with_the_root_are_hit_and_those_it_disturbs_are_not(fabric: Cluster) -> None:
    both = frozenset({"node1", "node5"})
    root = parse_object("device:node1")
    alone = cause_of(I.DEVICE_REBOOTED, root, frozenset(), "", devices=both)
    together = cause_of(I.DEVICE_REBOOTED, root, frozenset(), "", gone=both)
    assert fabric.blast_radius(alone, NOTHING).nodes == HALF
    assert fabric.blast_radius(together, NOTHING).nodes == (*HALF, *OTHER_HALF)
