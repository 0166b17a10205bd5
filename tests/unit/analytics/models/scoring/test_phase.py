"""The search for a period: differences, spans and runs by hand, and the search as a whole on synthetic sequences."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from analytics.models.scoring import phase as phases
from analytics.models.scoring.layout import SLOTS
from tests.unit.analytics.models.scoring import records


def with_slots(values: Sequence[float], newest: int, quantum: float = 1.0) -> tuple[Any, Any]:
    """A core and slots of one second that hold these values, the last one in slot ``newest``."""
    core, slots = records.core(), records.season().searching.slots
    phase = core.phase
    phase.values_per_slot, phase.slot_s, phase.quantum = 1.0, 1.0, quantum
    phase.newest, phase.earlier = newest, len(values) - 1
    for slot, value in enumerate(values, newest - len(values) + 1):
        slots[slot % SLOTS] = round(value / quantum)
    return core, slots


@pytest.mark.parametrize(("filled", "newest"), [(48, 47), (SLOTS, 100), (SLOTS, SLOTS - 1), (60, 20)])
@pytest.mark.parametrize("lag", [3, 17, 33])
def test_the_difference_is_that_of_all_pairs_a_lag_apart(filled: int, newest: int, lag: int) -> None:
    values = np.random.default_rng(1).integers(-30_000, 30_000, filled)
    _, slots = with_slots(values.tolist(), newest + SLOTS)
    expected = np.abs(values[lag:] - values[:-lag]).mean()
    assert phases.difference(slots, filled, (newest + SLOTS) % SLOTS, lag) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lag", "expected"),
    [
        (4, (14.0, 18.0)),  # slots 18 and 14: short lags have no window
        (10, (1.0, 13.0)),  # 11 … 13 and 1 … 3
        (21, (0.0, 2.0)),  # two lags ago nothing is known
        (30, (math.inf, -math.inf)),
    ],
)
def test_the_span_is_that_of_one_and_two_lags_ago(lag: int, expected: tuple[float, float]) -> None:
    core, slots = with_slots([float(slot) for slot in range(22)], 21)
    assert phases.span(core.phase, slots, 22, lag) == expected


def test_the_window_is_a_fixed_share_of_the_lag() -> None:
    core, slots = with_slots([float(slot) for slot in range(150)], 149)
    assert phases.span(core.phase, slots, 150, 100) == (48.0, 52.0)


@pytest.mark.parametrize(("x", "error"), [(10.0, -4.0), (14.0, 0.0), (16.0, 0.0), (18.0, 0.0), (21.0, 3.0)])
def test_the_error_is_the_distance_from_the_span(x: float, error: float) -> None:
    core, slots = with_slots([float(slot) for slot in range(22)], 21)
    assert phases.error_of(core.phase, slots, 22, 4, x) == error


@pytest.mark.parametrize(("x", "z"), [(16.0, 0.0), (18.0 + 2.5066, 1.0), (14.0 - 2.5066, -1.0), (1e9, 100.0)])
def test_a_value_is_compared_with_what_the_period_predicts(x: float, z: float) -> None:
    core, slots = with_slots([float(slot) for slot in range(22)], 21)
    core.phase.lag, core.phase.judged, core.phase.error = 4.0, 32.0, 2.0
    assert phases.compare(core.phase, slots, x, 22.5, 0.1) == pytest.approx((14.0, 18.0, z))


@pytest.mark.parametrize(("lag", "judged"), [(0.0, 100.0), (4.0, 31.0), (30.0, 100.0)])
def test_nothing_is_predicted_without_a_period_that_was_judged_for_some_time(lag: float, judged: float) -> None:
    core, slots = with_slots([float(slot) for slot in range(22)], 21)
    core.phase.lag, core.phase.judged, core.phase.error = lag, judged, 2.0
    low, high, z = phases.compare(core.phase, slots, 99.0, 22.5, 0.1)
    assert math.isnan(low)
    assert math.isnan(high)
    assert z == 0.0


@pytest.mark.parametrize(
    ("run", "run_distance", "z", "expected"),
    [
        (0.0, 0.0, 1.9, (0.0, 0.0)),
        (0.0, 0.0, 3.0, (1.0, 3.0)),
        (2.0, 3.0, 2.5, (3.0, 2.5)),
        (2.0, 3.0, 9.0, (3.0, 3.0)),
        (-2.0, -3.0, -2.5, (-3.0, -2.5)),
        (-2.0, -3.0, 4.0, (1.0, 4.0)),  # the other side: a new run
        (2.0, 3.0, 0.5, (0.0, 0.0)),
    ],
)
def test_a_run_counts_values_off_to_one_side(
    run: float, run_distance: float, z: float, expected: tuple[float, float]
) -> None:
    phase = records.core().phase
    phase.run, phase.run_distance = run, run_distance
    assert phases.next_run(phase, z) == expected


@pytest.mark.parametrize(
    ("lag", "run", "expected"),
    [
        (4.0, 0.0, 5.0),  # short periods: at once
        (100.0, 5.0, 0.0),  # six values are no more than an early turn of 100
        (100.0, 6.0, 3.0),
    ],
)
def test_a_turn_may_come_early_or_late_by_six_per_cent(lag: float, run: float, expected: float) -> None:
    phase = records.core().phase
    phase.lag, phase.values_per_slot, phase.run, phase.run_distance = lag, 1.0, run, 3.0
    assert phases.lasting(phase, 5.0) == expected


def learned(values: Sequence[float], step_s: float = 10.0) -> Any:
    """The core after these values, one a step."""
    core, slots = records.core(), records.season().searching.slots
    core.interval_s, core.values.scale, core.values.fast_scale = step_s, 10.0, 10.0
    for number, value in enumerate(values):
        time_s = number * step_s
        low, high, z = phases.compare(core.phase, slots, value, time_s, 0.1)
        phases.learn(core, slots, value, time_s, 0.5 * (low + high), z, 0.1)
    return core


@pytest.mark.parametrize("period", [3, 7, 50, 110])
def test_the_period_of_a_synthetic_sequence_is_found_and_proved(period: int) -> None:
    turn = np.random.default_rng(1).normal(0.0, 10.0, period)
    phase = learned(np.resize(turn, 12 * period + 400).tolist()).phase
    assert phase.lag * phase.values_per_slot == period
    assert phase.proved == 1.0


def test_a_period_longer_than_the_slots_is_found_in_wider_slots() -> None:
    turn = np.repeat(np.random.default_rng(1).normal(0.0, 10.0, 10), 40)
    phase = learned(np.resize(turn, 6000).tolist()).phase
    assert phase.values_per_slot > 1.0
    assert int(phase.lag) * int(phase.values_per_slot) == 400
    assert phase.proved == 1.0


def test_noise_proves_no_period() -> None:
    assert learned(np.random.default_rng(3).normal(0.0, 10.0, 3000).tolist()).phase.proved == 0.0


def test_a_period_that_ends_is_given_up() -> None:
    rng = np.random.default_rng(1)
    turn = rng.normal(0.0, 10.0, 20)
    found = learned([*np.resize(turn, 600), *rng.normal(0.0, 10.0, 600)])
    assert (found.phase.lag, found.phase.proved) != (20.0, 1.0)


def test_slots_without_a_value_repeat_the_one_before() -> None:
    core, slots = with_slots([1.0, 2.0], 11)
    phases.learn(core, slots, 5.0, 14.0, math.nan, 0.0, 0.1)
    assert [int(slots[slot]) for slot in (10, 11, 12, 13, 14)] == [1, 2, 2, 2, 5]
    assert core.phase.newest == 14.0


@pytest.mark.parametrize("time_s", [11.0 + SLOTS, 1e6])
def test_after_a_gap_of_all_slots_it_begins_again(time_s: float) -> None:
    core, slots = with_slots([1.0, 2.0], 11)
    core.interval_s, core.phase.lag = 1.0, 4.0
    phases.learn(core, slots, 5.0, time_s, math.nan, 0.0, 0.1)
    assert (core.phase.anchor, core.phase.lag, core.phase.best_share) == (5.0, 0.0, 1.0)
    assert (core.phase.newest, core.phase.earlier) == (time_s, 0.0)


def test_a_value_far_out_of_range_begins_again_around_it() -> None:
    core, slots = with_slots([1.0, 2.0], 11)
    core.interval_s, core.values.scale = 1.0, 512.0
    phases.learn(core, slots, 40_000.0, 12.0, math.nan, 0.0, 0.1)
    assert (core.phase.anchor, core.phase.quantum, core.phase.newest) == (40_000.0, 1.0, 12.0)
    assert core.phase.earlier == 0.0


def test_an_event_in_a_proved_period_is_not_what_is_expected_next_time() -> None:
    core, slots = with_slots([float(slot % 4) for slot in range(22)], 21)
    core.phase.lag, core.phase.judged, core.phase.proved = 4.0, 200.0, 1.0
    core.phase.wrong_error, core.values.fast_scale = 10.0, 10.0
    phases.learn(core, slots, 90.0, 22.0, 2.0, 6.1, 0.1)
    assert slots[22] == 2
