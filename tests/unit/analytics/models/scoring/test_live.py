"""What live scores keep of the state that earlier versions have written."""

import numpy as np

from analytics.models.scoring import live
from analytics.models.scoring.layout import CORE
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
