"""Work below its own normal level, as distinct from pauses that it always makes."""

import math

import pytest

from analytics.models.jobs.work_level import LEARNED_MIN, WorkLevel

FOLLOW = 180
USUAL = [0.40, 0.41, 0.39, 0.40] * 6
PAUSE = [0.11, 0.25]


def after(*values: float, low_bins_min: int = 2) -> WorkLevel:
    level = WorkLevel(low_bins_min)
    for value in values:
        level = level.updated(value, FOLLOW)
    return level


def test_a_lower_level_is_a_slump_from_its_first_bin_on() -> None:
    level = after(*USUAL, 0.27, 0.27)
    assert level.slump == 2
    assert [level.normal, level.mean(level.slump)] == pytest.approx([0.4, 0.27])


def test_one_good_bin_does_not_end_it_and_two_do() -> None:
    assert after(*USUAL, 0.2, 0.2, 0.4).slump == 3
    assert after(*USUAL, 0.2, 0.2, 0.4, 0.4).slump == 0


def test_a_slump_that_is_over_makes_no_second_one() -> None:
    assert after(*USUAL, *[0.2] * 9, 0.4, 0.4, 0.2).slump == 0


def test_a_pause_just_before_is_no_part_of_it() -> None:
    assert after(*USUAL, *PAUSE, 0.4, 0.4, *[0.2] * 4, low_bins_min=4).slump == 4
    assert after(*USUAL, *PAUSE, 0.4, 0.4, *[0.2] * 3, low_bins_min=4).slump == 0


def test_periodic_pauses_are_no_slump() -> None:
    values = [*USUAL, *PAUSE] * 6
    level = WorkLevel(4)
    for value in values:
        level = level.updated(value, FOLLOW)
        assert not level.slump
    assert level.pause == len(PAUSE)


def test_a_pause_far_longer_than_usual_is_a_slump() -> None:
    assert after(*USUAL, *PAUSE, *USUAL, *[0.05] * 4, low_bins_min=4).slump == 4


def test_longer_usual_pauses_need_more_low_bins() -> None:
    usual = [*USUAL, 0.1, 0.1, 0.1]
    assert after(*usual, *USUAL, *[0.05] * 4, low_bins_min=4).slump == 0
    assert after(*usual, *USUAL, *[0.05] * 5, low_bins_min=4).slump == 5


def test_a_tenth_less_is_no_slump() -> None:
    assert after(*USUAL, *[0.36] * 12).slump == 0


def test_a_little_less_is_a_slump_after_a_minute() -> None:
    even = [0.400, 0.402, 0.398, 0.401] * 6
    assert after(*even, *[0.36] * 5).slump == 0
    assert after(*even, *[0.36] * 6).slump == 6
    assert after(*even, *[0.36] * 9, 0.4, 0.4).slump == 0


def test_a_slump_lasts_through_bins_that_are_not_known() -> None:
    assert after(*USUAL, 0.2, 0.2, math.nan, math.nan, 0.2).slump == 5


def test_uneven_work_needs_lower_bins() -> None:
    uneven = [0.2, 0.6, 0.3, 0.5, 0.25, 0.55] * 5
    assert after(*uneven, 0.2, 0.2, 0.2).slump == 0


@pytest.mark.parametrize("values", [(0.4,) * (LEARNED_MIN // 3), (0.0,) * 40, (math.nan,) * 40])
def test_there_is_no_slump_without_a_normal_level(values: tuple[float, ...]) -> None:
    assert after(*values, 0.01, 0.01, 0.01, 0.01).slump == 0


def test_an_unknown_bin_is_neither_low_nor_learned() -> None:
    level = after(*USUAL, *[math.nan] * 5, 0.2)
    assert level.slump == 0
    assert level.normal == pytest.approx(0.4)


def test_it_does_not_learn_from_a_slump_until_that_has_lasted() -> None:
    assert after(*USUAL, *[0.2] * 100).normal == pytest.approx(0.4)
    follow = after(*USUAL, *[0.2] * (FOLLOW + 1 + LEARNED_MIN))
    assert follow.slump == 0
    assert follow.normal == pytest.approx(0.2)
