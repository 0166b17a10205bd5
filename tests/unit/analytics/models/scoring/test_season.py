"""The bins of day and week: where a moment lies, what a bin holds, and how fast it learns."""

import math

import numpy as np
import pytest

from analytics.models.scoring import season as seasons
from analytics.models.scoring.layout import SCALE_FROM, UNKNOWN, WEEK_FROM
from tests.unit.analytics.models.scoring import records

DAY_S = 86_400.0


@pytest.mark.parametrize(("time_s", "expected"), [(0.0, 0.0), (86_399.0, 86_399.0), (DAY_S, 0.0), (-1.0, 86_399.0)])
def test_seconds_since_midnight(time_s: float, expected: float) -> None:
    assert seasons.within(time_s, DAY_S) == expected


@pytest.mark.parametrize(
    ("interval_s", "bin_s"),
    [(0.0, 0.0), (10.0, 600.0), (660.0, 600.0), (661.0, 1800.0), (1980.0, 1800.0), (3600.0, 3600.0), (3961.0, 0.0)],
)
def test_bins_are_as_narrow_as_the_interval_allows(interval_s: float, bin_s: float) -> None:
    assert seasons.bin_seconds(interval_s) == bin_s


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
    assert seasons.hours(day * DAY_S + of_day_s, of_day_s) == (WEEK_FROM + 24 * weekday + hour, SCALE_FROM + hour)


def test_an_unknown_bin_reads_nan() -> None:
    core, season = records.core(), records.season()
    core.quantum = 0.5
    assert math.isnan(seasons.read(core, season.bins, 3))
    season.bins[3] = -7
    assert seasons.read(core, season.bins, 3) == -3.5


def test_rounding_up_and_down_in_turn_keeps_the_mean() -> None:
    core, season, read = records.core(), records.season(), []
    core.quantum = 1.0
    for count in range(1000):
        core.values.count = count
        seasons.write(core, season.bins, 0, 4.3)
        read.append(seasons.read(core, season.bins, 0))
    assert set(read) == {4.0, 5.0}
    assert np.mean(read) == pytest.approx(4.3, abs=0.005)


def test_a_value_beyond_the_range_makes_all_quanta_coarser() -> None:
    core, season = records.core(), records.season()
    core.quantum = 1.0
    season.bins[1], season.bins[WEEK_FROM], season.slots[0] = 100, -100, 100
    seasons.write(core, season.bins, 0, 100_000.0)
    assert core.quantum == 4.0
    assert (season.bins[1], season.bins[2], season.bins[WEEK_FROM]) == (25, UNKNOWN, -25)
    assert season.slots[0] == 100, "slots have quanta of their own"
    assert seasons.read(core, season.bins, 0) == pytest.approx(100_000.0, abs=4.0)


def learned(days: float, weight: float, share: float, first: float, second: float) -> tuple[float, float]:
    """Both bins after an error of 100."""
    core, season = records.core(), records.season()
    core.quantum = 2.0**-10
    for at, value in ((0, first), (1, second)):
        if not math.isnan(value):
            seasons.write(core, season.bins, at, value)
    seasons.learn_day(core, season.bins, (0, 1, weight), 7.0, 1.0, days, share)
    return seasons.read(core, season.bins, 0), seasons.read(core, season.bins, 1)


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
    core, season = records.core(), records.season()
    core.quantum = 2.0**-10
    for at, value in ((0, first), (1, second)):
        if not math.isnan(value):
            seasons.write(core, season.bins, at, value)
    found = seasons.of_day(core, season.bins, (0, 1, 0.25))
    assert found == pytest.approx(expected, abs=2.0**-9, nan_ok=True)


@pytest.mark.parametrize(("weeks", "rate"), [(0.0, 0.1), (1.0, 0.05), (50.0, 0.025)])
def test_an_hour_of_the_week_learns_the_error_of_the_day(weeks: float, rate: float) -> None:
    core, season = records.core(), records.season()
    core.quantum = 2.0**-10
    seasons.learn_week(core, season.bins, WEEK_FROM, 4.0, weeks, 0.1)
    assert seasons.read(core, season.bins, WEEK_FROM) == pytest.approx(4.0 * rate, abs=2.0**-9)


def test_the_scale_of_an_hour_is_shrunk_towards_that_of_all() -> None:
    core, season = records.core(), records.season()
    core.quantum, core.residuals.scale = 0.5, 2.0
    assert seasons.scale_of_hour(core, season.bins, SCALE_FROM) == 2.0, "as that of all while it is unknown"
    season.bins[SCALE_FROM] = 8
    assert seasons.scale_of_hour(core, season.bins, SCALE_FROM) == pytest.approx(math.sqrt(0.85 * 16.0 + 0.15 * 4.0))


@pytest.mark.parametrize(("known", "expected"), [(0, 2.0 + 0.05 * (6.0 - 2.0)), (4096, 4.0 + 0.05 * (6.0 - 4.0))])
def test_the_scale_of_an_hour_begins_with_that_of_all(known: int, expected: float) -> None:
    core, season = records.core(), records.season()
    core.quantum, core.residuals.scale = 2.0**-10, 2.0
    season.bins[SCALE_FROM] = known
    seasons.learn_scale(core, season.bins, SCALE_FROM, 6.0, 1.0, 0.1)
    assert seasons.read(core, season.bins, SCALE_FROM) == pytest.approx(expected, abs=2.0**-9)
