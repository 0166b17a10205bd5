"""A draft of a detector's memory, and the rows of its series."""

import numpy as np
import pytest

from analytics.state.memory import Memory, MemoryColumn


@pytest.fixture
def memory() -> Memory:
    memory = Memory((MemoryColumn("level"), MemoryColumn("places", 2)))
    memory.rows(np.array([7, 3, 5]))
    memory["level"][:] = (1.0, 2.0, 3.0)
    return memory


def test_what_is_written_to_a_draft_is_not_in_the_memory(memory: Memory) -> None:
    draft = memory.draft()
    draft["level"][0] = 9.0
    draft["places"][1] = (4.0, 5.0)
    assert draft["level"].tolist() == [9.0, 2.0, 3.0]
    assert memory["level"].tolist() == [1.0, 2.0, 3.0]
    assert not memory["places"].any()


def test_a_column_that_nobody_asks_for_is_not_copied(memory: Memory) -> None:
    draft = memory.draft()
    draft["level"][0] = 9.0
    old, new = memory.state().arrays, draft.state().arrays
    assert np.shares_memory(old["places"], new["places"])
    assert not np.shares_memory(old["level"], new["level"])


def test_series_that_are_new_in_a_draft_are_not_in_the_memory(memory: Memory) -> None:
    draft = memory.draft()
    rows = draft.rows(np.arange(2000))
    draft["level"][rows] = 1.0
    assert len(draft) == 2000
    assert len(memory) == 3
    assert memory.state().arrays["sid"].tolist() == [7, 3, 5]
    assert memory["level"].tolist() == [1.0, 2.0, 3.0]


def test_a_draft_goes_on_from_another(memory: Memory) -> None:
    first = memory.draft()
    first["level"][2] = 8.0
    second = first.draft()
    second.keep(np.array([5, 7]))
    assert second.state().arrays["sid"].tolist() == [1, 0]
    assert second["level"].tolist() == [1.0, 8.0]
    assert first["level"].tolist() == [1.0, 2.0, 8.0]


def test_the_rows_of_the_same_series_are_looked_up_once(memory: Memory) -> None:
    sets = [np.array(sids) for sids in ([7, 5], [3], [3, 5], [5])]
    rows = [memory.rows(sids) for sids in sets]
    assert [each.tolist() for each in rows] == [[0, 2], [1], [1, 2], [2]]
    for sids, known in zip(sets, rows, strict=True):
        assert memory.rows(sids) is known
        assert memory.rows(sids.copy()) is known
    assert memory.rows(np.array([5, 7])).tolist() == [2, 0]
