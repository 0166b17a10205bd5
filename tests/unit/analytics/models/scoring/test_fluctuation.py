"""How much a value adds to the recent variability, beyond the days before: by hand, and in a series with a batch."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.scoring import fluctuation
from analytics.models.scoring.layout import CORE, EXPERTS, FLUCTUATION, SLOTS
from analytics.models.scoring.scorer import SeriesScorer
from tests.unit.analytics.models.scoring import records

SIGMA = 1.2533 * 2.0


def proved(error: float) -> tuple[Any, Any]:
    """A moment in the sixth bin of ten minutes, and an error of its forecast, whose scale is 2."""
    core, now = records.core(), records.moment()
    core.bin_s, core.interval_s, core.quantum, core.variance = 600.0, 300.0, 0.5, 1.0
    now.season_proved, now.first_bin, now.error, now.error_scale, now.error_floor = 1.0, 5.0, error, 2.0, 0.1
    return core, now


def measured(core: Any, now: Any, slots: NDArray[np.int16]) -> float:
    statistics = np.zeros(EXPERTS)
    fluctuation.measure(core, records.tails(), slots, now, statistics)
    return float(statistics[FLUCTUATION])


def added(error: float) -> float:
    """To a standard deviation of one forecast error."""
    return float(np.sqrt(0.9 * SIGMA**2 + 0.1 * error**2) - SIGMA)


@pytest.mark.parametrize("error", [30.0, -30.0])
def test_an_error_of_either_sign_adds_to_the_variability(error: float) -> None:
    core, now = proved(error)
    assert measured(core, now, np.zeros(SLOTS, np.int16)) == pytest.approx(added(error) / SIGMA)
    assert now.fluctuation == pytest.approx(added(error))


@pytest.mark.parametrize(("at", "counts"), [(3, False), (4, True), (5, True), (6, True), (7, False)])
def test_what_was_added_at_this_time_of_the_days_before_is_expected(at: int, counts: bool) -> None:
    core, now = proved(30.0)
    slots = np.zeros(SLOTS, np.int16)
    slots[at] = 8
    expected = (added(30.0) - (8 * 0.5 if counts else 0.0)) / SIGMA
    assert measured(core, now, slots) == pytest.approx(expected)


def test_the_first_ten_minutes_follow_the_last() -> None:
    core, now = proved(30.0)
    now.first_bin, slots = 0.0, np.zeros(SLOTS, np.int16)
    slots[143] = 8
    assert measured(core, now, slots) == pytest.approx((added(30.0) - 4.0) / SIGMA)


def test_without_a_proved_season_there_is_nothing_to_say() -> None:
    core, now = proved(30.0)
    now.season_proved, tails, statistics = 0.0, records.tails(), np.zeros(EXPERTS)
    fluctuation.measure(core, tails, np.zeros(SLOTS, np.int16), now, statistics)
    assert statistics[FLUCTUATION] == tails.threshold[FLUCTUATION], "neither an excess, nor a surprise"


def test_the_largest_of_a_time_is_forgotten_slowly() -> None:
    core, now = proved(0.0)
    slots = np.zeros(SLOTS, np.int16)
    slots[5], now.fluctuation = 1000, 100.0
    fluctuation.learn(core, slots, now)
    assert slots[5] == int(1000 * 0.85**0.5)  # two values in ten minutes
    now.fluctuation = 1e9
    fluctuation.learn(core, slots, now)
    assert slots[5] == 32000


def test_the_variability_is_of_some_ten_values_and_bounded() -> None:
    core = records.core()
    fluctuation.learn_variance(core, -3.0)
    assert core.variance == pytest.approx(0.9)
    fluctuation.learn_variance(core, 1e9)
    assert core.variance == pytest.approx(0.9 + 0.1 * (400.0 - 0.9))


def test_a_season_that_is_proved_turns_the_slots_into_a_day_of_fluctuations() -> None:
    """Every day at noon it jumps for one value, up or down."""
    rng, n = np.random.default_rng(1), 288 * 12
    at = np.arange(n)
    values = 100 + 40 * np.sin(2 * np.pi * at / 288) + rng.normal(0, 1, n)
    values[at % 288 == 144] += rng.choice([-25.0, 25.0], 12)
    scorer = SeriesScorer()
    scorer.score(at * 300 * 10**9, values)
    state = scorer.state().arrays
    core, slots = state["core"].view(CORE)[0, 0], state["season"][0][-SLOTS:]
    assert core["season_proved"] == 1.0
    assert core["phase"]["lag"] == 0.0
    assert slots[72] > 5 * np.median(slots[:144])
    assert not slots[144:].any()
