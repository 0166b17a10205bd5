"""How a table is read: what is asked for next, whatever the agent's responses hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.snmp.objects import Oid
from ingest.collectors.snmp.walk import Varbind, Walk

A, B, C = (1, 1), (1, 2), (1, 3)
Table = dict[Oid, list[int]]
"""By column: the indexes that it has."""


def bulk(table: Table, oids: list[Oid], repetitions: int, cut: int) -> list[Varbind]:
    """As an agent answers, cut off after so many objects; the table is all that it has."""
    everything = sorted((*column, index) for column, indexes in table.items() for index in indexes)
    found: list[Varbind] = []
    at = list(oids)
    for _ in range(repetitions):
        for place, oid in enumerate(at):
            following = next((one for one in everything if one > oid), None)
            found.append((oid, None) if following is None else (following, following[-1]))
            at[place] = following or oid
    return found[:cut]


def read(table: Table, columns: list[Oid], *, varbinds_max: int, cut: int = 1000) -> tuple[Table, int]:
    """What a walk finds, and how many requests it takes."""
    walk, requests = Walk(columns, varbinds_max=varbinds_max, values_max=1000), 0
    while (request := walk.request()) is not None:
        oids, repetitions = request
        assert len(oids) * repetitions <= varbinds_max
        walk.accept(bulk(table, oids, repetitions, cut))
        requests += 1
    return {column: [index for (index,) in rows] for column, rows in walk.rows.items()}, requests


tables = st.fixed_dictionaries({column: st.sets(st.integers(1, 30)).map(sorted) for column in (A, B, C)})


@given(table=tables, varbinds_max=st.integers(1, 40), cut=st.integers(1, 40))
def test_every_instance_is_found_once_however_responses_are_cut(table: Table, varbinds_max: int, cut: int) -> None:
    assert read(table, [A, B, C], varbinds_max=varbinds_max, cut=cut)[0] == table


def test_columns_go_side_by_side() -> None:
    table: Table = {A: list(range(1, 21)), B: list(range(1, 21))}
    assert read(table, [A, B], varbinds_max=40) == (table, 2)
    assert read({}, [A, B], varbinds_max=40) == ({A: [], B: []}, 1)


def test_too_big_halves_a_response_until_it_is_one_object() -> None:
    walk = Walk([A], varbinds_max=5, values_max=10)
    assert [walk.reduce(), walk.reduce()] == [2, 1]
    with pytest.raises(BadInput, match="one object alone"):
        walk.reduce()


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ([], "without objects"),
        ([((1, 1, 1), 1), ((1, 1, 1), 1)], "1.1.1 follows 1.1.1"),
        ([((1, 1, 5), 1), ((1, 1, 4), 1)], "1.1.4 follows 1.1.5"),
        ([((1, 1), 1)], "1.1 follows 1.1"),
        ([((1, 1, index), 1) for index in range(5)], "values_max"),
    ],
)
def test_an_agent_that_would_never_end_is_refused(response: list[Varbind], message: str) -> None:
    walk = Walk([A], varbinds_max=40, values_max=4)
    walk.request()
    with pytest.raises(BadInput, match=message):
        walk.accept(response)
