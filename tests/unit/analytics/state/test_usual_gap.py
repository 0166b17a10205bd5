"""The usual gap: the median of the newest three."""

import numpy as np
import pytest

from analytics.state import usual_gap


def after(*gaps_s: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    row = np.zeros(usual_gap.KEPT, np.float32)
    for gap_s in gaps_s:
        usual_gap.note(row, gap_s)
    return row


@pytest.mark.parametrize(
    ("gaps_s", "usual_s"),
    [
        ((), 0.0),
        ((60.0,), 60.0),
        ((40.0, 10.0), 10.0),  # a loss makes a gap longer, nothing makes it shorter
        ((10.0, 40.0), 10.0),
        ((10.0, 10.0, 900.0), 10.0),
        ((10.0, 10.0, 0.5), 10.0),
        ((10.0, 10.0, 10.0, 60.0), 10.0),
        ((10.0, 10.0, 10.0, 60.0, 60.0), 60.0),  # another interval counts from its second gap on
    ],
)
def test_it_is_the_median_of_the_newest_three(gaps_s: tuple[float, ...], usual_s: float) -> None:
    assert usual_gap.median_of(after(*gaps_s)) == usual_s


@pytest.mark.parametrize(
    ("gaps_s", "slack_s", "even"),
    [
        ((30.0, 30.0), 0.0, False),  # too few
        ((30.0, 31.0, 30.0), 0.0, True),
        ((30.0, 40.0, 30.0), 0.0, False),
        ((30.0, 40.0, 30.0), 10.0, True),  # read every 10 s
        ((20.0, 80.0, 110.0), 10.0, False),
    ],
)
def test_a_rhythm_needs_three_gaps_that_are_alike(gaps_s: tuple[float, ...], slack_s: float, even: bool) -> None:
    assert usual_gap.is_even(after(*gaps_s), slack_s) is even


def test_a_row_without_gaps_has_the_value_of_what_it_belongs_to_and_the_others_stay_within_limits() -> None:
    rows = np.array([after(), after(1.0), after(60.0), after(7200.0)])
    out = np.empty(4)
    usual_gap.fill(rows, np.array([10.0, 15.0]), np.array([1, 0, 0, 0], np.int32), 5.0, 900.0, out)
    assert out.tolist() == [15.0, 5.0, 60.0, 900.0]
