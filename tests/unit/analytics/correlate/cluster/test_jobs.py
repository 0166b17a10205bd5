"""Which jobs an object serves, on the small fabric: job 1 runs on node1 to node4, job 2 on node5 to node8."""

from dataclasses import replace

import pytest

from analytics.correlate.cluster.graph import Graph, physical
from analytics.correlate.cluster.jobs import Jobs, running
from telemetry.objects import parse_object
from telemetry.topology import Job, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, Fabric

BOTH = {"1", "2"}


@pytest.fixture(scope="module")
def jobs(cluster: Fabric) -> Jobs:
    return Jobs(*running(cluster.topology), Graph(physical(cluster.topology)))


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("job:1", ["1"]),
        ("job:3", []),
        ("device:node5", ["2"]),
        ("gpu:node5/GPU-0005-1", ["2"]),
        ("gpu:node5/unknown", ["2"]),
        ("port:node5/mlx5_0", ["2"]),
        ("port:leaf3/Ethernet4", ["1"]),  # leads to node2
        ("port:leaf3/Ethernet4000", []),  # leads to a spine
        ("device:leaf3", []),
        ("storage_target:scratch/OST0000", []),
    ],
)
def test_an_object_serves_the_jobs_of_its_host(jobs: Jobs, ref: str, expected: list[str]) -> None:
    assert jobs.of(parse_object(ref)) == expected


def test_a_gpu_that_a_job_does_not_use_serves_none(cluster: Fabric) -> None:
    present, ended = running(cluster.topology)
    present["2"] = replace(present["2"], gpu_indices=(0, 1))
    jobs = Jobs(present, ended, Graph(physical(cluster.topology)))
    assert jobs.of(cluster.gpu(5, 1)) == ["2"]
    assert jobs.of(cluster.gpu(5, 2)) == []
    assert jobs.gpus("2") == tuple(cluster.gpu(node, index) for node in range(5, 9) for index in (0, 1))


def test_two_jobs_share_a_host(cluster: Fabric) -> None:
    present = {"2": Job("2", ("node1",), gpu_indices=(1,)), "1": Job("1", ("node1",), gpu_indices=(0,))}
    jobs = Jobs(present, {}, Graph(physical(cluster.topology)))
    assert jobs.on_device("node1") == ["1", "2"]
    assert jobs.of(cluster.gpu(1, 1)) == ["2"]


@pytest.mark.parametrize(
    ("name", "behind", "around"),
    [
        ("node1", {"1"}, {"1"}),
        ("leaf1", BOTH, BOTH),
        ("spine1", set(), BOTH),  # no host is connected to it, all are behind the leaves next to it
        ("oss1", set(), set()),
        ("unknown", set(), set()),
    ],
)
def test_jobs_behind_and_around_a_device(jobs: Jobs, name: str, behind: set[str], around: set[str]) -> None:
    assert jobs.behind(name) == behind
    assert jobs.around(name) == around


def test_a_storage_target_is_used_by_the_jobs_of_the_hosts_that_mount_it(jobs: Jobs) -> None:
    assert jobs.using(parse_object("storage_target:scratch/OST0001")) == BOTH
    assert jobs.using(parse_object("storage_target:home/OST0001")) == frozenset()


def test_a_job_that_does_not_run_has_neither_hosts_nor_gpus(jobs: Jobs) -> None:
    assert (jobs.nodes("1"), len(jobs.gpus("1"))) == (("node1", "node2", "node3", "node4"), 32)
    assert (jobs.nodes("9"), jobs.gpus("9")) == ((), ())


def test_jobs_that_ended_are_known_by_id(cluster: Fabric) -> None:
    gone = Job("1", ("node1",), gpu_indices=(0, 1))
    present, ended = running(cluster.topology.with_facts([TopologyFact(gone, T0 + 1, "slurm", gone=True)]))
    assert set(present) == {"2"}
    assert ended == {"1": gone}
    jobs = Jobs(present | {"3": Job("3", ("node1",), gpu_indices=(1, 2))}, ended, Graph(physical(cluster.topology)))
    assert [jobs.uses("1", cluster.gpu(node, index)) for node, index in ((1, 1), (1, 2), (2, 1))] == [
        True,
        False,
        False,
    ]
    assert jobs.of(cluster.gpu(1, 0)) == []
    assert jobs.gpus("1") == (cluster.gpu(1, 0), cluster.gpu(1, 1))
    assert jobs.kept_idle("1") == [cluster.gpu(1, 0)]
    assert jobs.kept_idle("3") == (cluster.gpu(1, 1), cluster.gpu(1, 2))
