"""Which GPUs work in a job: two samples in a row with half of the time in kernels, and a job that has settled."""

import pytest

from analytics.derived.working_gpus import WorkingGpus
from analytics.view.tick_view import TickView
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, clockwork, table

KEYS = [series_key("gpu_utilization_ratio", {"device": "node1", "gpu": f"GPU-{n}"}) for n in range(2)]
GPUS: list[Entity] = [Gpu("node1", f"GPU-{n}", n) for n in range(2)]


def working(*rows: tuple[float, float], job: Job | None = None) -> list[list[bool]]:
    """Of two GPUs, after each collection: whether they work in a job and did not pause."""
    known = WorkingGpus()

    def work(view: TickView) -> list[bool]:
        jobs, classes = known.update(view)
        steady = (jobs >= 0) & ~classes.paused
        return [bool(steady[number]) for number in view.column("gpu_utilization_ratio").objects.tolist()]

    entities = [*GPUS, job or Job("7", ("node1",))]
    found = at_each_tick(work, collected(KEYS, rows, "node1"), entities)
    return found[: 2 * len(rows) : 2]


@pytest.mark.parametrize(
    ("utilisation", "expected"),
    [
        ([0.9], [False]),
        ([0.9, 0.9, 0.9], [False, True, True]),
        ([0.5, 0.5], [False, True]),
        ([0.49, 0.49], [False, False]),
        ([0.9, 0.1, 0.9, 0.9], [False, False, False, True]),  # in a row
        ([0.9, 0.9, 0.1], [False, True, False]),
        ([0.9, 0.9, 0.85, 0.7, 0.9], [False, True, True, False, True]),  # an interval with a pause in it
        ([0.9, 0.9, *[0.78] * 4], [False, True, False, False, True, True]),  # the most fades: this is its work now
    ],
)
def test_a_gpu_works_from_its_second_busy_sample_on(utilisation: list[float], expected: list[bool]) -> None:
    assert [row[0] for row in working(*((value, 0.0) for value in utilisation))] == expected


def test_the_most_of_another_job_does_not_count() -> None:
    known = WorkingGpus()

    def works(job: str, utilisation: float, since: int) -> bool:
        batches = [batch(table("node1", KEYS), since + n, (utilisation, 0.0)) for n in range(3)]

        def work(view: TickView) -> bool:
            numbers = view.column("gpu_utilization_ratio").objects
            jobs, classes = known.update(view)
            return bool(((jobs >= 0) & ~classes.paused)[numbers].any())

        entities = [*GPUS, Job(job, ("node1",))]
        return at_each_tick(work, [*batches, *clockwork(0, range(since + 3, since + 5))], entities)[-3]

    assert works("7", 1.0, 0)
    assert works("8", 0.6, 3)


def test_gpus_are_judged_one_by_one() -> None:
    assert working((0.9, 0.1), (0.9, 0.9))[-1] == [True, False]


def test_a_gpu_that_no_job_uses_works_in_none() -> None:
    assert working((0.9, 0.9), (0.9, 0.9), job=Job("7", ("node1",), gpu_indices=(1,)))[-1] == [False, True]
    assert working((0.9, 0.9), (0.9, 0.9), job=Job("7", ("node2",)))[-1] == [False, False]


def test_a_job_settles_for_two_intervals() -> None:
    started_ns = START_NS + INTERVAL_S * SECOND
    rows = working(*[(0.9, 0.9)] * 6, job=Job("7", ("node1",), started_ns=started_ns))
    assert [row[0] for row in rows] == [False, False, False, True, True, True]


def test_a_restored_part_goes_on_where_the_other_stopped() -> None:
    first, second = WorkingGpus(), WorkingGpus()
    rows = [(0.9, 0.9)] * 2

    def work(view: TickView) -> bool:
        number = int(view.column("gpu_utilization_ratio").objects[0])
        before = int(first.update(view)[0][number])
        second.restore(first.state())
        return before == int(second.update(view)[0][number])

    assert all(at_each_tick(work, collected(KEYS, rows, "node1"), [*GPUS, Job("7", ("node1",))]))
