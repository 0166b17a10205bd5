"""Work below its own normal, told apart from pauses that were always there."""

import math

import pytest

from analytics.models.jobs.pace import LEARNED_MIN, Pace

FOLLOW = 180
USUAL = [0.40, 0.41, 0.39, 0.40] * 6
PAUSE = [0.11, 0.25]


def taken(*values: float, low_bins_min: int = 2) -> Pace:
    pace = Pace(low_bins_min)
    for value in values:
        pace = pace.updated(value, FOLLOW)
    return pace


def test_a_lower_level_is_a_slump_from_its_first_bin_on() -> None:
    pace = taken(*USUAL, 0.27, 0.27)
    assert pace.slump == 2
    assert [pace.normal, pace.mean(pace.slump)] == pytest.approx([0.4, 0.27])


def test_one_good_bin_does_not_end_it_and_two_do() -> None:
    assert taken(*USUAL, 0.2, 0.2, 0.4).slump == 3
    assert taken(*USUAL, 0.2, 0.2, 0.4, 0.4).slump == 0


def test_what_is_over_makes_no_second_slump() -> None:
    assert taken(*USUAL, *[0.2] * 9, 0.4, 0.4, 0.2).slump == 0


def test_a_pause_just_before_is_no_part_of_it() -> None:
    assert taken(*USUAL, *PAUSE, 0.4, 0.4, *[0.2] * 4, low_bins_min=4).slump == 4
    assert taken(*USUAL, *PAUSE, 0.4, 0.4, *[0.2] * 3, low_bins_min=4).slump == 0


def test_periodic_pauses_are_no_slump() -> None:
    values = [*USUAL, *PAUSE] * 6
    pace = Pace(4)
    for value in values:
        pace = pace.updated(value, FOLLOW)
        assert not pace.slump
    assert pace.pause == len(PAUSE)


def test_a_pause_far_longer_than_usual_is_one() -> None:
    assert taken(*USUAL, *PAUSE, *USUAL, *[0.05] * 4, low_bins_min=4).slump == 4


def test_longer_usual_pauses_need_more_low_bins() -> None:
    usual = [*USUAL, 0.1, 0.1, 0.1]
    assert taken(*usual, *USUAL, *[0.05] * 4, low_bins_min=4).slump == 0
    assert taken(*usual, *USUAL, *[0.05] * 5, low_bins_min=4).slump == 5


def test_a_tenth_less_is_no_slump() -> None:
    assert taken(*USUAL, *[0.36] * 12).slump == 0


def test_a_little_less_is_a_slump_after_a_minute() -> None:
    even = [0.400, 0.402, 0.398, 0.401] * 6
    assert taken(*even, *[0.36] * 5).slump == 0
    assert taken(*even, *[0.36] * 6).slump == 6
    assert taken(*even, *[0.36] * 9, 0.4, 0.4).slump == 0


def test_a_slump_lasts_through_bins_that_are_not_known() -> None:
    assert taken(*USUAL, 0.2, 0.2, math.nan, math.nan, 0.2).slump == 5


def test_uneven_work_needs_more() -> None:
    uneven = [0.2, 0.6, 0.3, 0.5, 0.25, 0.55] * 5
    assert taken(*uneven, 0.2, 0.2, 0.2).slump == 0


@pytest.mark.parametrize("values", [(0.4,) * (LEARNED_MIN // 3), (0.0,) * 40, (math.nan,) * 40])
def test_it_abstains_without_a_normal(values: tuple[float, ...]) -> None:
    assert taken(*values, 0.01, 0.01, 0.01, 0.01).slump == 0


def test_what_is_not_known_is_neither_low_nor_learned() -> None:
    pace = taken(*USUAL, *[math.nan] * 5, 0.2)
    assert pace.slump == 0
    assert pace.normal == pytest.approx(0.4)


def test_it_does_not_learn_from_a_slump_until_that_has_lasted() -> None:
    assert taken(*USUAL, *[0.2] * 100).normal == pytest.approx(0.4)
    follow = taken(*USUAL, *[0.2] * (FOLLOW + 1 + LEARNED_MIN))
    assert follow.slump == 0
    assert follow.normal == pytest.approx(0.2)
