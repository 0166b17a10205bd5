"""Recent growth by its formula: growth' = min(growth x exp(-dt / window) + increase, most), here with dt = 10 s."""

from math import exp

import numpy as np
import pytest

from analytics.detectors.counters import RECENT_GROWTH, recent_growth
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import INTERVAL_S, batch, clockwork, port_key, table

METRIC = "fabric_port_flaps_total"
KEY, OTHER = port_key(METRIC), port_key(METRIC, "Ethernet4")
WINDOW_S = 60.0
FADED = exp(-INTERVAL_S / WINDOW_S)


def growth(*rows: list[float], most: float = 100.0) -> list[list[float]]:
    """After each collection of one or two counters, which have been seen once before: a rate needs two values."""
    memory = Memory(RECENT_GROWTH)
    keys = [KEY, OTHER][: len(rows[0])]

    def work(view: TickView) -> tuple[int, list[float]]:
        column = view.column(METRIC)
        newest_s = int(column.times_ns.max(initial=0)) // 10**9
        return newest_s, recent_growth(view, memory, column, WINDOW_S, most).tolist()

    by_time = dict(at_each_tick(work, collected(keys, [rows[0], *rows])))
    return [by_time[at] for at in sorted(by_time) if at > 0]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([7.0], [0.0]),  # what was counted before is history
        ([7.0, 7.0, 7.0], [0.0, 0.0, 0.0]),
        ([7.0, 9.0], [0.0, 2.0]),
        ([7.0, 9.0, 9.0, 9.0], [0.0, 2.0, 2.0 * FADED, 2.0 * FADED**2]),
        ([7.0, 9.0, 10.0], [0.0, 2.0, 2.0 * FADED + 1.0]),
        # A reset gives no value, and the next one has no older count to grow from.
        ([7.0, 9.0, 1.0, 2.0, 3.0], [0.0, 2.0, 2.0 * FADED**2, 2.0 * FADED**3 + 1.0]),
        ([0.0, 250.0, 250.0, 260.0], [0.0, 100.0, 100.0 * FADED, min(100.0, 100.0 * FADED**2 + 10)]),
    ],
)
def test_growth_of_one_counter(counts: list[float], expected: list[float]) -> None:
    assert [row[0] for row in growth(*([count] for count in counts))] == pytest.approx(expected)


def test_counters_grow_by_themselves() -> None:
    assert growth([0.0, 0.0], [3.0, 0.0], [3.0, 5.0])[-1] == pytest.approx([3.0 * FADED, 5.0])


def test_a_tick_without_a_new_value_changes_nothing() -> None:
    """Ticks are half an interval: the second of them has the values of the first."""
    memory, of = Memory(RECENT_GROWTH), table("leaf1", [KEY])
    found = at_each_tick(
        lambda view: recent_growth(view, memory, view.column(METRIC), WINDOW_S, 100.0).tolist(),
        [batch(of, 0, [0.0]), batch(of, 1, [0.0]), batch(of, 2, [4.0]), *clockwork(0, [3, 4])],
    )
    assert found[-2:] == [[4.0], [4.0]]
    assert memory["count"].tolist() == [4.0]


def test_growth_fades_by_the_time_that_has_passed_and_not_by_collections() -> None:
    """A collection that is missed leaves the next one twenty seconds later."""
    memory, of = Memory(RECENT_GROWTH), table("leaf1", [KEY])
    batches = [batch(of, seq, [count]) for seq, count in ((0, 0.0), (1, 0.0), (2, 4.0), (4, 4.0))]
    found = at_each_tick(
        lambda view: recent_growth(view, memory, view.column(METRIC), WINDOW_S, 100.0).tolist(),
        sorted([*batches, *clockwork(1, range(6))], key=lambda each: each.collection.collected_ns),
    )
    assert found[-1] == pytest.approx([4.0 * np.exp(-20 / WINDOW_S)])
