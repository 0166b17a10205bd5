"""What a fault cost, in records made by hand: one job of two GPUs that does an iteration a second."""

from dataclasses import replace

import pytest

from common.units import NS_PER_S
from evaluation.families.counterfactual.harm import Harm, harm
from evaluation.families.counterfactual.log import ClusterRecord, JobLog, Span

BEGIN_S, END_S, LAST_S = 100, 200, 300


def each_second(until_s: int) -> list[float]:
    return [float(at_s) for at_s in range(1, until_s + 1)]


def job(done_s: list[float], ended_s: float = 0.0) -> JobLog:
    """done_s: when each iteration was complete."""
    times_ns = [int(at_s * NS_PER_S) for at_s in done_s]
    return JobLog(("node1",), (0, 1), 1, int(ended_s * NS_PER_S), times_ns, [float(1 + n) for n in range(len(done_s))])


STEADY = job(each_second(LAST_S))


def cost(after: JobLog, before: JobLog = STEADY, **others: JobLog) -> Harm:
    actual = ClusterRecord({"1": after, **others})
    return harm(actual, ClusterRecord({"1": before}), BEGIN_S * NS_PER_S, END_S * NS_PER_S)


def slowed(period_s: float, until_s: float = END_S) -> JobLog:
    """Iterations take ``period_s`` from the begin to ``until_s``."""
    done_s = each_second(BEGIN_S)
    while done_s[-1] < LAST_S - period_s:
        done_s.append(done_s[-1] + (period_s if done_s[-1] < until_s else 1.0))
    return job(done_s)


def test_without_a_difference_nothing_is_lost() -> None:
    found = cost(STEADY)
    assert (found.total, found.jobs, found.gpus, found.standing) == (0.0, {}, 0.0, 0)


def test_a_job_that_needs_twice_as_long_loses_half_of_its_time() -> None:
    found = cost(slowed(2.0))
    assert found.total == pytest.approx(2 * 50.0, abs=4.0)
    assert (found.jobs["1"], found.gpus) == pytest.approx((0.5, 1.0), abs=0.02)
    assert found.standing == 0
    assert found.lost_by((BEGIN_S + 40) * NS_PER_S) == pytest.approx(2 * 20.0, abs=4.0)


def test_a_job_that_stands_still_loses_all_of_it_though_no_iteration_says_so() -> None:
    stands = job([*each_second(BEGIN_S), *(float(at_s) for at_s in range(END_S + 1, LAST_S))])
    found = cost(stands)
    assert found.total == pytest.approx(2 * 100.0, abs=4.0)
    assert (found.standing, round(found.gpus, 1)) == (2, 2.0)


def test_a_checkpoint_that_only_one_of_them_has_written_costs_nothing() -> None:
    """Both write for 20 s: one before the fault is over, the other after that."""
    early = job([*each_second(190), *(190.0 + 20.0 + n for n in range(1, 80))])
    late = job([*each_second(210), *(210.0 + 20.0 + n for n in range(1, 60))])
    assert cost(late, early).total == 0.0
    assert cost(early, late).total == 0.0


def test_iterations_that_differ_by_less_than_two_percent_are_no_loss() -> None:
    assert cost(slowed(1.01)).total == 0.0
    assert cost(slowed(1.05)).total > 0.0


def test_a_job_that_died_costs_its_gpus_until_they_have_another_one() -> None:
    died = job(each_second(150), ended_s=150.0)
    found = cost(died)
    assert (found.jobs["1"], found.gpus, found.standing) == (1.0, 2.0, 2)
    assert found.total == pytest.approx(2 * 50.0, abs=4.0)
    other = replace(STEADY, started_ns=170 * NS_PER_S, gpus=(0,))
    assert cost(died, **{"2": other}).total == pytest.approx(20.0 + 50.0, abs=4.0)


def test_a_job_that_would_have_ended_anyway_is_no_loss() -> None:
    ends = job(each_second(150), ended_s=150.0)
    assert cost(ends, ends).total == 0.0
    assert cost(ends, replace(ends, ended_ns=ends.ended_ns + NS_PER_S // 2)).total == 0.0


def test_a_gpu_that_is_gone_counts_whole_and_once() -> None:
    gone = [Span(BEGIN_S * NS_PER_S, END_S * NS_PER_S)]
    idle = harm(ClusterRecord(gone={7: gone}), ClusterRecord(), BEGIN_S * NS_PER_S, END_S * NS_PER_S)
    assert (idle.total, idle.gpus, idle.standing, idle.jobs) == (100.0, 1.0, 1, {})
    actual = ClusterRecord({"1": job(each_second(BEGIN_S), ended_s=BEGIN_S)}, gone={0: gone})
    both = harm(actual, ClusterRecord({"1": STEADY}), BEGIN_S * NS_PER_S, END_S * NS_PER_S)
    assert both.total == pytest.approx(200.0, abs=4.0)


def test_a_gpu_that_was_gone_before_is_not_lost_by_the_fault() -> None:
    gone = {7: [Span(50 * NS_PER_S, LAST_S * NS_PER_S)]}
    found = harm(ClusterRecord(gone=gone), ClusterRecord(gone=gone), BEGIN_S * NS_PER_S, END_S * NS_PER_S)
    assert (found.total, found.standing) == (0.0, 0)
