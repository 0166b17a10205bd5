"""Series that rest at one value most of the time are measured by how far they usually leave it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.scoring import rest
from analytics.models.scoring.layout import DRIFT_UP, EXCESS, JUMP_DOWN, JUMP_UP, LEVEL_DOWN, LEVEL_UP
from analytics.models.scoring.scorer import Scores, SeriesScorer
from tests.unit.analytics.models.scoring import records

Floats = NDArray[np.float64]


@pytest.mark.parametrize(
    ("share", "departures", "scale"),
    [
        (0.6, 50.0, 0.1),
        (0.75, 50.0, 0.1 + 0.5 * (0.3 * 10.0 - 0.1)),
        (0.9, 50.0, 0.3 * 10.0),
        (0.99, 50.0, 0.3 * 10.0),
        (0.99, 10.0, 0.5 * 0.3 * 10.0),  # few departures say little of their height
        (0.99, 0.0, 0.1),
    ],
)
def test_the_more_a_series_rests_the_more_its_departures_are_its_scale(
    share: float, departures: float, scale: float
) -> None:
    core = records.core()
    core.rest, core.departures, core.height = share, departures, 10.0
    assert rest.scale_of(core, 0.1) == pytest.approx(scale)


def test_a_larger_scale_stays() -> None:
    core = records.core()
    core.rest, core.departures, core.height = 0.99, 50.0, 10.0
    assert rest.scale_of(core, 9.0) == 9.0


def test_rest_is_near_the_level_by_the_usual_height() -> None:
    core = records.core()
    core.values.level, core.height, core.departures, core.rest = 5.0, 4.0, 50.0, 0.5
    tails = records.tails()
    rest.learn(core, tails, 5.9, 0.1, True)
    assert (core.rest, core.height) == pytest.approx((0.55, 4.0))
    rest.learn(core, tails, -1.0, 0.1, True)
    assert (core.rest, core.height, core.departures) == pytest.approx((0.495, 4.0 + 2.0 / 50.0, 50.0))


def test_heights_of_events_are_not_those_of_departures() -> None:
    core = records.core()
    core.height, core.departures = 4.0, 50.0
    rest.learn(core, records.tails(), 400.0, 0.1, False)
    assert (core.height, core.departures) == (4.0, 50.0)


@pytest.mark.parametrize(("share", "begins"), [(0.9, True), (0.5, False)])
def test_tails_begin_again_once_the_height_of_departures_is_known(share: float, begins: bool) -> None:
    core, tails = records.core(), records.tails()
    core.rest, core.departures, core.height = share, 18.0, 4.0
    tails.threshold[:] = 90.0
    rest.learn(core, tails, 4.0, 0.001, True)
    assert (tails.threshold == 90.0).all()
    rest.learn(core, tails, 4.0, 0.001, True)
    assert (tails.threshold[[LEVEL_UP, LEVEL_DOWN, JUMP_UP, JUMP_DOWN]] == (2.0 if begins else 90.0)).all()
    assert (tails.excesses[LEVEL_UP] / EXCESS, tails.threshold[DRIFT_UP]) == (10.0 if begins else 0.0, 90.0)
    tails.threshold[:] = 90.0
    rest.learn(core, tails, 4.0, 0.001, True)
    assert (tails.threshold == 90.0).all(), "but once"


def errors(seed: int) -> Floats:
    """By the minute: in one of twenty-five minutes a few."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(6000) < 0.04, 1 + rng.poisson(2, 6000), 0).astype(np.float64)


def scored(values: Floats) -> Scores:
    return SeriesScorer().score(np.arange(values.size) * 60 * 10**9, values)


def test_each_of_many_spikes_on_a_counter_that_rests_alerts() -> None:
    found, false = 0, 0
    for seed in range(6):
        values, at = errors(seed), 4000 + 90 * np.arange(8)
        values[at] = 30
        alert = scored(values).alert
        found += int(alert[at].sum())
        false += int(np.delete(alert, at)[600:].sum())
    assert found >= 44  # of 48
    assert false <= 6


def test_a_counter_that_hardly_ever_leaves_its_rest_is_not_measured_by_its_events() -> None:
    values = np.zeros(6000)
    values[[2000, 3000, 4000, 5000]] = 100
    assert np.flatnonzero(scored(values).alert).tolist() == [2000, 3000, 4000, 5000]


def pauses(seed: int, size: int = 4000) -> Floats:
    """Rare bursts with heavy tails, which decay within some values."""
    rng = np.random.default_rng(seed)
    heights = np.where(rng.random(size) < 0.006, 1000.0 * (1.0 + rng.pareto(2.5, size)), 0.0)
    for i in range(1, size):
        heights[i] = max(heights[i], 0.4 * heights[i - 1])
    return np.rint(heights)


def of(values: Floats) -> Scores:
    return SeriesScorer().score(np.arange(values.size) * 10 * 10**9, values)


def test_a_series_is_at_rest_again_after_another_level() -> None:
    values = pauses(3)
    values[2000:2100] += 2000.0
    found = of(values)
    assert not found.alert[2104:2150].any(), "four values at rest are the level of before"
    assert np.abs(found.expected[2200:2300]).max() < 20.0


def test_heights_are_learned_of_events_too_while_hardly_any_are_known() -> None:
    core = records.core()
    core.height, core.departures = 4.0, 2.0
    rest.learn(core, records.tails(), 10.0, 0.1, False)
    assert (core.height, core.departures) == (6.0, 3.0)


def test_thresholds_of_departures_stay_above_rest() -> None:
    tails = records.tails()
    tails.threshold[:] = -0.2
    rest.keep_thresholds(tails)
    assert (tails.threshold[:DRIFT_UP] == 1.0).all()
    assert (tails.threshold[DRIFT_UP:] < 0.0).all()
