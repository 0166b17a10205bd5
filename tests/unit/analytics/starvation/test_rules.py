"""The rules of docs/starvation.md, one by one: two hosts with a GPU each, in one job."""

from dataclasses import replace

import numpy as np
import pytest

from analytics.starvation import rules
from analytics.starvation.evidence import WaitEvidence
from telemetry.starvation import WaitCause as W

NOTHING = WaitEvidence(*[frozenset()] * 9)
GPUS = (("node1", "GPU-0", "7"), ("node2", "GPU-0", "7"))
ONE_JOB, TWO_JOBS = np.zeros(2, np.int64), np.arange(2)
GPU, OTHER_GPU, HOST, OTHER_HOST, JOB = "node1/GPU-0", "node2/GPU-0", "node1", "node2", "7"
BUSY = np.zeros(2)


def evidence(**sets: str) -> WaitEvidence:
    """``stalled="7"`` puts one name into that set."""
    return replace(NOTHING, **{name: frozenset({value}) for name, value in sets.items()})


def idle_cause(found: WaitEvidence, job: np.ndarray[tuple[int], np.dtype[np.int64]] = ONE_JOB) -> W:
    """Of the GPU of node1."""
    return rules.CAUSES[int(rules.idle_causes(found, GPUS, job)[0])]


def spin_cause(found: WaitEvidence, idle: tuple[float, float] = (0.0, 0.0)) -> W:
    return rules.CAUSES[int(rules.spin_causes(found, GPUS, ONE_JOB, np.array(idle))[0])]


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (NOTHING, W.UNKNOWN),
        (evidence(hung_gpus=GPU), W.HUNG),
        (evidence(hung_gpus=OTHER_GPU), W.UNKNOWN),  # it waits inside a kernel for that one
        (evidence(writing=HOST), W.CHECKPOINT),
        (evidence(writing=OTHER_HOST), W.CHECKPOINT),  # all members write together
        (evidence(writing=HOST, slow=HOST), W.STORAGE),
        (evidence(starved=HOST), W.DATA_LOADER),
        (evidence(starved=HOST, slow=HOST), W.STORAGE),
        (evidence(starved=OTHER_HOST), W.PEER),
        (evidence(slow=HOST), W.STORAGE),
        (evidence(slow=OTHER_HOST), W.UNKNOWN),
        (evidence(reading=HOST), W.STORAGE),
        (evidence(stalled=JOB), W.HUNG),
        (evidence(throttled=GPU, lost=GPU, fabric=JOB), W.UNKNOWN),  # causes of waiting inside kernels
    ],
)
def test_one_kind_of_evidence_of_time_without_kernels(found: WaitEvidence, cause: W) -> None:
    assert idle_cause(found) is cause


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (evidence(hung_gpus=GPU, writing=HOST), W.HUNG),
        (evidence(writing=OTHER_HOST, starved=HOST), W.CHECKPOINT),
        (evidence(starved=HOST, reading=HOST), W.DATA_LOADER),
        (evidence(slow=HOST, starved=OTHER_HOST), W.STORAGE),
        (evidence(starved=OTHER_HOST, stalled=JOB), W.PEER),
        (evidence(stalled=JOB, reading=HOST), W.HUNG),
    ],
)
def test_the_first_rule_of_time_without_kernels_counts(found: WaitEvidence, cause: W) -> None:
    assert idle_cause(found) is cause


@pytest.mark.parametrize("found", [evidence(writing=OTHER_HOST), evidence(starved=OTHER_HOST)])
def test_another_job_is_no_peer(found: WaitEvidence) -> None:
    assert idle_cause(found, TWO_JOBS) is W.UNKNOWN


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (NOTHING, W.UNKNOWN),
        (evidence(hung_gpus=GPU), W.HUNG),
        (evidence(hung_gpus=OTHER_GPU), W.PEER),
        (evidence(throttled=GPU), W.THROTTLE),
        (evidence(throttled=OTHER_GPU), W.PEER),
        (evidence(throttled=GPU, hung_gpus=OTHER_GPU), W.PEER),  # it waits for the hung one
        (evidence(lost=GPU), W.PEER),
        (evidence(lost="node2/GPU-9"), W.PEER),  # of a host of the job
        (evidence(lost="node9/GPU-0"), W.UNKNOWN),
        (evidence(fabric=JOB), W.FABRIC),
        (evidence(stalled=JOB), W.HUNG),
        (evidence(fabric=JOB, stalled=JOB), W.FABRIC),
        (evidence(throttled=GPU, fabric=JOB), W.THROTTLE),
        (evidence(throttled=OTHER_GPU, fabric=JOB), W.PEER),
        (evidence(slow=HOST, reading=HOST, writing=HOST, starved=HOST), W.UNKNOWN),
    ],
)
def test_time_in_kernels_that_do_not_compute(found: WaitEvidence, cause: W) -> None:
    assert spin_cause(found) is cause


@pytest.mark.parametrize(("idle", "cause"), [((0.0, 0.19), W.UNKNOWN), ((0.0, 0.2), W.PEER), ((0.2, 0.0), W.PEER)])
def test_a_gpu_without_kernels_for_a_fifth_of_the_time_makes_its_job_wait(idle: tuple[float, float], cause: W) -> None:
    assert spin_cause(NOTHING, idle) is cause


def test_each_gpu_has_a_cause_of_its_own() -> None:
    found = evidence(throttled=GPU)
    causes = rules.spin_causes(found, GPUS, ONE_JOB, BUSY)
    assert [rules.CAUSES[number] for number in causes.tolist()] == [W.THROTTLE, W.PEER]


def test_without_gpus_there_are_no_causes() -> None:
    none = np.zeros(0, np.int64)
    assert rules.idle_causes(NOTHING, (), none).size == rules.spin_causes(NOTHING, (), none, np.zeros(0)).size == 0


def test_every_cause_has_a_column() -> None:
    assert [rules.column(cause) for cause in W] == list(range(len(W)))
