"""Temperatures that power explains, and temperatures that it does not."""

import numpy as np
import pytest

from analytics.models import thermal

AIR_C, RESISTANCE, LAG_S, STEP_S = 25.0, 0.05, 20.0, 10.0


def played(watts: list[float], warmer: list[float]) -> list[float]:
    """Kelvin above what the power explains, value by value; one heat sink in air that gets warmer."""
    model, found = np.zeros((1, thermal.WIDTH)), []
    celsius = AIR_C
    for number, (power, air) in enumerate(zip(watts, warmer, strict=True), 1):
        at_s = np.array([number * STEP_S])
        target = AIR_C + air + RESISTANCE * power
        celsius += (target - celsius) * (1.0 - np.exp(-STEP_S / LAG_S))
        now, drawn = np.array([celsius]), np.array([power])
        found.append(float(thermal.kelvin_above(model, now, drawn)[0]))
        thermal.learn(model, now, drawn, at_s, np.array([1.0 / 180]))
    return found


@pytest.mark.parametrize("later", [650.0, 400.0, 72.0])
def test_a_load_that_changes_explains_the_temperature(later: float) -> None:
    found = played([500.0] * 40 + [later] * 60, [0.0] * 100)
    assert max(found) < 2.0


def test_air_that_gets_warmer_is_seen_in_full_and_within_a_minute() -> None:
    found = played([500.0] * 100, [0.0] * 60 + [8.0] * 40)
    assert found[66] == pytest.approx(8.0, abs=1.0)


def test_it_is_seen_while_the_load_goes_away() -> None:
    found = played([500.0] * 60 + [200.0] * 40, [0.0] * 60 + [8.0] * 40)
    assert found[-20] == pytest.approx(8.0, abs=2.0)


def test_the_resistance_is_learned_from_a_load_that_changes() -> None:
    model, usual = np.zeros((1, thermal.WIDTH)), np.array([1.0 / 180])
    for number in range(1, 400):
        watts = np.array([600.0 if number // 30 % 2 else 150.0])
        thermal.learn(model, AIR_C + 0.03 * watts, watts, np.array([number * STEP_S]), usual)
    assert model[0, thermal.RESISTANCE] == pytest.approx(0.03, abs=0.003)


def spread_of(readings: list[float]) -> float:
    """What is learned of kelvin above the line, one reading after the other."""
    spread = np.zeros((1, thermal.SPREAD_WIDTH))
    for above in readings:
        thermal.learn_spread(spread, np.array([above]), np.array([True]), 1.0 / 180)
    return float(thermal.spread_kelvin(spread)[0])


def test_the_spread_is_that_of_readings_that_take_turns_and_not_of_one_rise() -> None:
    assert spread_of([0.5, -0.5] * 40) == pytest.approx(1.4, abs=0.2)
    assert spread_of([5.0, -5.0] * 40) == pytest.approx(8.4, abs=0.3)  # half of the changes are falls
    assert spread_of([0.5, -0.5] * 40 + [10.0, 10.5] * 20) < 1.5


def test_a_few_readings_lie_as_far_apart_as_is_assumed() -> None:
    assert spread_of([]) == 4.0
    assert spread_of([0.0]) == pytest.approx(4.0 * 0.5**0.25)


def test_readings_are_not_compared_while_power_changes_them() -> None:
    model, spread = np.zeros((1, thermal.WIDTH)), np.zeros((1, thermal.SPREAD_WIDTH))
    for number, power in enumerate([500.0] * 60 + [72.0] * 3, 1):
        watts, celsius = np.array([power]), np.array([AIR_C + RESISTANCE * power])
        above = thermal.kelvin_above(model, celsius, watts)
        thermal.learn(model, celsius, watts, np.array([number * STEP_S]), np.array([1.0 / 180]))
        counts = thermal.learned(model) & thermal.settled(model, watts)
        thermal.learn_spread(spread, above, counts, 1.0 / 180)
    assert above[0] < -10.0
    assert thermal.spread_kelvin(spread)[0] < 2.0
