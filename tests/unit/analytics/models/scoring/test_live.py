"""What live scores keep of the state that earlier versions have written."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.scoring import formats
from analytics.models.scoring.formats import CORE_4, CORE_5, SEASON_5, TAILS_5
from analytics.models.scoring.layout import (
    CORE,
    DRIFT_DOWN,
    EXCESS,
    EXPERTS,
    LEVEL_UP,
    PHASE_UP,
    SEARCHING,
    STRETCH,
    TAILS,
    TRIAL_QUANTA,
    TRIAL_UNKNOWN,
    UNKNOWN,
    USED,
    WEEK,
)
from analytics.models.scoring.scorer import SeriesScorer
from analytics.snapshot.stateful import State


def test_format_1_had_a_flag_where_the_values_that_were_reported_are_counted() -> None:
    cores = np.zeros(3, CORE_4)
    cores["prior_level"], cores["prior_at"], cores["reported"] = (10.0, 20.0, 0.0), (7.0, 8.0, 0.0), (0.0, 1.0, 0.0)
    numbers = _with_variance(cores.view(np.float64).reshape(3, -1))
    before = numbers.copy()
    found = formats.from_format_1(
        State({"columns": None, "records": None}, {"records/core": numbers, "slot": np.arange(3)})
    )
    read = np.ascontiguousarray(np.delete(found.arrays["records/core"], _place("last"), axis=1)).view(CORE_4)[:, 0]
    assert read["prior_level"].tolist() == [10.0, 20.0, 0.0]
    assert not read["reported"].any()
    assert read["prior_at"].tolist() == [-7.0, 8.0, 0.0]
    assert found.arrays["slot"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(numbers, before)


def test_format_2_had_two_experts_of_the_spread_and_knew_nothing_of_rest() -> None:
    width = CORE_4.itemsize // 8 - 2
    core = np.arange(2.0 * width).reshape(2, width)
    season = np.ones((2, SEASON_5.itemsize // 2), np.int16)
    tails = np.tile(np.arange(10, dtype=np.float32), (2, 14))  # of each expert its number
    pools = np.repeat(np.arange(10.0), 4)[None]
    given = {"core": core, "season": season, "tails": tails, "pools": pools}
    state = State(None, {f"records/{name}": array for name, array in given.items()})
    before = {name: array.copy() for name, array in given.items()}
    found = formats.from_format_3(formats.from_format_2(state)).arrays
    cores = found["records/core"].view(CORE_4)[:, 0]
    assert cores["step_scale"].tolist() == core[:, _place("step_scale") + 1].tolist()
    assert not any(cores[name].any() for name in ("rest", "departures", "height"))
    read = found["records/tails"].view(formats.TAILS_4)[:, 0]
    assert read["excess"][0, [LEVEL_UP, DRIFT_DOWN, PHASE_UP, EXPERTS - 1]].tolist() == [0.0, 5.0, 8.0, 9.0]
    assert found["records/pools"].reshape(EXPERTS, 4)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 8, 9]
    for name, array in before.items():
        np.testing.assert_array_equal(given[name], array)
    _restore(found)


def test_format_3_had_an_expert_of_fluctuations_and_their_variance() -> None:
    width = CORE_4.itemsize // 8 + 1
    core = np.arange(2.0 * width).reshape(2, width)
    tails = np.tile(np.arange(9, dtype=np.float32), (2, 14))  # of each expert its number
    pools = np.repeat(np.arange(9.0), 4)[None]
    given = {"core": core, "season": np.ones((2, SEASON_5.itemsize // 2), np.int16), "tails": tails, "pools": pools}
    found = formats.from_format_3(State(None, {f"records/{name}": array for name, array in given.items()})).arrays
    cores = found["records/core"].view(CORE_4)[:, 0]
    assert cores["drift"].tolist() == core[:, _place("drift")].tolist()
    assert cores["last"].tolist() == core[:, _place("last") + 1].tolist()
    assert cores["height"].tolist() == core[:, -1].tolist()
    read = found["records/tails"].view(formats.TAILS_4)[:, 0]
    assert read["excess"][1].tolist() == read["ladder"][1, -1].tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    assert found["records/pools"].reshape(EXPERTS, 4)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    _restore(found)


def test_format_4_had_all_numbers_in_double_precision() -> None:
    assert CORE_4.itemsize == 456, "a new number of a series is none of format 4"
    cores = np.zeros(3, CORE_4)
    cores["values"]["level"], cores["values"]["scale"], cores["season_proved"] = 1e9 + 1.0, 0.1, (0.0, 1.0, 0.0)
    cores["phase"]["newest"], cores["phase"]["proved"], cores["height"] = 28_333_333.0, 1.0, 7.5
    tails = np.zeros((3, 14, EXPERTS), np.float32)
    tails[:, 0], tails[:, 4], tails[:, 5], tails[:, 6, LEVEL_UP] = 2.5, 100.0, 3.0, 1.75
    given: dict[str, NDArray[Any]] = {
        "core": cores.view(np.float64).reshape(3, -1),
        "season": np.ones((3, SEASON_5.itemsize // 2), np.int16),
        "tails": tails.reshape(3, -1),
        "pools": np.zeros((0, 4 * EXPERTS)),
    }
    found = formats.from_format_4(State(None, {f"records/{name}": array for name, array in given.items()})).arrays
    core = found["records/core"].view(CORE_5)[:, 0]
    assert core["values"]["level"].tolist() == [1e9 + 1.0] * 3
    assert core["values"]["scale"].tolist() == [np.float32(0.1)] * 3
    assert core["season_proved"].tolist() == [0, 1, 0]
    assert core["phase"]["newest"].tolist() == [28_333_333.0] * 3
    assert core["phase"]["proved"].tolist() == [1] * 3
    assert core["height"].tolist() == [7.5] * 3
    assert not any(core[name].any() for name in ("frequency", "frequency_peak", "frequency_max"))
    heights = found["records/tails"].view(TAILS_5)[:, 0]
    assert [np.unique(heights[name]).tolist() for name in ("threshold", "newest", "top")] == [[2.5], [100.0], [3]]
    assert heights["ladder"][0, 0].tolist() == [1792] + [0] * 7
    assert found["records/season"] is given["season"]
    _restore_5(found)


def _of_format_5(cores: NDArray[Any], seasons: NDArray[Any], tails: NDArray[Any]) -> dict[str, NDArray[Any]]:
    rows = len(cores)
    return {
        "records/core": cores.view(np.uint8).reshape(rows, -1),
        "records/season": seasons.view(np.int16).reshape(rows, -1),
        "records/tails": tails.view(np.uint8).reshape(rows, -1),
        "records/pools": np.zeros((0, 4 * EXPERTS)),
    }


def test_format_5_had_two_bytes_for_each_bin_and_a_week_of_every_season() -> None:
    cores, seasons, tails = np.zeros(2, CORE_5), np.zeros(2, SEASON_5), np.zeros(2, TAILS_5)
    cores["anchor"], cores["quantum"], cores["season_proved"], cores["bin_s"] = 100.0, 0.5, (0, 1), 1800.0
    cores["day_error"], cores["week_error"], cores["runs"], cores["departures"] = 2.0, 1.0, 700.0, 33.0
    cores["phase"]["newest"], cores["phase"]["oldest"], cores["phase"]["lag"] = 1000.0, 900.0, (42.0, 0.0)
    cores["phase"]["judged"], cores["phase"]["run"] = 1e6, -3.0
    cores["values"]["level"], cores["residuals"]["fast"] = 1e9 + 1.0, 7.5
    seasons["day"], seasons["day"][:, :3], seasons["week"][:, 5] = UNKNOWN, (-20_000, 2000, 12_000), 1260
    seasons["scale"][:, 3], seasons["slots"][:, 7] = 400, 17
    tails["excesses"], tails["ladder"][:, 2, LEVEL_UP], tails["newest"] = 20.0, 1536, 100.0
    found = formats.from_format_5(State(None, _of_format_5(cores, seasons, tails))).arrays
    core, heights = found["records/core"].view(CORE)[:, 0], found["records/tails"].view(TAILS)[:, 0]
    assert (core["bin_minutes"].tolist(), core["runs"].tolist(), core["departures"].tolist()) == (
        [30] * 2,
        [255] * 2,
        [33] * 2,
    )
    assert core["values"]["level"].tolist() == [1e9 + 1.0] * 2
    assert core["residuals"]["fast"].tolist() == [7.5] * 2
    phase = core["phase"][0]
    assert (phase["newest"], phase["earlier"], phase["lag"], phase["judged"], phase["run"]) == (
        1000.0,
        100,
        42,
        65_535,
        -3,
    )
    assert np.unique(heights["excesses"]).tolist() == [EXCESS * 20.0]
    assert (heights["ladder"][0, 2, LEVEL_UP], heights["newest"][0, 0]) == (STRETCH * 1.5, 100.0)
    on_trial = found["records/season"].view(SEARCHING)[0, 0]
    unit = TRIAL_QUANTA * core["quantum"][0]
    read = core["anchor"][0] + unit * on_trial["trial"][:3].astype(np.float64)
    assert read.tolist() == pytest.approx([100.0 - 10_000.0, 100.0 + 1000.0, 100.0 + 6000.0], abs=float(unit))
    assert (on_trial["trial"][3], on_trial["slots"][7]) == (TRIAL_UNKNOWN, 17)
    assert core["quantum"][0] * on_trial["scale"][3] == 200.0
    used, week = found["records/season"].view(USED)[1, 0], found["records/core"].view(WEEK)[1, 0]
    assert (used["day"][:4].tolist(), used["scale"][3]) == ([-20_000, 2000, 12_000, UNKNOWN], 400)
    assert week["quantum"] * used["week"][5] == 630.0
    assert (week["from_days"], week["day_error"], week["week_error"]) == (1.0, 2.0, 1.0)
    _restore_5(_of_format_5(cores, seasons, tails))


def _restore(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raises unless it is a state of format 4."""
    _restore_5(formats.from_format_4(State(None, dict(arrays))).arrays)


def _restore_5(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raises unless it is a state of format 5."""
    found = formats.from_format_5(State(None, dict(arrays))).arrays
    SeriesScorer().restore(State(None, {name.removeprefix("records/"): array for name, array in found.items()}))


def _place(name: str) -> int:
    assert CORE_4.fields is not None
    return int(CORE_4.fields[name][1]) // 8


def _with_variance(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """As until format 3, when the variance of fluctuations was kept before the last value."""
    return np.insert(numbers, _place("last"), 0.0, axis=1)
