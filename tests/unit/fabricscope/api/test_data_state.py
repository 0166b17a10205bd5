"""Whether there is data to rely on, by when which target was collected how often."""

import pytest

from fabricscope.api.data_state import DataLevel, data_state
from fabricscope.api.read_model import TargetStatus

NS = 1_000_000_000
NOW_NS = 1_700_000_000 * NS


def target(age_s: float, interval_s: float = 10.0, *, up: bool = True) -> TargetStatus:
    return TargetStatus("t", "leaf1", up, None, NOW_NS - round(age_s * NS), 0.1, 5, interval_s)


@pytest.mark.parametrize(
    ("targets", "level", "text"),
    [
        ([], DataLevel.MISSING, "no data: no target has been collected yet"),
        ([target(5)], DataLevel.GOOD, ""),
        ([target(59)], DataLevel.GOOD, ""),
        ([target(601)], DataLevel.MISSING, "no data for 601 s: no target is collected"),
        ([target(170, 60.0)], DataLevel.GOOD, ""),  # collected once a minute
        ([target(190, 60.0)], DataLevel.MISSING, "no data for 190 s: no target is collected"),
        ([target(5), target(5, up=False)], DataLevel.PARTIAL, "1 of 2 targets do not answer"),
        ([target(5), target(90)], DataLevel.PARTIAL, "1 of 2 targets do not answer"),
        ([target(5), *[target(5, up=False)] * 63], DataLevel.MISSING, "63 of 64 targets do not answer"),
        ([target(5), *[target(4000)] * 63], DataLevel.GOOD, ""),  # removed an hour ago
        ([target(8000), target(4000)], DataLevel.MISSING, "no data for 4000 s: no target is collected"),
    ],
)
def test_level_and_words(targets: list[TargetStatus], level: DataLevel, text: str) -> None:
    found = data_state(targets, NOW_NS)
    assert (found.level, found.text) == (level, text)


def test_a_problem_of_the_pipeline_is_louder_than_what_targets_say() -> None:
    found = data_state([target(5)], NOW_NS, "bus: it does not answer")
    assert (found.level, found.text, found.up, found.all) == (DataLevel.MISSING, "bus: it does not answer", 1, 1)


def test_data_in_which_nothing_looks_for_faults_is_no_good_news() -> None:
    silent = "no detection: analytics has reported nothing for 90 s"
    found = [data_state([target(age_s)], NOW_NS, undetected=silent) for age_s in (5, 601)]
    assert {one.level for one in found} == {DataLevel.MISSING}
    assert [one.text for one in found] == [silent, "no data for 601 s: no target is collected"]
    assert data_state([target(5)], NOW_NS, "bus: it does not answer", silent).text == "bus: it does not answer"


def test_without_targets_there_is_no_age_and_a_clock_that_is_behind_makes_none_negative() -> None:
    assert data_state([], NOW_NS).age_s is None
    assert data_state([target(-3)], NOW_NS).age_s == 0.0
