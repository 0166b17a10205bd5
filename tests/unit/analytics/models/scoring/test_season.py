"""The bins of day and week: where a moment lies, what a bin holds, and how fast it learns."""

import math
from typing import Any

import numpy as np
import pytest

from analytics.models.scoring import season as seasons
from analytics.models.scoring.layout import TRIAL_QUANTA, TRIAL_UNKNOWN, UNKNOWN
from tests.unit.analytics.models.scoring import records

DAY_S = 86_400.0


@pytest.mark.parametrize(("time_s", "expected"), [(0.0, 0.0), (86_399.0, 86_399.0), (DAY_S, 0.0), (-1.0, 86_399.0)])
def test_seconds_since_midnight(time_s: float, expected: float) -> None:
    assert seasons.within(time_s, DAY_S) == expected


@pytest.mark.parametrize(
    ("interval_s", "minutes"),
    [(0.0, 0.0), (10.0, 10.0), (660.0, 10.0), (661.0, 30.0), (1980.0, 30.0), (3600.0, 60.0), (3961.0, 0.0)],
)
def test_bins_are_as_narrow_as_the_interval_allows(interval_s: float, minutes: float) -> None:
    assert seasons.bin_minutes(interval_s) == minutes


@pytest.mark.parametrize(
    ("of_day_s", "interval_s", "expected"),
    [
        (300.0, 60.0, (0, 1, 0.0)),  # the centre of the first bin
        (900.0, 60.0, (1, 2, 0.0)),
        (450.0, 60.0, (0, 1, 0.25)),
        (0.0, 60.0, (143, 0, 0.5)),  # half way between the last bin of a day and the first
        (86_340.0, 60.0, (143, 0, 0.4)),
        (450.0, 300.0, (0, 0, 0.0)),  # few samples a bin: no interpolation
        (86_399.0, 300.0, (143, 143, 0.0)),
    ],
)
def test_a_moment_lies_between_two_bins(of_day_s: float, interval_s: float, expected: tuple[int, int, float]) -> None:
    assert seasons.neighbours(of_day_s, 600.0, interval_s) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("day", "hour", "weekday"),
    [(0, 0, 4), (0, 23, 4), (3, 5, 0), (9, 12, 6)],  # 1970 began on a Thursday; weeks begin on Sunday
)
def test_hours_of_the_week_and_of_the_day(day: int, hour: int, weekday: int) -> None:
    of_day_s = 3600.0 * hour + 1800.0
    assert seasons.hours(day * DAY_S + of_day_s, of_day_s) == (24 * weekday + hour, hour)


