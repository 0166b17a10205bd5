"""The mean activity of a job's GPUs, from tensor cores or else SMs, once half of them are fresh and it has settled."""

import pytest

from analytics.derived.job_activity import JobActivity
from analytics.models.jobs.job_work import JobWork
from analytics.view.tick_view import TickView
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job
from tests.unit.analytics.detectors.ticks import at_each_tick
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, clockwork, table

HOSTS = ("node1", "node2")
ENTITIES: list[Entity] = [Gpu(host, f"GPU-{n}", n) for host in (*HOSTS, "node3") for n in range(2)]
TENSOR, SM = "gpu_tensor_active_ratio", "gpu_sm_active_ratio"
Rows = dict[str, list[tuple[float, float]]]  # by host: activity of its two GPUs, one row a collection


def collection(host: str, metric: str, seq: int, row: tuple[float, float]) -> SampleBatch:
    keys = [
        series_key(name, {"device": host, "gpu": f"GPU-{n}"})
        for n in range(2)
        for name in (metric, "gpu_utilization_ratio")
    ]
    return batch(table(host, keys, "dcgm"), seq, [row[0], 0.9, row[1], 0.7])


def jobs(rows: Rows, metric: str = TENSOR, job: Job | None = None) -> dict[str, JobWork]:
    """The running jobs after the last collection."""
    known = JobActivity()
    rounds = max(len(each) for each in rows.values())
    batches = [
        collection(host, metric, seq, of_host[seq])
        for seq in range(rounds)
        for host, of_host in rows.items()
        if seq < len(of_host)
    ]
    entities = [*ENTITIES, job or Job("7", HOSTS)]
    ticks = at_each_tick(lambda view: _updated(known, view), [*batches, *clockwork(0, [rounds, rounds + 1])], entities)
    return ticks[2 * rounds - 2]


def _updated(known: JobActivity, view: TickView) -> dict[str, JobWork]:
    return dict(known.update(view))


def test_work_is_the_mean_of_all_gpus_in_each_bin() -> None:
    job = jobs({"node1": [(0.2, 0.4)], "node2": [(0.6, 0.8)]})["7"]
    assert (job.metric, job.fresh) == (TENSOR, True)
    assert job.busy == pytest.approx(0.8)
    assert job.work.mean(1) == pytest.approx(0.5)
    assert job.pace.mean(1) == pytest.approx(0.5 / 0.8)


def test_sms_are_used_where_there_are_no_tensor_counters() -> None:
    assert jobs({"node1": [(0.2, 0.4)], "node2": [(0.6, 0.8)]}, SM)["7"].metric == SM


def test_half_of_the_gpus_must_have_fresh_values() -> None:
    """The other host has been silent for more than two and a half intervals."""
    half = {"node1": [(0.2, 0.4)] * 6, "node2": [(0.6, 0.8)]}
    assert jobs(half)["7"].work.mean(1) == pytest.approx(0.3)
    third = {**half, "node3": [(0.6, 0.8)]}
    assert not jobs(third, job=Job("7", (*HOSTS, "node3")))["7"].fresh


@pytest.mark.parametrize(("started_s", "known"), [(0, True), (1, False)])
def test_a_job_is_measured_two_intervals_after_its_start(started_s: int, known: bool) -> None:
    rows: Rows = {host: [(0.5, 0.5)] * 3 for host in HOSTS}
    last_tick_ns = START_NS + (2 * INTERVAL_S + INTERVAL_S // 2) * SECOND
    job = Job("7", HOSTS, started_ns=last_tick_ns - 2 * INTERVAL_S * SECOND + started_s)
    assert ("7" in jobs(rows, job=job)) is known


def test_a_job_that_has_ended_is_dropped() -> None:
    assert jobs({"node1": [(0.2, 0.4)]}, job=Job("7", ("node9",))) == {}


def test_a_restored_part_has_the_same_jobs() -> None:
    first, second = JobActivity(), JobActivity()

    def work(view: TickView) -> bool:
        first.update(view)
        second.restore(first.state())
        return first.update(view) == second.update(view) != {}

    batches = [collection(host, TENSOR, seq, (0.5, 0.6)) for seq in range(3) for host in HOSTS]
    assert all(at_each_tick(work, [*batches, *clockwork(0, [3])], [*ENTITIES, Job("7", HOSTS)]))
