"""How long the checkpoints of a job take, and from when on one is late."""

import pytest

from analytics.models.jobs.checkpoints import Checkpoints, Sent

S = 10**9


def of_lengths(*lengths_s: int) -> Checkpoints:
    return Checkpoints(lengths_ns=tuple(length * S for length in lengths_s))


@pytest.mark.parametrize(
    ("lengths_s", "late_s"),
    [
        ((), 0),
        ((20, 20), 0),
        ((20, 20, 20, 20), 40),
        ((20, 21, 20, 19, 22, 300), 40),  # one that was late makes none usual
        ((20, 60, 25, 90, 40, 30, 120, 35), 120),  # as on a busy file system: no more than the longest
    ],
)
def test_late_is_twice_as_long_as_usual_or_what_is_far_off_where_lengths_differ(
    lengths_s: tuple[int, ...], late_s: int
) -> None:
    assert of_lengths(*lengths_s).late_ns == late_s * S


def test_a_job_stands_still_while_nearly_no_gpu_runs_kernels() -> None:
    found = Checkpoints(usual=(1.0,) * 6)
    stood_s = []
    for number, busy in enumerate([0.8, 0.4, 0.0, 0.0, 0.6, 0.0, 1.0], 1):
        found = found.updated(number * 10 * S, busy, 1e9)
        stood_s.append(found.stands_ns(10 * S) // S)
    assert stood_s == [0, 10, 20, 30, 0, 10, 0]


@pytest.mark.parametrize(
    ("rests", "expected"),
    [
        ((), [False] * 9),
        ((6, 6), [False] * 9),  # too few
        ((6, 6, 6), [True] * 9),
        ((2, 2, 30), [True] * 5 + [False] * 4),  # one of them was a fault
    ],
    ids=["none before", "two before", "three before", "a long one before"],
)
def test_a_job_that_always_pauses_for_so_long_rests(rests: tuple[int, ...], expected: list[bool]) -> None:
    """rests: samples of earlier pauses in which nothing was written; the last one is still open."""
    found, number = Checkpoints(usual=(1.0,) * 6), 0
    for samples in rests:
        for busy in (*[0.0] * samples, *[1.0] * 4):
            number += 1
            found = found.updated(number * 10 * S, busy, 0.0)
    resting = []
    for _ in range(9):
        number += 1
        found = found.updated(number * 10 * S, 0.0, 0.0)
        resting.append(found.rests())
    assert resting == expected


def test_a_checkpoint_is_no_rest() -> None:
    found = Checkpoints(usual=(1.0,) * 6)
    for number, busy in enumerate([0.0, 0.0, 1.0] * 4, 1):
        found = found.updated(number * 10 * S, busy, 1e9 if busy == 0.0 else 0.0)
    assert (len(found.lengths_ns), found.rests_ns) == (4, ())


def test_a_job_that_stands_still_later_on_does_not_wait_for_its_checkpoint() -> None:
    """It wrote for a moment and worked on, but waits for its data so often that its pause goes on."""
    found = Checkpoints(usual=(1.0,) * 6)
    for number, busy in enumerate([0.7, 0.6, 0.7, 0.8, 0.7, 0.6, 0.4, 0.3, 0.0, 0.0], 1):
        found = found.updated(number * 10 * S, busy, 1e9 if number < 3 else 0.0, True, 30 * S)
    assert (found.stands_ns(30 * S), found.trickles_ns(), found.pause_ns) == (0, 0, 70 * S)
    assert found.lengths_ns == (20 * S,)


@pytest.mark.parametrize("every_s", [10, 30])
def test_a_job_that_stands_still_since_it_began_to_write_waits_for_a_member(every_s: int) -> None:
    """every_s: until all GPUs were read."""
    found = Checkpoints(usual=(1.0,) * 6)
    for number in range(1, 13):
        busy = max(0.0, 1.0 - number * 10 / every_s)
        found = found.updated(number * 10 * S, busy, 1e9 if number < 3 else 0.0, False, every_s * S)
    assert (found.trickles_ns(), found.pause_ns) == (100 * S, 10 * S)
    assert found.stands_ns(10 * S) >= 100 * S


def standing(sent: Sent | None, samples: int = 8, *, carries: bool = True) -> Checkpoints:
    """A checkpoint that was written for ten seconds, while another job of the file system writes all the time."""
    found = Checkpoints(usual=(1.0,) * 6, carries=carries).updated(10 * S, 0.0, 10e9, True, 10 * S)
    for number in range(2, samples + 2):
        found = found.updated(number * 10 * S, 0.0, 2e9, True, 10 * S, sent)
    return found


def test_what_others_write_does_not_hide_that_a_job_waits_for_one_member() -> None:
    one_left = Sent(total=0.1e9, writes=True, alike=False)
    assert standing(one_left).trickles_ns() == 80 * S
    assert standing(None).trickles_ns() == 0


def test_nics_that_were_not_seen_to_carry_what_is_written_say_nothing() -> None:
    assert standing(Sent(total=1e6, writes=False, alike=False), carries=False).trickles_ns() == 0


def test_a_job_whose_members_all_write_waits_for_the_file_system_and_for_no_member() -> None:
    assert standing(Sent(total=0.1e9, writes=True, alike=True)).trickles_ns() == 0


def test_a_job_that_waits_for_its_data_while_others_write_has_no_checkpoint_when_it_stands_still() -> None:
    found = Checkpoints(usual=(1.0,) * 6, peaks=(20e9,))
    for number, busy in enumerate([0.7, 0.6, 0.7, 0.6, 0.0, 0.0, 0.0, 0.0], 1):
        found = found.updated(number * 10 * S, busy, 20e9 if number < 5 else 0.0, True, 10 * S)
    assert (found.stands_ns(10 * S), found.trickles_ns()) == (0, 0)
