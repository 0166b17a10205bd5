"""Which stored state a block goes on from."""

import numpy as np

from analytics.snapshot.block import Rule, SavedBlock
from analytics.snapshot.fit import migrated
from analytics.snapshot.stateful import State
from tests.unit.analytics.snapshot.kept import NEWEST, loaded

RULE = Rule(
    format=3,
    migrations={
        1: lambda state: State([*state.head, "from 1"], state.arrays),
        2: lambda state: State([*state.head, "from 2"], state.arrays),
    },
)


def test_a_state_goes_through_every_migration_from_its_format_on() -> None:
    heads = [migrated(RULE, SavedBlock(number, "", State([], {}))) for number in (1, 2, 3)]
    assert heads == [State(["from 1", "from 2"], {}), State(["from 2"], {}), State([], {})]


def test_without_a_migration_there_is_none() -> None:
    assert migrated(RULE, SavedBlock(0, "", State([], {}))) is None


def test_trends_keep_the_rows_of_limits_that_are_the_same() -> None:
    before, after = (loaded(NEWEST)[0].trends for _ in range(2))
    head, arrays = before.state()
    limits = list(head["limits"])
    used = sorted({limited for limited, _, _ in head["names"]})
    gone, moved = used[0], used[-1]
    limits[gone] = "a metric of another version"
    limits[moved], limits[gone] = limits[gone], limits[moved]  # that one has another position today
    swapped = {gone: moved, moved: gone}
    names = [(swapped.get(limited, limited), *rest) for limited, *rest in head["names"]]
    limited = np.array([position for position, *_ in names], np.int32)
    after.restore(State({**head, "limits": limits, "names": names}, {**arrays, "limited": limited}))
    kept = [name for name in head["names"] if name[0] != gone]
    assert len(used) > 1
    assert after.state().head["names"] == kept
    assert after.state().arrays["limited"].tolist() == [limited for limited, _, _ in kept]
