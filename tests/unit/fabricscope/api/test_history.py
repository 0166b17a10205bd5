"""Recent telemetry in memory: how far back, how much, and in which order it comes out."""

import tracemalloc

import numpy as np
import pytest

from fabricscope.api.history import History
from telemetry.codec.batch import encode_batch
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key

NS = 1_000_000_000


def key(device: str, port: int = 0) -> str:
    return series_key("fabric_port_up", {"device": device, "port": f"Ethernet{port}"})


def add(history: History, device: str, *at_s: int, ports: int = 1) -> int:
    """Collections at these seconds, each with its second as value of every port; the memory of the last one."""
    size = 0
    for second in at_s:
        table = SeriesTable(f"gnmi/{device}", device, tuple(key(device, port) for port in range(ports)))
        rows = np.arange(ports, dtype=np.uint32)
        times, values = np.full(ports, second * NS), np.full(ports, float(second))
        batch = SampleBatch(table, Collection(1, second, second * NS, 0.01), times, rows, values)
        value, headers = encode_batch(batch)
        history.add(batch, value, dict(headers))
        size = 450 + len(value) + sum(map(len, headers.values()))
    return size


def seconds(history: History, device: str, port: int = 0) -> list[int]:
    times, values = history.series(device, {key(device, port)}).get(key(device, port), (np.empty(0), np.empty(0)))
    assert (times // NS == values).all()
    return [int(second) for second in values]


@pytest.mark.parametrize(
    ("added", "kept"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([3, 1, 2], [1, 2, 3]),  # two were late
        ([1, 1, 2], [1, 2]),  # delivered twice
        ([1, 5, 11], [1, 5, 11]),  # ten seconds are kept, both ends included
        ([1, 5, 12], [5, 12]),
        ([1, 100], [100]),
    ],
)
def test_the_span_of_a_device_comes_out_in_time_order_once(added, kept):
    history = History(span_ns=10 * NS, bytes_max=10**6)
    add(history, "leaf1", *added)
    assert seconds(history, "leaf1") == kept


def test_only_the_series_asked_for_come_out():
    history = History(10 * NS, 10**6)
    add(history, "leaf1", 1, 2, ports=3)
    found = history.series("leaf1", {key("leaf1", 1), key("leaf1", 7)})
    assert list(found) == [key("leaf1", 1)]
    assert history.series("leaf9", {key("leaf9")}) == {}


def test_the_device_that_was_silent_longest_loses_its_oldest_first():
    size = add(History(100 * NS, 10**6), "leaf1", 1)
    history = History(100 * NS, bytes_max=4 * size + size // 2)  # room for four
    add(history, "leaf1", 1, 2)
    add(history, "leaf2", 3, 4)
    add(history, "leaf1", 5)  # leaf2 has been silent for longer now
    assert (seconds(history, "leaf1"), seconds(history, "leaf2")) == ([1, 2, 5], [4])
    add(history, "leaf1", 6)
    assert (seconds(history, "leaf1"), seconds(history, "leaf2")) == ([1, 2, 5, 6], [])
    add(history, "leaf1", 7)  # only leaf1 is left
    assert seconds(history, "leaf1") == [2, 5, 6, 7]


def test_what_is_too_old_gives_its_bytes_back():
    size = add(History(100 * NS, 10**6), "leaf1", 1)
    history = History(10 * NS, bytes_max=3 * size + size // 2)
    add(history, "leaf1", 1, 2, 50, 51, 52)
    assert seconds(history, "leaf1") == [50, 51, 52]


def add_down(history: History, *at_s: int) -> None:
    table, nothing = SeriesTable("gnmi/leaf1", "leaf1", (key("leaf1"),)), np.empty(0)
    for second in at_s:
        down = Collection(1, second, second * NS, 0.01, DownReason.TIMEOUT)
        batch = SampleBatch(table, down, nothing.astype(np.int64), nothing.astype(np.uint32), nothing)
        value, headers = encode_batch(batch)
        history.add(batch, value, dict(headers))


def test_records_that_say_only_that_a_target_is_down_take_no_memory():
    tracemalloc.start()
    history = History(10_000 * NS, bytes_max=10**9)
    add_down(history, *range(2000))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 100_000


def test_a_target_that_is_down_loses_what_is_too_old():
    size = add(History(100 * NS, 10**6), "leaf1", 1)
    history = History(10 * NS, bytes_max=2 * size + size // 2)  # room for two
    add(history, "leaf1", 1, 5)
    add_down(history, 12)
    assert seconds(history, "leaf1") == [5]
    add_down(history, 20)
    assert seconds(history, "leaf1") == []
    add(history, "leaf2", 21, 22)  # all of the room is theirs
    assert seconds(history, "leaf2") == [21, 22]


def test_many_small_records_take_the_memory_that_is_counted():
    tracemalloc.start()
    history = History(10_000 * NS, bytes_max=200_000)
    add(history, "leaf1", *range(2000))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 100_000 < used < 300_000
