"""The ring of healthy vectors: the newest ones, oldest first."""

import numpy as np
import pytest

from analytics.detectors.multivariate import history as module
from analytics.detectors.multivariate.history import History


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> History:
    """Room for five vectors of one number."""
    monkeypatch.setattr(module, "ROWS_MAX", 5)
    return History(1)


def add(history: History, *values: float, at_ns: int = 1) -> None:
    history.add(np.array(values, np.float64).reshape(-1, 1), at_ns)


@pytest.mark.parametrize(
    ("additions", "expected"),
    [
        ([], []),
        ([[1, 2]], [1, 2]),
        ([[1, 2], [3], [4, 5]], [1, 2, 3, 4, 5]),
        ([[1, 2, 3], [4, 5, 6]], [2, 3, 4, 5, 6]),
        ([[1, 2, 3, 4, 5], [6], [7, 8]], [4, 5, 6, 7, 8]),
        ([[1], [2, 3, 4, 5, 6, 7, 8]], [4, 5, 6, 7, 8]),  # more than there is room for
        ([[], [1], []], [1]),
    ],
)
def test_the_newest_vectors_are_kept(history: History, additions: list[list[float]], expected: list[float]) -> None:
    for values in additions:
        add(history, *values)
    assert history.vectors()[:, 0].tolist() == expected
    assert history.size == len(expected)


def test_it_knows_when_it_began(history: History) -> None:
    add(history, at_ns=5)
    assert history.since_ns == 0
    add(history, 1.0, at_ns=7)
    add(history, *range(9), at_ns=9)
    assert history.since_ns == 7


def test_a_restored_history_goes_on_where_the_other_stopped(history: History) -> None:
    add(history, 1, 2, 3, 4, 5, 6, at_ns=7)
    restored = History(1)
    restored.restore(history.state())
    add(history, 7, at_ns=9)
    add(restored, 7, at_ns=9)
    assert restored.vectors().tolist() == history.vectors().tolist() == [[3], [4], [5], [6], [7]]
    assert restored.since_ns == 7
