"""Level and scale, value by value, against the formulas by hand."""

from typing import Any

import numpy as np
import pytest

from analytics.models.pace import Pace
from analytics.models.scoring.level import distance, learn_fast, learn_level, learn_step, learn_values
from tests.unit.analytics.models.scoring import records

PACE = Pace(alpha=0.1, warmup=4, follow=3)
FLOOR = 1e-3


@pytest.mark.parametrize(
    ("error", "scale", "floor", "expected"),
    [
        (2.5066, 2.0, 0.1, 1.0),  # 1.2533 mean absolute deviations are a standard deviation
        (-2.5066, 2.0, 0.1, -1.0),
        (2.5066, 0.1, 2.0, 1.0),  # the floor is the smallest scale
        (1e9, 1.0, 0.1, 100.0),
        (-1e9, 1.0, 0.1, -100.0),
        (0.0, 0.0, 0.0, 0.0),
        (1e-300, 0.0, 0.0, 100.0),
    ],
)
def test_distance_in_standard_deviations(error: float, scale: float, floor: float, expected: float) -> None:
    assert distance(error, scale, floor) == pytest.approx(expected)


def test_warm_up_learns_the_plain_mean_and_the_mean_absolute_error() -> None:
    level, values = records.core().values, [2.0, 6.0, 1.0, 3.0]
    for value in values:
        learn_level(level, value, 0.0, FLOOR, PACE)
    assert level.count == 4.0
    assert level.level == pytest.approx(np.mean(values))
    # Errors against the means of 1, 2, 3 values before: 4, -3, 0; the first value has none.
    assert level.scale == pytest.approx((4.0 + 3.0 + 0.0) / 3.0)


@pytest.mark.parametrize(
    ("count", "x", "level", "scale"),
    [
        (99.0, 11.0, 10.0 + 0.1 * 1.0, 2.0 + 0.1 * (1.0 - 2.0)),  # the weight is alpha
        (4.0, 11.0, 10.0 + 0.2 * 1.0, 2.0 + 0.2 * (1.0 - 2.0)),  # 1 / 5 while that is more
        (99.0, 60.0, 10.0 + 0.1 * 6.0, 2.0 + 0.1 * (6.0 - 2.0)),  # errors are clipped at three scales
        (99.0, -60.0, 10.0 - 0.1 * 6.0, 2.0 + 0.1 * (6.0 - 2.0)),
    ],
)
def test_a_usual_value_moves_level_and_scale_by_its_weight(count: float, x: float, level: float, scale: float) -> None:
    row = records.core().values
    row.count, row.level, row.scale, row.outliers = count, 10.0, 2.0, 2.0
    learn_level(row, x, 5.9, FLOOR, PACE)
    assert (row.level, row.scale) == pytest.approx((level, scale))
    assert row.outliers == 0.0


def test_an_outlier_leaves_the_level_and_widens_the_scale_a_little() -> None:
    row = records.core().values
    row.count, row.level, row.scale = 99.0, 10.0, 2.0
    learn_level(row, 50.0, 6.1, FLOOR, PACE)
    assert row.level == 10.0
    assert row.scale == pytest.approx(2.0 + 0.2 * 0.1 * (3.0 * 2.0 - 2.0))
    assert (row.outliers, row.outlier_level) == (1.0, 50.0)


def test_outliers_that_last_for_follow_values_become_the_level() -> None:
    row = records.core().values
    row.count, row.level, row.scale = 99.0, 10.0, 2.0
    for value in (50.0, 52.0):
        learn_level(row, value, 20.0, FLOOR, PACE)
    assert row.level == 10.0
    learn_level(row, 57.0, 20.0, FLOOR, PACE)
    assert row.level == pytest.approx((50.0 + 52.0 + 57.0) / 3.0)
    assert row.outliers == 0.0


def after_an_event() -> Any:
    """A series at 10 that has been at 50 for long enough."""
    core = records.core()
    core.values.count, core.values.level, core.values.scale, core.drift = 99.0, 10.0, 0.4, 5.0
    for _ in range(3):
        learn_values(core, 50.0, 20.0, FLOOR, False, PACE)
    return core


def test_the_level_before_an_event_is_remembered() -> None:
    core = after_an_event()
    assert core.values.level == 50.0
    assert (core.prior_level, core.prior_at) == (10.0, 101.0)


@pytest.mark.parametrize(("values", "level"), [([10.5] * 3, 50.0), ([10.5] * 4, 10.0), ([10.5] * 3 + [30.0], 50.0)])
def test_four_values_in_a_row_near_the_level_before_an_event_restore_it(values: list[float], level: float) -> None:
    core = after_an_event()
    for value in values:
        learn_values(core, value, -40.0, FLOOR, False, PACE._replace(follow=60))
    assert core.values.level == level
    assert core.drift == (0.0 if level == 10.0 else 5.0)
    assert (core.prior_at < 0.0) == (level == 10.0), "it is given back once"


def test_a_usual_value_between_ends_the_way_back() -> None:
    core = after_an_event()
    for value, z in ((10.5, -40.0), (10.5, -40.0), (49.0, -1.0), (10.5, -40.0), (10.5, -40.0)):
        learn_values(core, value, z, FLOOR, False, PACE._replace(follow=60))
    assert core.values.level == pytest.approx(50.0, abs=0.2)
    assert core.prior_hits == 2.0


@pytest.mark.parametrize(("since", "remembered"), [(9.0, 10.0), (11.0, 50.0)])
def test_a_level_of_less_than_a_memory_is_not_remembered(since: float, remembered: float) -> None:
    """One over alpha, 10 values, is the memory."""
    core = after_an_event()
    core.values.count = core.prior_at + since - 2.0
    for _ in range(3):
        learn_values(core, 90.0, 20.0, FLOOR, False, PACE)
    assert core.values.level == 90.0
    assert core.prior_level == remembered


def test_the_fast_level_takes_a_quarter_of_each_error() -> None:
    level = records.core().values
    level.count, level.fast, level.fast_scale = 99.0, 10.0, 2.0
    learn_fast(level, 12.0, FLOOR, 0.1)
    assert (level.fast, level.fast_scale) == pytest.approx((10.5, 2.0))
    learn_fast(level, 110.5, FLOOR, 0.1)  # clipped at four scales
    assert (level.fast, level.fast_scale) == pytest.approx((10.5 + 0.25 * 8.0, 2.0 + 0.1 * (8.0 - 2.0)))


def test_the_fast_level_is_not_clipped_in_its_first_values() -> None:
    level = records.core().values
    level.count, level.fast, level.fast_scale = 7.0, 10.0, 2.0
    learn_fast(level, 110.0, FLOOR, 0.1)
    assert (level.fast, level.fast_scale) == pytest.approx((35.0, 2.0 + 0.125 * (100.0 - 2.0)))


@pytest.mark.parametrize(("count", "scale"), [(7.0, 2.0 + 0.125 * (100.0 - 2.0)), (99.0, 2.0 + 0.1 * (8.0 - 2.0))])
def test_the_step_scale_follows_steps_between_values(count: float, scale: float) -> None:
    core = records.core()
    core.values.count, core.last, core.step_scale = count, 10.0, 2.0
    learn_step(core, -90.0, FLOOR, 0.1)
    assert core.step_scale == pytest.approx(scale)
