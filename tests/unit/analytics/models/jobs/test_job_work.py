"""How long a job has worked less than before, in bins of ten seconds."""

import pytest

from analytics.models.jobs.job_work import BIN_NS, JobWork

INTERVAL_NS = 10 * 10**9
USUAL, CHECKPOINT, NEARLY, HANGS = (0.37, 1.0), (0.11, 0.29), (0.32, 0.85), (0.01, 1.0)  # work, time with kernels


def after(*bins: tuple[float, float]) -> JobWork:
    job = JobWork("gpu_tensor_active_ratio")
    for at, (work, busy) in enumerate(bins, 1):
        job = job.updated(at * BIN_NS, work, busy, INTERVAL_NS, follow=90)
    return job


@pytest.mark.parametrize("before", [(), (CHECKPOINT,), (CHECKPOINT, CHECKPOINT, NEARLY)])
def test_a_hang_right_after_a_checkpoint_did_not_begin_with_it(before: tuple[tuple[float, float], ...]) -> None:
    job = after(*[USUAL] * 20, *before, USUAL, HANGS, HANGS, HANGS, HANGS)
    assert job.slump == 4
    assert job.onset_ns(INTERVAL_NS) == (20 + len(before) + 2) * BIN_NS


def test_without_kernels_it_began_with_the_first_bin_that_was_low() -> None:
    assert after(*[USUAL] * 20, *[CHECKPOINT] * 6).slump == 6
