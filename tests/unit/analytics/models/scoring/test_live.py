"""What live scores keep of the state that earlier versions have written."""

import numpy as np

from analytics.models.scoring import live
from analytics.models.scoring.layout import CORE, EXPERTS, FLUCTUATION, LEVEL_UP, PHASE_UP, SEASON, SLOTS, TAILS
from analytics.models.scoring.scorer import SeriesScorer
from analytics.snapshot.stateful import State


def test_format_1_had_a_flag_where_the_values_that_were_reported_are_counted() -> None:
    cores = np.zeros(3, CORE)
    cores["prior_level"], cores["prior_at"], cores["reported"] = (10.0, 20.0, 0.0), (7.0, 8.0, 0.0), (0.0, 1.0, 0.0)
    numbers = cores.view(np.float64).reshape(3, -1)
    before = numbers.copy()
    found = live.from_format_1(
        State({"columns": None, "records": None}, {"records/core": numbers, "slot": np.arange(3)})
    )
    read = np.ascontiguousarray(found.arrays["records/core"]).view(CORE)[:, 0]
    assert read["prior_level"].tolist() == [10.0, 20.0, 0.0]
    assert not read["reported"].any()
    assert read["prior_at"].tolist() == [-7.0, 8.0, 0.0]
    assert found.arrays["slot"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(numbers, before)


def test_format_2_had_two_experts_of_the_spread_and_knew_nothing_of_rest() -> None:
    width = CORE.itemsize // 8 - 3
    core = np.arange(2.0 * width).reshape(2, width)
    fields = CORE.fields
    assert fields is not None
    places = {name: fields[name][1] // 8 for name in ("season_proved", "step_scale")}
    core[:, places["season_proved"]] = 0.0, 1.0
    season = np.ones((2, SEASON.itemsize // 2), np.int16)
    tails = np.tile(np.arange(10, dtype=np.float32), (2, 14))  # of each expert its number
    pools = np.repeat(np.arange(10.0), 4)[None]
    given = {"core": core, "season": season, "tails": tails, "pools": pools}
    state = State(None, {f"records/{name}": array for name, array in given.items()})
    before = {name: array.copy() for name, array in given.items()}
    found = live.from_format_2(state).arrays
    cores = found["records/core"].view(CORE)[:, 0]
    assert cores["step_scale"].tolist() == core[:, places["step_scale"]].tolist()
    assert not any(cores[name].any() for name in ("variance", "rest", "departures", "height"))
    assert (cores["phase"]["slot_s"] > 0.0).tolist() == [True, False], "slots of a season are those of fluctuations"
    assert found["records/season"][:, -SLOTS:].any(axis=1).tolist() == [True, False]
    read = found["records/tails"].view(TAILS)[:, 0]
    assert read["excess"][0, [LEVEL_UP, PHASE_UP, EXPERTS - 1]].tolist() == [0.0, 8.0, 9.0]
    assert read["threshold"][:, FLUCTUATION].tolist() == [3.0, 3.0]
    assert found["records/pools"].reshape(EXPERTS, 4)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 0, 8, 9]
    for name, array in before.items():
        np.testing.assert_array_equal(given[name], array)
    SeriesScorer().restore(State(None, {name.removeprefix("records/"): array for name, array in found.items()}))
