"""The class of a group from how its members move: together, apart, both, or not at all."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.jobs import coherence
from analytics.models.jobs.coherence import CLASS, WIDTH, WorkClass

Members = NDArray[np.float64]
Work = Callable[[np.random.Generator, int], Members]  # generator, round -> the activity of all members


def learned(work: Work, rounds: int, members: int = 8, seed: int = 1) -> NDArray[np.float64]:
    rng, state = np.random.default_rng(seed), np.zeros((members, WIDTH))
    for number in range(rounds):
        coherence.learn(state, np.zeros(members, np.int64), work(rng, number))
    return state


def lockstep(rng: np.random.Generator, number: int, members: int = 8) -> Members:
    """A step at any phase, chips that differ by a few per cent for ever, and some noise."""
    chips = np.linspace(0.95, 1.05, members)
    return np.asarray(0.6 * chips * (1.0 + 0.2 * rng.uniform(-1, 1)) * rng.normal(1.0, 0.01, members))


def requests(rng: np.random.Generator, number: int) -> Members:
    """Replicas of a service, each with requests of its own, and half as many more for all now and then."""
    return np.asarray(np.minimum(0.9, 0.3 * rng.lognormal(0.0, 0.4, 8) * (1.5 if number % 40 < 2 else 1.0)))


def rollouts(rng: np.random.Generator, number: int) -> Members:
    """Half of the time all train, half of the time each writes an answer of its own length and then waits."""
    return lockstep(rng, number) if number % 8 < 4 else np.where(rng.random(8) < 0.5, 0.6, 0.0)


def experts(rng: np.random.Generator, number: int) -> Members:
    """In step, with loads that differ from step to step."""
    return np.asarray(0.5 * (1.0 + 0.2 * rng.normal() + 0.15 * rng.normal(size=8)))


def phases(rng: np.random.Generator, number: int) -> Members:
    """In step for most of a round and each for itself for the rest of it: four fifths of what moves is common."""
    return np.asarray(0.5 * (1.0 + 0.4 * rng.normal() + 0.15 * rng.normal(size=8)))


def steady(rng: np.random.Generator, number: int) -> Members:
    return rng.normal(0.9, 0.004, 8)


def slow_member(rng: np.random.Generator, number: int) -> Members:
    values = lockstep(rng, number)
    values[3] *= 1.3 if number >= 20 else 1.0
    return values


def classes(state: NDArray[np.float64]) -> set[WorkClass]:
    return {WorkClass(int(one)) for one in state[:, CLASS]}


@pytest.mark.parametrize(
    ("work", "rounds", "expected"),
    [
        (lockstep, 3, WorkClass.UNKNOWN),
        (lockstep, 8, WorkClass.LOCKSTEP),
        (lockstep, 300, WorkClass.LOCKSTEP),
        (requests, 3, WorkClass.UNKNOWN),
        (requests, 60, WorkClass.INDEPENDENT),
        (requests, 400, WorkClass.INDEPENDENT),
        (rollouts, 400, WorkClass.INDEPENDENT),
        (experts, 400, WorkClass.MIXED),
        (phases, 400, WorkClass.UNKNOWN),
        (steady, 400, WorkClass.UNKNOWN),
        (slow_member, 200, WorkClass.LOCKSTEP),
        (lambda rng, number: np.zeros(8), 100, WorkClass.UNKNOWN),
    ],
)
def test_the_class_is_what_was_shown(work: Work, rounds: int, expected: WorkClass) -> None:
    assert {frozenset(classes(learned(work, rounds, seed=seed))) for seed in range(5)} == {frozenset([expected])}


def test_a_common_pause_shows_what_steady_work_does_not() -> None:
    def with_checkpoint(rng: np.random.Generator, number: int) -> Members:
        return steady(rng, number) * (0.0 if number in (30, 31) else 1.0)

    assert classes(learned(with_checkpoint, 30)) == {WorkClass.UNKNOWN}
    assert classes(learned(with_checkpoint, 34)) == {WorkClass.LOCKSTEP}


def test_work_that_changes_changes_its_class_later() -> None:
    def first_in_step(rng: np.random.Generator, number: int) -> Members:
        return lockstep(rng, number) if number < 60 else requests(rng, number)

    assert classes(learned(first_in_step, 64)) == {WorkClass.LOCKSTEP}
    assert WorkClass.LOCKSTEP not in classes(learned(first_in_step, 200))


def test_coherence_is_near_one_in_lockstep_and_near_zero_apart() -> None:
    assert coherence.coherence(learned(lockstep, 100)) == pytest.approx(1.0, abs=0.05)
    assert coherence.coherence(learned(requests, 100)) == pytest.approx(0.0, abs=0.3)
    assert np.isnan(coherence.coherence(learned(lockstep, 2))).all()


def test_groups_do_not_disturb_each_other_and_one_member_shows_nothing() -> None:
    rng, state = np.random.default_rng(2), np.zeros((17, WIDTH))
    groups = np.repeat([5, 3, 9], [8, 8, 1])
    for number in range(100):
        values = [lockstep(rng, number), requests(rng, number), rng.random(1)]
        coherence.learn(state, groups, np.concatenate(values))
    assert state[:, CLASS].tolist() == [WorkClass.LOCKSTEP] * 8 + [WorkClass.INDEPENDENT] * 8 + [WorkClass.UNKNOWN]