@pytest.fixture(params=[0.0, 1.0], ids=["on trial", "proved"])
def of_day(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A core and a season of which nothing is known, whose bins are multiples of a half."""
    core, season = records.core_and_season(request.param)
    core.quantum = 0.5 if request.param else 0.5 / TRIAL_QUANTA
    return core, season


def test_an_unknown_bin_reads_nan(of_day: tuple[Any, Any]) -> None:
    assert math.isnan(seasons.read(*of_day, 3))
    seasons.write(*of_day, 3, -3.5)
    assert seasons.read(*of_day, 3) == -3.5


def test_rounding_up_and_down_in_turn_keeps_the_mean(of_day: tuple[Any, Any]) -> None:
    core, season = of_day
    read = []
    for count in range(1000):
        core.values.count = count
        seasons.write(core, season, 0, 4.3)
        read.append(seasons.read(core, season, 0))
    assert set(read) == {4.0, 4.5}
    assert np.mean(read) == pytest.approx(4.3, abs=0.005)


def test_a_value_beyond_the_range_makes_all_quanta_coarser() -> None:
    core, season = records.core_and_season(1.0)
    core.quantum = 1.0
    season.used.day[1], season.used.scale[0], season.used.week[0] = 100, 100, -100
    seasons.write(core, season, 0, 100_000.0)
    assert core.quantum == 4.0
    assert (season.used.day[1], season.used.day[2], season.used.scale[0]) == (25, UNKNOWN, 25)
    assert season.used.week[0] == -100, "the week has quanta of its own"
    assert seasons.read(core, season, 0) == pytest.approx(100_000.0, abs=4.0)


def on_trial(*values: float) -> tuple[Any, Any]:
    """Bins on trial of one unit that hold these values, from an anchor of 1000, and scales of 64 quanta."""
    core, season = records.core_and_season()
    core.quantum, core.anchor = 1.0 / TRIAL_QUANTA, 1000.0
    season.searching.trial[: len(values)], season.used.scale[:] = values, TRIAL_QUANTA
    return core, season


def test_the_range_of_a_season_on_trial_moves_towards_a_value_beyond_it() -> None:
    core, season = on_trial(50.0, 120.0)
    seasons.write(core, season, 2, 180.0)
    assert core.anchor + TRIAL_QUANTA * core.quantum * season.searching.trial[:3] == pytest.approx(
        [1050.0, 1120.0, 1180.0]
    )
    assert TRIAL_QUANTA * core.quantum == 1.0
    assert season.searching.trial[3] == TRIAL_UNKNOWN


def test_a_spike_makes_the_range_of_a_season_on_trial_twice_as_wide_at_most() -> None:
    core, season = on_trial(-100.0, 20.0)
    season.searching.slots[0] = 7
    seasons.write(core, season, 2, 1e9)
    read = [core.anchor + seasons.read(core, season, at) for at in range(3)]
    assert TRIAL_QUANTA * core.quantum == 2.0
    assert read == pytest.approx([900.0, 1020.0, 900.0 + 4.0 * seasons.BYTE_MAX], abs=2.0)
    assert (season.used.scale[0], season.searching.slots[0]) == (TRIAL_QUANTA // 2, 7)


def test_the_range_of_a_season_on_trial_holds_what_is_usual() -> None:
    core, season = on_trial(0.0)
    core.gross_scale = 1000.0
    seasons.write(core, season, 1, 8000.0)
    read = [core.anchor + seasons.read(core, season, at) for at in range(2)]
    assert read == pytest.approx([1000.0, 9000.0], abs=64.0)


def test_a_season_that_is_proved_goes_on_with_its_bins_and_learns_a_week() -> None:
    core, season = on_trial(-100.0, 20.0)
    core.residuals.scale = 8.0
    seasons.settle(core, season, 3.0)
    core.season_proved = 1.0
    assert [seasons.read(core, season, at) for at in range(2)] == [-100.0, 20.0]
    assert math.isnan(seasons.read(core, season, 2))
    assert not season.used.week.any()
    assert (season.week.quantum, season.week.from_days) == (0.5, 3.0)
    assert (season.week.day_error, season.week.week_error) == (0.0, 0.0)
    assert season.used.scale[0] == TRIAL_QUANTA


def test_a_season_that_is_given_up_keeps_its_day_in_bytes() -> None:
    core, season = records.core_and_season(1.0)
    core.quantum, core.anchor = 2.0, 100.0
    season.used.day[:3], season.used.scale[:] = (-10_000, 3000, 20_000), 80
    seasons.unsettle(core, season)
    core.season_proved = 0.0
    read = [core.anchor + seasons.read(core, season, at) for at in range(3)]
    assert read == pytest.approx([100.0 - 20_000.0, 100.0 + 6000.0, 100.0 + 40_000.0], abs=128.0)
    assert math.isnan(seasons.read(core, season, 3))
    assert core.quantum * season.used.scale[0] == 160.0


def two_bins(first: float, second: float) -> tuple[Any, Any]:
    """A proved season of which these are known."""
    core, season = records.core_and_season(1.0)
    core.quantum = 2.0**-10
    for at, value in ((0, first), (1, second)):
        if not math.isnan(value):
            seasons.write(core, season, at, value)
    return core, season


def learned(days: float, weight: float, share: float, first: float, second: float) -> tuple[float, float]:
    """Both bins after an error of 1."""
    core, season = two_bins(first, second)
    seasons.learn_day(core, season, (0, 1, weight), 7.0, 1.0, days, share)
    return seasons.read(core, season, 0), seasons.read(core, season, 1)


@pytest.mark.parametrize(
    ("days", "weight", "share", "expected"),
    [
        (1.0, 0.25, 0.1, (5.0 + 0.5 * 0.15 * 0.75, 6.0 + 0.5 * 0.15 * 0.25)),  # half on the second day
        (100.0, 0.25, 0.1, (5.0 + 0.15 / 6.0 * 0.75, 6.0 + 0.15 / 6.0 * 0.25)),  # a sixth later on
        (1.0, 0.0, 9.0, (5.0 + 0.5, 6.0)),  # a sample covers one bin at most
    ],
)
def test_an_error_is_divided_between_the_two_bins(
    days: float, weight: float, share: float, expected: tuple[float, float]
) -> None:
    assert learned(days, weight, share, 5.0, 6.0) == pytest.approx(expected, abs=2.0**-9)


@pytest.mark.parametrize(("weight", "expected"), [(0.25, (7.0, 6.0)), (0.75, (math.nan, 6.0 + 0.5 * 0.15 * 0.75))])
def test_an_unknown_bin_takes_the_value_when_it_is_the_nearer_one(weight: float, expected: tuple[float, float]) -> None:
    assert learned(1.0, weight, 0.1, math.nan, 6.0) == pytest.approx(expected, abs=2.0**-9, nan_ok=True)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(5.0, 9.0, 6.0), (5.0, math.nan, 5.0), (math.nan, 9.0, math.nan)],
)
def test_a_day_is_read_between_bins_or_from_the_nearer_one(first: float, second: float, expected: float) -> None:
    found = seasons.of_day(*two_bins(first, second), (0, 1, 0.25))
    assert found == pytest.approx(expected, abs=2.0**-9, nan_ok=True)


@pytest.mark.parametrize(("weeks", "rate"), [(0.0, 0.1), (1.0, 0.05), (50.0, 0.025)])
def test_an_hour_of_the_week_learns_the_error_of_the_day(weeks: float, rate: float) -> None:
    core, season = records.core_and_season(1.0)
    season.week.quantum = 2.0**-7
    seasons.learn_week(core, season, 5, 4.0, weeks, 0.1)
    assert season.week.quantum * season.used.week[5] == pytest.approx(4.0 * rate, abs=2.0**-7)


def test_an_hour_of_the_week_beyond_the_range_makes_it_twice_as_wide() -> None:
    core, season = records.core_and_season(1.0)
    season.week.quantum = 1.0
    season.used.week[:2] = 101, 99
    seasons.learn_week(core, season, 5, 200.0, 0.0, 1.0)
    assert (season.week.quantum, season.used.week[:2].tolist(), season.used.week[5]) == (2.0, [50, 50], 100)
    seasons.learn_week(core, season, 5, 1e9, 0.0, 1.0)
    assert (season.week.quantum, season.used.week[5]) == (4.0, seasons.BYTE_MAX)


def test_the_scale_of_an_hour_is_shrunk_towards_that_of_all() -> None:
    core, season = records.core_and_season()
    core.quantum, core.residuals.scale = 0.5, 2.0
    assert seasons.scale_of_hour(core, season, 0) == 2.0, "as that of all while it is unknown"
    season.used.scale[0] = 8
    assert seasons.scale_of_hour(core, season, 0) == pytest.approx(math.sqrt(0.85 * 16.0 + 0.15 * 4.0))


@pytest.mark.parametrize(("known", "expected"), [(0, 2.0 + 0.05 * (6.0 - 2.0)), (4096, 4.0 + 0.05 * (6.0 - 4.0))])
def test_the_scale_of_an_hour_begins_with_that_of_all(known: int, expected: float) -> None:
    core, season = records.core_and_season()
    core.quantum, core.residuals.scale = 2.0**-10, 2.0
    season.used.scale[0] = known
    seasons.learn_scale(core, season, 0, 6.0, 1.0, 0.1)
    assert core.quantum * season.used.scale[0] == pytest.approx(expected, abs=2.0**-9)


def test_a_scale_beyond_the_range_makes_the_quanta_of_the_day_coarser() -> None:
    core, season = on_trial(-100.0, 21.0)
    core.residuals.scale = 1.0
    seasons.learn_scale(core, season, 0, 600.0, 0.0, 1.0)
    assert core.quantum * season.used.scale[0] == pytest.approx(600.0, abs=2.0**-5)
    assert (TRIAL_QUANTA * core.quantum, season.searching.trial[:2].tolist()) == (2.0, [-50, 10])
