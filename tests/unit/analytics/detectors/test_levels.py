"""A level that a detector learns of a quantity of its own: the level before this tick's value, once it is known."""

import numpy as np
import pytest

from analytics.detectors.levels import LEVEL, learned_level
from analytics.models.pace import WARMUP
from analytics.state.memory import Memory
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import port_key

METRIC = "fabric_queue_occupancy_bytes"
KEYS = [port_key(METRIC, queue="3"), port_key(METRIC, queue="4")]


def levels(*rows: tuple[float, float]) -> list[list[float]]:
    """What is known of twice the reported values, after each collection."""
    memory = Memory(LEVEL)
    found = at_each_tick(
        lambda view: learned_level(view, memory, view.column(METRIC), 2.0 * view.column(METRIC).values).tolist(),
        collected(KEYS, rows),
    )
    return [row for row in found[::2] if row][: len(rows)]


def test_the_level_is_not_known_until_enough_values_were_learned() -> None:
    found = levels(*[(5.0, 7.0)] * (WARMUP + 2))
    assert np.isnan(found[:WARMUP]).all()
    assert found[WARMUP] == pytest.approx([10.0, 14.0])


def test_a_value_is_learned_after_the_level_is_returned() -> None:
    """The mean of the values before it, as long as the baseline warms up."""
    found = levels(*[(float(n % 3), 1.0) for n in range(WARMUP)], (1000.0, 1.0), (1.0, 1.0))
    assert found[WARMUP] == pytest.approx([2.0, 2.0])
    assert found[WARMUP + 1][0] == pytest.approx(2.0, rel=0.02)  # one value moves a robust level hardly


def test_a_value_that_is_missing_is_not_learned() -> None:
    memory = Memory(LEVEL)
    found = at_each_tick(
        lambda view: learned_level(view, memory, view.column(METRIC), np.full(len(view.column(METRIC)), np.nan)),
        collected(KEYS, [(5.0, 7.0)] * (WARMUP + 3)),
    )
    assert np.isnan(found[-1]).all()
    assert not memory["baseline"].any()


def test_a_value_is_learned_once_though_it_is_there_in_two_ticks() -> None:
    memory = Memory(LEVEL)
    at_each_tick(
        lambda view: learned_level(view, memory, view.column(METRIC), view.column(METRIC).values),
        collected(KEYS, [(5.0, 7.0)] * 3),
    )
    once = memory["baseline"].copy()
    assert once[:, 0].tolist() == [5.0, 7.0]
    assert once[0, 2] == 3.0  # values learned
