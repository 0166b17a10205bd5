"""Receivers beside each other: who is measured, what is counted, and that nothing may be lost."""

import os
import time
from collections.abc import Callable

import pytest

from benchmarks.loads import turns
from benchmarks.loads.turns import Side, median_pair, rates_in_turns

SAMPLES = 12


def spending(cpu_s: float, lost: int = 0, order: list[float] | None = None) -> Side[int]:
    """Of this process: it receives what it is sent, and uses CPU time for that."""
    received = 0

    def send(samples: int) -> None:
        nonlocal received
        end_s = time.process_time() + cpu_s
        while time.process_time() < end_s:
            pass
        received += samples - lost
        if order is not None:
            order.append(cpu_s)

    return Side(os.getpid(), send, lambda: received)


def made() -> Callable[[], int]:
    return lambda: SAMPLES


def test_a_rate_is_samples_per_cpu_second_of_each() -> None:
    ours, theirs = rates_in_turns(spending(0.1), spending(0.3), made(), SAMPLES, rounds=3)
    assert 80 < ours < 130
    assert 30 < theirs < 44


def test_who_begins_changes_and_both_get_each_round() -> None:
    order: list[float] = []
    rates_in_turns(spending(0.02, order=order), spending(0.03, order=order), made(), SAMPLES, rounds=1)
    assert order == [0.03, 0.02, 0.02, 0.03]


@pytest.mark.parametrize("lost", [1, -1])
def test_a_sample_that_is_lost_or_counted_twice_is_an_error(lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_WAIT_S", 0.0)
    with pytest.raises(RuntimeError, match=rf"{SAMPLES - lost} samples received, expected {SAMPLES}"):
        rates_in_turns(spending(0.0), spending(0.0, lost), made(), SAMPLES, rounds=1)


def test_the_round_in_the_middle_counts() -> None:
    assert median_pair([(9.0, 1.0), (6.0, 2.0), (8.0, 1.0), (1.0, 1.0), (30.0, 1.0)]) == (8.0, 1.0)
