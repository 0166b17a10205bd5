"""What a picture must show."""

import numpy as np
import polars as pl
import pytest

from analytics.offline.columns import Choice
from analytics.offline.episodes import Episodes
from analytics.offline.explain import Window, episodes, moment, series_window
from analytics.offline.picture import broken_at_gaps, draw, line, per_pixel
from common.errors import BadInput

SECOND = 10**9


def drawn_rows(values: np.ndarray, times: np.ndarray | None = None) -> pl.DataFrame:
    size = len(values)
    at = np.arange(size) if times is None else times
    zero = np.zeros(size)
    columns = {"score": zero, "alert": zero.astype(np.int8), "expected": zero, "lower": zero - 1, "upper": zero + 1}
    return pl.DataFrame({"time_ns": at * SECOND, "value": values, **columns})


def test_no_spike_is_lost():
    values = np.zeros(100_000)
    values[[17, 54_321, 99_999]] = 5.0, -7.0, 9.0
    drawn = per_pixel(drawn_rows(values), 1000)
    assert drawn.height == 1000
    assert sorted(drawn.filter(pl.col("greatest") > 0)["greatest"]) == [5.0, 9.0]
    assert drawn["least"].min() == -7.0
    assert set(line(drawn)[1]) == {0.0, 5.0, -7.0, 9.0}


def test_a_short_series_is_drawn_as_it_is():
    values = np.arange(50.0)
    drawn = per_pixel(drawn_rows(values), 1000)
    assert drawn["least"].to_list() == drawn["greatest"].to_list() == values.tolist()


def test_the_line_ends_where_values_do():
    times = np.r_[0:50, 200:250]
    drawn = broken_at_gaps(per_pixel(drawn_rows(np.ones(100), times), 1000))
    assert drawn.filter(pl.col("least").is_null())["time_ns"].to_list() == [49 * SECOND + 1]


def test_alerts_that_are_near_are_one_episode():
    alert = np.zeros(100, np.int8)
    alert[[10, 12, 60]] = 1
    reasons = pl.Series(["level"] * 100)
    start = pl.Series("alert_start", Episodes().starts(alert.astype(bool), np.zeros(100, np.int64)))
    rows = drawn_rows(np.zeros(100)).with_columns(pl.Series("alert", alert), start, reasons.alias("reason"))
    assert [(episode.first_ns // SECOND, episode.rows) for episode in episodes(rows)] == [(10, 2), (60, 1)]


@pytest.fixture
def file(tmp_path):
    noise = np.random.default_rng(1).normal(size=(2, 600))
    noise[1, 500] += 40
    path = tmp_path / "f.csv"
    times = np.repeat(np.arange(600) + 1_704_067_200, 2)
    pl.DataFrame({"time": times, "host": ["a", "b"] * 600, "value": noise.T.ravel()}).write_csv(path)
    return path


def test_the_series_that_scored_highest_is_drawn(file, tmp_path):
    window = series_window(str(file), Choice(), Window(), "", print)
    assert (window.name, window.column, window.rows.height) == ("host=b", "value", 600)
    draw(window, "f.csv", tmp_path / "f.png")
    picture = (tmp_path / "f.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(picture[place : place + 4]) for place in (16, 20)] == [1600, 900]


@pytest.mark.parametrize("labels", ["a", "host=a"])
def test_a_series_and_a_window_may_be_chosen(file, labels):
    within = Window(moment("2024-01-01 00:01"), moment("1704067290"))
    window = series_window(str(file), Choice(), within, labels, print)
    assert (window.name, window.rows.height) == ("host=a", 31)
    assert window.rows["expected"].null_count() == 0  # what came before the window was learned


def test_a_choice_that_leaves_nothing(file):
    with pytest.raises(BadInput, match="fits 0 series: expected one of host=a; host=b"):
        series_window(str(file), Choice(), Window(), "c", print)
    with pytest.raises(BadInput, match="2024-01-01 00:00:00 to 2024-01-01 00:09:59 UTC"):
        series_window(str(file), Choice(), Window(first_ns=moment("2025-01-01")), "", print)
    with pytest.raises(BadInput, match="expected a time"):
        moment("yesterday")


def test_a_damaged_row_is_named(file):
    file.write_text(file.read_text() + "1704067800,a,1,2\n")
    notes: list[str] = []
    series_window(str(file), Choice(), Window(), "a", notes.append)
    assert notes == [f"{file}: 1 row left out: line 1202 has 4 columns: expected 3, as in 'time,host,value'"]


def test_a_typed_time_is_of_the_zone_and_in_reach():
    assert moment("2026-07-01 02:00", "Europe/Berlin") == moment("2026-07-01")
    with pytest.raises(BadInput, match="'99999999999': expected a time from 1678-01-01 to 2261-12-31"):
        moment("99999999999")
    with pytest.raises(BadInput, match="'2026-03-29 02:30': expected a time that clocks in Europe/Berlin show"):
        moment("2026-03-29 02:30", "Europe/Berlin")
