"""Temperatures that power explains, and temperatures that it does not."""

import numpy as np
import pytest

from analytics.models import thermal

AIR_C, RESISTANCE, LAG_S, STEP_S, FORGET = 25.0, 0.05, 20.0, 10.0, 1.0 / 180
NOISE = np.array([1.0])


def learn(
    model: thermal.Floats,
    celsius: float,
    watts: float,
    number: int,
    fleet: thermal.Floats | None = None,
    weight: float = 1.0,
) -> None:
    """The next pair of one device. fleet: the models of all; None: it is alone."""
    pair, at_s = (np.array([celsius]), np.array([watts])), np.array([number * STEP_S])
    thermal.learn(model, *pair, at_s, np.array([weight]), FORGET)
    thermal.pool(model, NOISE, model if fleet is None else fleet)


def played(watts: list[float], warmer: list[float]) -> list[float]:
    """Kelvin above what the power explains, value by value; one heat sink in air that gets warmer.
    From far above it is learned slowly, as detectors do."""
    model, found = np.zeros((1, thermal.WIDTH)), []
    celsius = AIR_C
    for number, (power, air) in enumerate(zip(watts, warmer, strict=True), 1):
        target = AIR_C + air + RESISTANCE * power
        celsius += (target - celsius) * (1.0 - np.exp(-STEP_S / LAG_S))
        found.append(float(thermal.kelvin_above(model, np.array([celsius]), np.array([power]))[0]))
        learn(model, celsius, power, number, weight=0.125 if found[-1] > 2.0 else 1.0)
    return found


def line_of(pairs: list[tuple[float, float]], fleet: thermal.Floats | None = None) -> thermal.Floats:
    """The line of one device that has drawn so many watts at so many degrees."""
    model = np.zeros((1, thermal.WIDTH))
    for number, (watts, celsius) in enumerate(pairs, 1):
        learn(model, celsius, watts, number, fleet)
    return model


