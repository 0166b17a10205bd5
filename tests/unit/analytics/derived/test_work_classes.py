"""The work class of jobs in the engine: of one host, of several, of jobs that run again."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from analytics.derived.working_gpus import WorkingGpus, from_format_1, from_format_2
from analytics.models.jobs.coherence import WorkClass
from analytics.snapshot.stateful import State
from analytics.view.derived import WorkClasses
from analytics.view.tick_view import TickView
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job
from tests.unit.analytics.detectors.ticks import at_each_tick
from tests.unit.analytics.small_cluster import INTERVAL_S, batch, clockwork, table

HOSTS, GPUS = ("node1", "node2", "node3"), 4
METRICS = ("gpu_utilization_ratio", "gpu_sm_active_ratio", "gpu_energy_joules_total")
JOB = Job("7", HOSTS, "train", "ada")
Work = Callable[[np.random.Generator, int, int], Sequence[float]]  # generator, round, host -> activity of its GPUs


def together(rng: np.random.Generator, number: int, host: int) -> Sequence[float]:
    """Hosts are read at any phase of the step; all pause together."""
    return [0.0 if number % 12 == 11 else 0.5 + 0.3 * float(rng.random())] * GPUS


def each_host_for_itself(rng: np.random.Generator, number: int, host: int) -> Sequence[float]:
    """Replicas of one host each."""
    return [float(rng.uniform(0.1, 0.9))] * GPUS


def each_for_itself(rng: np.random.Generator, number: int, host: int) -> Sequence[float]:
    return [float(value) for value in rng.uniform(0.1, 0.9, GPUS)]


def collections(work: Work, rounds: int, gpus: int = GPUS) -> list[SampleBatch]:
    rng, joules, found = np.random.default_rng(3), np.zeros((len(HOSTS), GPUS)), []
    for number in range(rounds):
        for place, host in enumerate(HOSTS):
            activity = np.array(work(rng, number, place))
            # The phase of the step is over within the interval; what a host does for longer is in its energy.
            watts = 100.0 + 500.0 * (activity if work is not together else np.where(activity > 0.0, 0.65, 0.0))
            joules[place] += INTERVAL_S * watts
            values = [v for g in range(gpus) for v in (1.0, activity[g] * rng.normal(1.0, 0.01), joules[place, g])]
            keys = [series_key(metric, {"device": host, "gpu": f"GPU-{g}"}) for g in range(gpus) for metric in METRICS]
            found.append(batch(table(host, keys, "dcgm"), number, values, at_s=number * INTERVAL_S + 2 * place))
    return [*found, *clockwork(0, range(rounds, rounds + 2))]


def pausing(rounds: int) -> list[SampleBatch]:
    """Steady steps and a checkpoint of 8 s every minute, of hosts that are read 4 s apart."""
    rng, found = np.random.default_rng(5), []
    for number in range(rounds):
        for place, host in enumerate(HOSTS):
            at_s = INTERVAL_S * number + 4.0 * place
            since_s = (at_s + 30.0) % 61.0
            paused_s = 8.0 * ((at_s + 30.0) // 61.0) + min(since_s, 8.0)
            joules, active = 650.0 * at_s - 520.0 * paused_s, 0.0 if since_s < 8.0 else 0.5 + 0.3 * rng.random()
            values = [v for _ in range(GPUS) for v in (1.0, active * rng.normal(1.0, 0.01), joules)]
            keys = [series_key(metric, {"device": host, "gpu": f"GPU-{g}"}) for g in range(GPUS) for metric in METRICS]
            found.append(batch(table(host, keys, "dcgm"), number, values, at_s=at_s))
    return [*found, *clockwork(0, range(rounds, rounds + 2))]


def entities(job: Job, gpus: int = GPUS) -> list[Entity]:
    return [*(Gpu(host, f"GPU-{g}", g) for host in HOSTS for g in range(gpus)), job]


def classes(work: Work, rounds: int = 80, job: Job = JOB, gpus: int = GPUS) -> list[WorkClasses]:
    known = WorkingGpus()
    return at_each_tick(lambda view: known.update(view)[1], collections(work, rounds, gpus), entities(job, gpus))


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (together, WorkClass.LOCKSTEP),
        (each_host_for_itself, WorkClass.MIXED),
        (each_for_itself, WorkClass.INDEPENDENT),
    ],
)
def test_a_job_is_in_lockstep_if_its_gpus_are_and_its_hosts_do_not_contradict(work: Work, expected: WorkClass) -> None:
    last = classes(work)[-1]
    assert last.classes.tolist() == [expected]
    assert np.count_nonzero(last.lockstep_job >= 0) == (len(HOSTS) * GPUS if expected is WorkClass.LOCKSTEP else 0)


def test_hosts_that_are_read_at_different_moments_of_checkpoints_do_not_contradict() -> None:
    known = WorkingGpus()
    found = at_each_tick(lambda view: known.update(view)[1], pausing(70), entities(JOB))
    assert {int(one.classes[0]) for one in found[20:]} == {WorkClass.LOCKSTEP}


def test_it_is_known_within_a_minute_and_stays() -> None:
    found = [int(one.classes[0]) for one in classes(together) if one.classes.size]
    since = found.index(WorkClass.LOCKSTEP)
    assert since * INTERVAL_S / 2 <= 70
    assert set(found[since:]) == {WorkClass.LOCKSTEP}


def test_one_gpu_on_each_host_is_judged_by_the_hosts_together() -> None:
    assert classes(together, gpus=1)[-1].classes.tolist() == [WorkClass.LOCKSTEP]
    assert classes(each_for_itself, gpus=1)[-1].classes.tolist() == [WorkClass.UNKNOWN]


def test_a_job_of_one_gpu_is_never_in_lockstep() -> None:
    alone = Job("7", HOSTS[:1], "train", "ada", gpu_indices=(1,))
    assert {int(one.classes[0]) for one in classes(together, job=alone) if one.classes.size} == {WorkClass.UNKNOWN}


def test_the_gpu_that_works_longer_than_before_is_ahead() -> None:
    def slow_one(rng: np.random.Generator, number: int, host: int) -> Sequence[float]:
        activity = [0.9, 1.0, 1.0, 1.0] * np.array(together(rng, number, host))  # an expert with less to do, for ever
        return [float(one) for one in activity * np.where((np.arange(GPUS) == 2) & (number >= 60), 1.2, 1.0)]

    lead = [one.lead for one in classes(slow_one, 64)]
    ahead = np.array([np.sort(one[~np.isnan(one)])[::-1][:4] for one in (lead[2 * 58], lead[-1])])
    assert np.abs(ahead[0]).max() < 0.03
    assert ahead[1] == pytest.approx([0.14] * 3 + [0.0], abs=0.05)


def after(earlier: Job, later: Job) -> WorkClasses:
    """The class of a job in its first tick, after an earlier one has shown its own."""
    first, second = WorkingGpus(), WorkingGpus()
    at_each_tick(lambda view: first.update(view), collections(together, 40), entities(earlier))
    second.restore(State(first.state().head, WorkingGpus().state().arrays))
    return at_each_tick(lambda view: second.update(view)[1], collections(each_for_itself, 3), entities(later))[-1]


def test_a_job_that_runs_again_is_known_by_its_user_and_name_until_it_shows_more() -> None:
    again = after(JOB, replace(JOB, job_id="8"))
    assert (again.classes.tolist(), again.inherited.tolist()) == ([WorkClass.LOCKSTEP], [True])
    for other in (replace(JOB, job_id="8", user="bob"), replace(JOB, job_id="8", name="chat")):
        assert after(JOB, other).classes.tolist() == [WorkClass.UNKNOWN]
    nameless = replace(JOB, user="", name="")
    assert after(nameless, replace(nameless, job_id="8")).classes.tolist() == [WorkClass.UNKNOWN]


def test_what_a_job_shows_itself_counts_more_than_what_an_earlier_one_did() -> None:
    first = WorkingGpus()
    at_each_tick(lambda view: first.update(view), collections(together, 40), entities(JOB))
    second = WorkingGpus()
    second.restore(State(first.state().head, WorkingGpus().state().arrays))
    later = entities(replace(JOB, job_id="8"))
    found = at_each_tick(lambda view: second.update(view)[1], collections(each_for_itself, 80), later)[-1]
    assert (found.classes.tolist(), found.inherited.tolist()) == ([WorkClass.INDEPENDENT], [False])


def test_a_restored_part_goes_on_where_the_other_stopped() -> None:
    first, second = WorkingGpus(), WorkingGpus()

    def work(view: TickView) -> bool:
        before = first.update(view)[1]
        found = second.update(view)[1]
        second.restore(first.state())
        return all(
            np.array_equal(getattr(before, name), getattr(found, name), equal_nan=True)
            for name in ("classes", "coherence", "lockstep_job", "lead")
        )

    assert all(at_each_tick(work, collections(together, 20), entities(JOB)))


def test_a_snapshot_without_classes_begins_them_empty() -> None:
    first = WorkingGpus()
    at_each_tick(lambda view: first.update(view), collections(together, 20), entities(JOB))
    old = {name: first.state().arrays[name] for name in ("sid", "seen_s", "samples")}
    second = WorkingGpus()
    second.restore(from_format_2(from_format_1(State(None, old))))
    new = second.state()
    assert {name: array.shape for name, array in new.arrays.items()} == {
        name: array.shape for name, array in first.state().arrays.items()
    }
    assert not new.arrays["host"].any()
    assert np.array_equal(new.arrays["seen_s"], old["seen_s"])
