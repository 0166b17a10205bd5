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
