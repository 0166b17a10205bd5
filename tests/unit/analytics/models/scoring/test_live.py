"""What live scores keep of the state that earlier versions have written."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import live
from analytics.models.scoring.layout import CORE, DRIFT_DOWN, EXPERTS, LEVEL_UP, PHASE_UP, SEASON, TAILS
from analytics.models.scoring.scorer import SeriesScorer
from analytics.snapshot.stateful import State


def test_format_1_had_a_flag_where_the_values_that_were_reported_are_counted() -> None:
    cores = np.zeros(3, CORE)
    cores["prior_level"], cores["prior_at"], cores["reported"] = (10.0, 20.0, 0.0), (7.0, 8.0, 0.0), (0.0, 1.0, 0.0)
    numbers = _with_variance(cores.view(np.float64).reshape(3, -1))
    before = numbers.copy()
    found = live.from_format_1(
        State({"columns": None, "records": None}, {"records/core": numbers, "slot": np.arange(3)})
    )
    read = np.ascontiguousarray(np.delete(found.arrays["records/core"], _place("last"), axis=1)).view(CORE)[:, 0]
    assert read["prior_level"].tolist() == [10.0, 20.0, 0.0]
    assert not read["reported"].any()
    assert read["prior_at"].tolist() == [-7.0, 8.0, 0.0]
    assert found.arrays["slot"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(numbers, before)


def test_format_2_had_two_experts_of_the_spread_and_knew_nothing_of_rest() -> None:
    width = CORE.itemsize // 8 - 2
    core = np.arange(2.0 * width).reshape(2, width)
    season = np.ones((2, SEASON.itemsize // 2), np.int16)
    tails = np.tile(np.arange(10, dtype=np.float32), (2, 14))  # of each expert its number
    pools = np.repeat(np.arange(10.0), 4)[None]
    given = {"core": core, "season": season, "tails": tails, "pools": pools}
    state = State(None, {f"records/{name}": array for name, array in given.items()})
    before = {name: array.copy() for name, array in given.items()}
    found = live.from_format_3(live.from_format_2(state)).arrays
    cores = found["records/core"].view(CORE)[:, 0]
    assert cores["step_scale"].tolist() == core[:, _place("step_scale") + 1].tolist()
    assert not any(cores[name].any() for name in ("rest", "departures", "height"))
    read = found["records/tails"].view(TAILS)[:, 0]
    assert read["excess"][0, [LEVEL_UP, DRIFT_DOWN, PHASE_UP, EXPERTS - 1]].tolist() == [0.0, 5.0, 8.0, 9.0]
    assert found["records/pools"].reshape(EXPERTS, 4)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 8, 9]
    for name, array in before.items():
        np.testing.assert_array_equal(given[name], array)
    SeriesScorer().restore(State(None, {name.removeprefix("records/"): array for name, array in found.items()}))


def test_format_3_had_an_expert_of_fluctuations_and_their_variance() -> None:
    width = CORE.itemsize // 8 + 1
    core = np.arange(2.0 * width).reshape(2, width)
    tails = np.tile(np.arange(9, dtype=np.float32), (2, 14))  # of each expert its number
    pools = np.repeat(np.arange(9.0), 4)[None]
    given = {"core": core, "season": np.ones((2, SEASON.itemsize // 2), np.int16), "tails": tails, "pools": pools}
    found = live.from_format_3(State(None, {f"records/{name}": array for name, array in given.items()})).arrays
    cores = found["records/core"].view(CORE)[:, 0]
    assert cores["drift"].tolist() == core[:, _place("drift")].tolist()
    assert cores["last"].tolist() == core[:, _place("last") + 1].tolist()
    assert cores["height"].tolist() == core[:, -1].tolist()
    read = found["records/tails"].view(TAILS)[:, 0]
    assert read["excess"][1].tolist() == read["ladder"][1, -1].tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    assert found["records/pools"].reshape(EXPERTS, 4)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    SeriesScorer().restore(State(None, {name.removeprefix("records/"): array for name, array in found.items()}))


def _place(name: str) -> int:
    assert CORE.fields is not None
    return int(CORE.fields[name][1]) // 8


def _with_variance(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """As until format 3, when the variance of fluctuations was kept before the last value."""
    return np.insert(numbers, _place("last"), 0.0, axis=1)
