"""Jobs that a fault ended: they are gone when people are notified, and cost the most."""

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, Severity
from telemetry.objects import device, job
from telemetry.topology import Job, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

NODES = ("node1", "node2", "node3", "node4")


def ends(run: Run, at_s: float, gpu_indices: tuple[int, ...] = ()) -> None:
    """Job 1 has ended, and Slurm said so at once."""
    at_ns = T0 + int(at_s * S)
    ended = TopologyFact(Job("1", NODES, gpu_indices=gpu_indices), at_ns, "slurm", gone=True)
    run.topology = run.topology.with_facts([ended])
    change = Change("end/1", ChangeKind.JOB_END, (job("1"), *map(device, NODES)), at_ns)
    run.changes = [*run.changes, change]


def lost(cluster: Fabric, run: Run, *, ends_at_s: float, gpu_indices: tuple[int, ...] = ()) -> Incident:
    """A GPU falls off the bus at 0 s."""
    ends(run, ends_at_s, gpu_indices)
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5)), ticks=6)
    return run.only


def test_a_gpu_that_took_its_job_along_says_so_at_once(cluster: Fabric, run: Run) -> None:
    incident = lost(cluster, run, ends_at_s=3)
    assert incident.severity is Severity.CRITICAL
    assert incident.title.endswith("32 GPUs, job 1 ended")
    assert incident.blast.jobs == ("1",)
    assert [(entry.at_ns, entry.object) for entry in incident.timeline if "ended by this" in entry.text] == [
        (T0 + 3 * S, job("1"))
    ]


@pytest.mark.parametrize("lost_at_s", [-601.0, 60.0])
def test_a_job_that_ended_long_before_or_after_had_another_reason(cluster: Fabric, run: Run, lost_at_s: float) -> None:
    ends(run, 30)
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5), lost_at_s), ticks=10)
    assert run.only.blast.jobs == ()
    assert "ended" not in run.only.title


def test_a_job_on_the_other_gpus_of_the_host_ended_by_itself(cluster: Fabric, run: Run) -> None:
    assert "ended" not in lost(cluster, run, ends_at_s=3, gpu_indices=(0, 1, 2, 3)).title


def test_an_error_that_a_program_makes_ends_no_job(cluster: Fabric, run: Run) -> None:
    ends(run, 3)
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 5)), ticks=6)
    assert "ended" not in run.only.title


def test_it_costs_all_gpus_of_the_job_until_they_get_another(cluster: Fabric, run: Run) -> None:
    before = lost(cluster, run, ends_at_s=3).gpu_seconds
    assert before == pytest.approx(31 * 27 + 30)  # the lost one from its own loss on; at 30 s
    taken = Job("3", ("node2", "node3", "node4"), started_ns=run.now_ns)
    run.topology = run.topology.with_facts([TopologyFact(taken, run.now_ns, "slurm")])
    run.tick(ticks=2)
    assert track(run)["gpu_seconds"] == pytest.approx(before + 8 * 10)


def test_it_costs_nothing_more_when_nobody_starts_anything(cluster: Fabric, run: Run) -> None:
    lost(cluster, run, ends_at_s=3)
    run.tick(ticks=150)
    assert track(run)["gpu_seconds"] == pytest.approx(31 * 600 + 156 * 5)


def test_it_is_the_same_without_what_is_kept(cluster: Fabric, start: type[Run]) -> None:
    """The end of the job is known before its time is, and both come later than the loss."""
    one, other = start(cluster), start(cluster)
    for run in (one, other):
        run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5)), ticks=2)
    for step in range(140):
        for run in (one, other):
            if step == 2:
                ends(run, 40)
                run.changes = []
            if step == 4:
                ends(run, 12)
        other.correlator._forget()
        assert one.tick() == other.tick()
        assert one.correlator.state() == other.correlator.state()
    assert "job 1 ended" in one.only.title


def test_a_host_that_nobody_used_ended_nothing(cluster: Fabric, run: Run) -> None:
    ends(run, -300)
    gone = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, 1)) for leaf in range(1, 9)]
    run.tick(*gone, cluster.find(K.TARGET_SILENT, "node1"), ticks=20)
    assert all("ended" not in one.title for one in run.incidents.values())


def test_a_host_that_took_its_job_along_says_so(cluster: Fabric, run: Run) -> None:
    gone = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, 1)) for leaf in range(1, 9)]
    run.tick(*gone, cluster.find(K.TARGET_SILENT, "node1"), ticks=2)
    ends(run, 20)
    run.tick(ticks=4)
    (down,) = [one for one in run.incidents.values() if one.root.name == "node1"]
    assert (down.severity, "job 1 ended" in down.title) == (Severity.CRITICAL, True)


def test_it_survives_a_restart(cluster: Fabric, run: Run) -> None:
    lost(cluster, run, ends_at_s=3)
    state = run.correlator.state()
    run.correlator.restore(state)
    assert run.correlator.state() == state
    assert track(run)["ended_jobs"] == ["1"]


def track(run: Run) -> dict[str, object]:
    (found,) = run.correlator.state().head["tracks"]
    return dict(found)


def test_a_job_may_end_before_the_first_sample_that_is_missing(cluster: Fabric, run: Run) -> None:
    """The newest value of its GPU is one interval old then, and came from the exporter's cache."""
    ends(run, 3)
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5), 21), ticks=10)
    assert run.only.title.endswith("32 GPUs, job 1 ended")
