"""Medians of two hours: a value every ten minutes, here of a file system with room for 1000 bytes."""

from collections.abc import Sequence

import numpy as np
import pytest

from analytics.config import EngineConfig
from analytics.derived.trend_history import KEPT, SLOT_NS, SLOTS, TrendHistory
from analytics.view.tick_view import TickView
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from tests.unit.analytics.detectors.ticks import at_each_tick
from tests.unit.analytics.small_cluster import batch, port_key, table

CONFIG = EngineConfig(interval_s=SLOT_NS / 1e9)
PERIOD_NS = SLOT_NS * SLOTS
OST = {"device": "oss1", "system": "lustre", "fs": "scratch", "side": "server", "target": "OST0"}
ROOM = [series_key(f"storage_{name}_bytes", OST) for name in ("available", "capacity")]
LANES = [
    port_key("fabric_port_optical_power_dbm", direction=direction, lane=lane)
    for direction in ("rx", "tx")
    for lane in ("1", "2")
]
FIRST_NS = 1_700_006_400 * 10**9  # a whole number of periods since the epoch


def history(keys: Sequence[str], rows: Sequence[Sequence[float] | None]) -> TrendHistory:
    """After one collection just before each slot, from the beginning of a period; None is a slot without one."""
    known = TrendHistory()
    of = table("oss1" if keys is ROOM else "leaf1", keys)
    start_s = (FIRST_NS - 1_700_000_000 * 10**9) / 1e9
    batches: list[SampleBatch] = []
    for slot, row in enumerate([*rows, [0.0] * len(keys), [0.0] * len(keys)]):
        if row is not None:
            batches.append(batch(of, slot, row, at_s=start_s + slot * SLOT_NS / 1e9 - 60))
    at_each_tick(lambda view: _updated(known, view), batches, config=CONFIG)
    return known


def _updated(known: TrendHistory, view: TickView) -> None:
    if view.end_ns >= FIRST_NS:
        known.update(view)


def medians(known: TrendHistory, periods: int) -> list[list[float]]:
    """Of each series, the medians of the first periods."""
    first = FIRST_NS // PERIOD_NS
    columns = [(first + n) % KEPT for n in range(periods)]
    found: list[list[float]] = known.state().arrays["history"][:, columns].tolist()
    return found


def test_a_period_is_kept_as_the_median_of_its_twelve_values() -> None:
    """The share that is left: 0.012 down to 0.001, then 0.5."""
    left = [[float(12 - n), 1000.0] for n in range(SLOTS)] + [[500.0, 1000.0]] * SLOTS
    (row,) = medians(history(ROOM, left), 2)
    assert row == pytest.approx([0.0065, 0.5])


def test_slots_without_a_value_are_left_out_and_an_empty_period_stays_empty() -> None:
    rows: list[list[float] | None] = [None] * (2 * SLOTS)
    for slot, free in ((0, 100.0), (1, 100.0), (6, 300.0), (7, 300.0)):  # mostly a slot apart: the second is fresh for
        rows[slot] = [free, 1000.0]  # two and a half slots, three of them
    (row,) = medians(history(ROOM, [*rows, *[[700.0, 1000.0]] * SLOTS]), 3)
    assert row[0] == pytest.approx(0.2)
    assert np.isnan(row[1])
    assert row[2] == pytest.approx(0.7)


def test_of_the_lanes_of_a_port_the_weakest_counts() -> None:
    """Received and sent light have limits of their own, and so a row each."""
    found = medians(history(LANES, [[-1.0, -3.0, 2.0, 1.0]] * SLOTS), 1)
    assert sorted(found) == [[-3.0], [1.0]]


def test_a_new_series_has_no_forecast_and_nothing_is_due() -> None:
    known = history(ROOM, [[500.0, 1000.0]] * SLOTS)
    assert np.isnan(known.state().arrays["forecast"]).all()
    assert known.pop_due() == []


def test_a_restored_history_has_the_same_rows() -> None:
    known, restored = history(ROOM, [[500.0, 1000.0]] * SLOTS), TrendHistory()
    restored.restore(known.state())
    assert restored.state().head == known.state().head
    for name, array in known.state().arrays.items():
        np.testing.assert_array_equal(restored.state().arrays[name], array)
