"""What a job sends against its own past, and since when it sends nothing although it never did that before."""

import json
import math

import pytest

from analytics.models.jobs.sending import Sending

SECOND = 10**9
ROUND_S = 10
USUAL = 2e9


def sends(
    *shares: float, polls: bool = True, usual: float = USUAL, after: Sending | None = None, imposed: int = 0
) -> Sending:
    """A job that works as usual for six collections, then sends these parts of that; it polls while it sends none.

    imposed: in how many of the collections without traffic a fault is known that may be why.
    """
    known = after or Sending()
    shares = shares if after else (*[1.0] * 7, *shares)
    for share in shares:
        works = share >= 0.5
        at_ns = known.newest_ns + ROUND_S * SECOND
        known = known.updated(
            at_ns,
            share * usual,
            share * usual,
            works=works,
            polls=polls and not works,
            imposed=not works and imposed > 0,
        )
        imposed -= not works
    return known


def test_the_share_is_of_what_it_sends_while_it_works() -> None:
    assert sends(0.4).share == pytest.approx(0.4)
    assert sends(*[0.4] * 60).share == pytest.approx(0.4)  # the work was less, so that is no new usual


def test_nothing_is_known_of_a_new_job_or_of_one_that_hardly_sends() -> None:
    assert math.isnan(Sending().updated(SECOND, 1e9, 1e9, works=True, polls=False).share)
    assert math.isnan(sends(0.0, 0.0, usual=9e6).silent_s)


@pytest.mark.parametrize(
    ("shares", "silent_s", "hangs_s"),
    [
        ((0.02,), None, None),  # a very slow job
        ((0.001,), 10.0, None),  # for a whole collection
        ((0.001, 0.0), 20.0, 20.0),
        ((0.0,) * 6, 60.0, 60.0),
        ((0.0, 0.0, 0.5), None, None),
    ],
)
def test_silence_lasts_since_the_collection_before_it(
    shares: tuple[float, ...], silent_s: float | None, hangs_s: float | None
) -> None:
    known = sends(*shares)
    found = [None if math.isnan(value) else value for value in (known.silent_s, known.hangs_s)]
    assert found == [silent_s, hangs_s]


def test_one_nic_that_still_sends_is_no_silence() -> None:
    known = sends()
    known = known.updated(known.newest_ns + 10 * SECOND, 0.001 * USUAL, 0.1 * USUAL, works=False, polls=True)
    assert math.isnan(known.silent_s)


def test_who_does_not_poll_writes_or_loads_and_does_not_hang() -> None:
    known = sends(0.0, 0.0, 0.0, polls=False)
    assert (known.silent_s, math.isnan(known.hangs_s)) == (30.0, True)


def test_a_pause_that_it_has_made_before_is_usual_up_to_twice_its_length() -> None:
    paused = sends(*[0.0] * 3, 1.0, 1.0, polls=False)
    assert math.isnan(sends(*[0.0] * 6, polls=False, after=paused).silent_s)
    assert sends(*[0.0] * 7, polls=False, after=paused).silent_s == 70.0


def test_a_checkpoint_hides_no_hang_as_no_gpu_polls_in_it() -> None:
    paused = sends(*[0.0] * 6, 1.0, 1.0, polls=False)
    hangs = sends(0.0, 0.0, after=paused)
    assert (hangs.silent_s, hangs.hangs_s) == (20.0, 20.0)


def test_a_barrier_that_it_has_left_by_itself_is_usual() -> None:
    barrier = sends(*[0.0] * 6, 1.0, 1.0)
    assert math.isnan(sends(*[0.0] * 12, after=barrier).hangs_s)
    assert sends(*[0.0] * 13, after=barrier).hangs_s == 130.0


def test_what_only_the_watchdog_ended_is_not_learned() -> None:
    killed = sends(*[0.0] * 60, 1.0, 1.0)
    assert sends(0.0, 0.0, after=killed).hangs_s == 20.0


def test_a_collection_that_is_overdue_says_nothing_about_now() -> None:
    known = sends(0.0)
    assert known.known(known.newest_ns + 30 * SECOND)
    assert not known.known(known.newest_ns + 31 * SECOND)


def test_it_goes_through_json() -> None:
    for known in (Sending(), sends(), sends(0.0, 0.0)):
        assert Sending.from_json(json.loads(json.dumps(known.as_json()))) == known


@pytest.mark.parametrize("imposed", [1, 6])
def test_a_silence_of_a_fault_is_none_of_its_own(imposed: int) -> None:
    """A link that was down for a minute says nothing about how long the job is silent by itself."""
    repaired = sends(*[0.0] * 6, 1.0, 1.0, imposed=imposed)
    hangs = sends(0.0, 0.0, after=repaired)
    assert (hangs.silent_s, hangs.hangs_s) == (20.0, 20.0)
