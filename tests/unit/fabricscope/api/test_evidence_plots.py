"""Evidence as lines: counters as rates, gauges as they are, and what has no line."""

import numpy as np
import pytest

from fabricscope.api.evidence_plot import evidence_plot
from fabricscope.api.history import History
from fabricscope.api.instants import rfc3339
from fabricscope.api.problem import describe_error, may_answer
from telemetry.codec.batch import encode_batch
from telemetry.findings import Evidence
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key

NS = 1_000_000_000
COUNTER = series_key("fabric_port_errors_total", {"device": "leaf1", "port": "Ethernet0"})
GAUGE = series_key("gpu_power_watts", {"device": "leaf1", "gpu": "GPU-0"})
UNKNOWN = series_key("of_the_user", {"device": "leaf1"})


def history_with(key: str, *points: tuple[int, float]) -> History:
    history = History(900 * NS, 10**6)
    for second, value in points:
        add(history, "leaf1", second, {key: value})
    return history


def add(history: History, device: str, second: int, values: dict[str, float]) -> None:
    """One collection."""
    table = SeriesTable("t", device, tuple(values))
    rows = np.arange(len(values), dtype=np.uint32)
    times_ns = np.full(len(values), second * NS)
    batch = SampleBatch(table, Collection(1, second, second * NS, 0.1), times_ns, rows, np.array([*values.values()]))
    encoded, headers = encode_batch(batch)
    history.add(batch, encoded, dict(headers))


@pytest.mark.parametrize(
    ("key", "points", "times", "values"),
    [
        (GAUGE, [(10, 5.0), (20, 7.0)], [10, 20], [5.0, 7.0]),
        (UNKNOWN, [(10, 5.0)], [10], [5.0]),
        (COUNTER, [(10, 0.0), (20, 50.0), (40, 50.0)], [20, 40], [5.0, 0.0]),
        (COUNTER, [(10, 100.0), (20, 3.0), (30, 13.0)], [20, 30], [None, 1.0]),  # a reset is a hole, no rate
        (COUNTER, [(10, 100.0)], [10], [100.0]),  # one sample has no rate
        (GAUGE, [(10, float("inf")), (20, 1.0)], [10, 20], [None, 1.0]),  # JSON has no infinity
    ],
)
def test_a_line_of_one_series(key, points, times, values):
    plot = evidence_plot(history_with(key, *points), Evidence(key, 1.0, 0.5, "W"))
    assert plot is not None
    assert (plot.series, plot.unit, plot.normal) == (key, "W", 0.5)
    assert (plot.times, plot.values) == (tuple(rfc3339(at * NS) for at in times), tuple(values))


@pytest.mark.parametrize(
    ("unit", "values"), [("seconds an operation", [0.5, 2.0, None]), ("operations/s", [1.0, 0.5, 0.0])]
)
def test_the_times_of_operations_are_of_each_of_them(unit, values):
    """10 operations of half a second, 5 of two seconds, none."""
    history = History(900 * NS, 10**6)
    name, labels = "storage_operation_duration_seconds", {"device": "oss1", "target": "OST0001"}
    sums, counts = (series_key(f"{name}_{part}", labels) for part in ("sum", "count"))
    for second, (spent_s, ended) in enumerate([(100.0, 7.0), (105.0, 17.0), (115.0, 22.0), (115.0, 22.0)]):
        add(history, "oss1", 10 * second, {sums: spent_s, counts: ended})
    plot = evidence_plot(history, Evidence(sums, 2.0, 0.5, unit))
    assert plot is not None
    assert (plot.unit, plot.times) == (unit, tuple(rfc3339(at * NS) for at in (10, 20, 30)))
    assert plot.values == tuple(values)


@pytest.mark.parametrize("series", ["spread of 8 GPUs", GAUGE.replace("leaf1", "leaf2"), UNKNOWN])
def test_evidence_without_a_series_of_its_own_has_no_line(series):
    assert evidence_plot(history_with(GAUGE, (10, 1.0)), Evidence(series, 1.0, None, "")) is None


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (
            {"loc": ("body", "objects", 0), "msg": "Value error, expected kind:name"},
            "body.objects.0: expected kind:name",
        ),
        ({"loc": ("query", "limit"), "msg": "Input should be an integer"}, "query.limit: Input should be an integer"),
    ],
)
def test_an_error_says_where_and_what(problem, text):
    assert describe_error(problem) == text


def test_answers_of_a_route_are_described_by_their_status():
    assert set(may_answer(404, 422)) == {404, 422}