def turns(low: float, high: float, resistance: float) -> list[tuple[float, float]]:
    """Five minutes at one power, five at another."""
    loads = [high if number // 30 % 2 else low for number in range(400)]
    return [(watts, AIR_C + resistance * watts) for watts in loads]


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
    assert line_of(turns(150.0, 600.0, 0.03))[0, thermal.RESISTANCE] == pytest.approx(0.03, abs=0.006)


def test_a_device_that_has_drawn_one_power_has_the_resistance_of_the_fleet() -> None:
    fleet = line_of(turns(150.0, 600.0, 0.03))
    idle = line_of([(72.0, 30.0)] * 100, fleet)
    assert idle[0, thermal.RESISTANCE] == pytest.approx(fleet[0, thermal.RESISTANCE], abs=0.005)


def test_temperatures_that_follow_the_phase_of_the_work_are_no_resistance() -> None:
    """So read recorded GPUs in training: 12 K with 33 W, all of a job alike. That is 0.36 K/W."""
    model = line_of([(555.0, 57.0), (588.0, 69.0)] * 100)
    assert model[0, thermal.RESISTANCE] == pytest.approx(0.055, abs=0.02)


def test_the_first_readings_weigh_as_much_as_those_after_them() -> None:
    settles = [(560.0, 55.0)] * 18  # once its power is known it begins with the lower one of two temperatures
    model = line_of([*settles, *[(560.0, 69.0), (560.0, 55.0)] * 10])
    assert model[0, thermal.CELSIUS] == pytest.approx(62.0, abs=1.0)


def test_a_healthy_reading_lies_the_further_from_the_line_the_less_is_known_of_its_power() -> None:
    idle, both = line_of([(72.0, 29.0)] * 100), line_of(turns(72.0, 600.0, RESISTANCE))

    def kelvin(model: thermal.Floats, watts: float) -> float:
        return float(thermal.prediction_kelvin(model, NOISE, np.array([watts]))[0])

    assert kelvin(idle, 72.0) == pytest.approx(1.0, abs=0.05)
    assert kelvin(both, 600.0) < 2.5
    assert kelvin(idle, 600.0) > 4.5
    assert kelvin(line_of([(72.0, 29.0)] * 7), 72.0) > 1.1


def spread_of(readings: list[float], watts: float = 550.0) -> thermal.Floats:
    """What is learned of kelvin above the line, one reading after the other."""
    spread = np.zeros((1, thermal.SPREAD_WIDTH))
    for above in readings:
        thermal.learn_spread(spread, np.array([above]), np.array([watts]), np.array([True]), FORGET)
    return spread


def kelvin_of(spread: thermal.Floats, watts: float = 550.0, fleet: thermal.Floats | None = None) -> float:
    return float(thermal.spread_kelvin(spread, np.array([watts]), spread if fleet is None else fleet)[0])


def test_the_spread_is_that_of_readings_that_take_turns_and_not_of_one_rise() -> None:
    assert kelvin_of(spread_of([0.5, -0.5] * 40)) < 1.3
    assert kelvin_of(spread_of([5.0, -5.0] * 40)) == pytest.approx(8.4, abs=0.3)  # half of the changes are falls
    assert kelvin_of(spread_of([0.5, -0.5] * 40 + [10.0, 10.5] * 20)) < 1.5


def test_devices_of_which_nothing_is_known_are_spread_as_is_assumed() -> None:
    assert kelvin_of(spread_of([])) == pytest.approx(4.0)


def test_a_device_that_idled_is_spread_as_the_others_once_it_works() -> None:
    """Half an hour at 72 W does not show how far its readings lie apart at 550 W."""
    idle = spread_of([0.1, 0.0] * 90, watts=72.0)
    fleet = np.concatenate([idle, *[spread_of([6.0, -6.0] * 20)] * 8])
    assert kelvin_of(idle, fleet=fleet) == pytest.approx(10.0, abs=1.0)
    assert kelvin_of(spread_of([0.1, 0.0] * 90), fleet=fleet) < 5.0


def test_readings_are_not_compared_while_power_changes_them() -> None:
    model, spread = np.zeros((1, thermal.WIDTH)), np.zeros((1, thermal.SPREAD_WIDTH))
    for number, power in enumerate([500.0] * 60 + [72.0] * 3, 1):
        watts, celsius = np.array([power]), np.array([AIR_C + RESISTANCE * power])
        above = thermal.kelvin_above(model, celsius, watts)
        counts = thermal.learned(model) & thermal.settled(model, watts)
        learn(model, float(celsius[0]), power, number)
        thermal.learn_spread(spread, above, watts, counts, FORGET)
    assert above[0] < -10.0
    assert kelvin_of(spread) < 2.5


def test_what_earlier_versions_have_learned_goes_on() -> None:
    line = np.array([[60.0, 500.0, 0.04, 500.0, 7.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    sums = thermal.line_of_means(line)
    thermal.pool(sums, np.ones(2), sums)
    assert sums[0, :5] == pytest.approx([60.0, 500.0, 0.0436, 500.0, 7.0], abs=0.002)
    assert thermal.learned(sums).tolist() == [True, False]
    spread = thermal.spread_of_means(np.array([[1.0, 9.0**4, 1000.0], [0.0, 0.0, 0.0]]), line)
    assert kelvin_of(spread[:1], 500.0) == pytest.approx(9.0, abs=0.3)


def test_a_reading_of_a_moment_with_more_power_may_be_warmer_at_once() -> None:
    """As much as half of the resistance, against the moments that the line was learned at; never colder."""
    model, moments = np.repeat(line_of(turns(150.0, 600.0, RESISTANCE)), 3, axis=0), np.array([300.0, 300.0, -300.0])
    found = thermal.at_once_kelvin(model, moments, np.array([0.0, 200.0, 0.0]))
    assert found == pytest.approx([7.5, 2.5, 0.0], rel=0.1)
