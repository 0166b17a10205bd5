"""The document of our own metrics."""

import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily

from fabricscope import own_metrics
from fabricscope.own_metrics import OwnMetric, document

COMMITTED = Path(__file__).parents[3] / "docs" / "own-metrics.md"
METRICS = own_metrics.own_metrics()


def test_the_committed_document_is_the_generated_one():
    assert COMMITTED.read_text() == document(METRICS), "run: make docs"


def test_every_stage_and_the_bus_have_metrics():
    stages = {"ingest", "analytics", "alerts", "recorder", "api", "bus"}
    assert stages <= {one.stage for one in METRICS}


def test_metrics_of_receivers_are_among_them():
    names = {one.name for one in METRICS}
    assert {"fabricscope_ingest_dialled_streams", "fabricscope_ingest_dialled_calls_refused_total"} <= names


def test_every_metric_is_defined_once_and_explained():
    names = [one.name for one in METRICS]
    assert len(set(names)) == len(names)
    assert [one.name for one in METRICS if not one.help.strip(" .")] == []


class OfAnotherKind:
    """Counters whose values come from somewhere else."""

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily("fabricscope_api_figures", "Figures.", labels=["reason"])


@pytest.mark.parametrize(
    ("defined", "found"),
    [
        (
            Counter("fabricscope_api_a_total", "A.", ["x", "y"], registry=CollectorRegistry()),
            ("fabricscope_api_a_total", "counter", ("x", "y")),
        ),
        (Gauge("fabricscope_api_b", "B.", registry=CollectorRegistry()), ("fabricscope_api_b", "gauge", ())),
        (
            Histogram("fabricscope_api_c_seconds", "C.", registry=CollectorRegistry()),
            ("fabricscope_api_c_seconds", "histogram", ()),
        ),
        (OfAnotherKind(), ("fabricscope_api_figures_total", "counter", ("reason",))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_metric_is_found(monkeypatch, defined, found):
    module = ModuleType("some.metrics")
    module.DEFINED = defined  # type: ignore[attr-defined]
    module.NUMBER = 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some.metrics", module)
    assert [(one.name, one.kind, one.labels) for one in own_metrics._metrics_of("some.metrics")] == [found]


def test_a_document_has_one_table_a_stage():
    metrics = [
        OwnMetric("fabricscope_api_gaps_total", "counter", (), "Gaps.", "api.metrics"),
        OwnMetric("fabricscope_api_requests_total", "counter", ("route", "status"), "Requests.", "api.metrics"),
        OwnMetric("fabricscope_bus_commit_seconds", "histogram", (), "Time of a commit.", "bus.metrics"),
    ]
    assert (
        document(metrics).partition("\n## api")[2]
        == """

| metric | type | labels | |
|---|---|---|---|
| `fabricscope_api_gaps_total` | counter |  | Gaps |
| `fabricscope_api_requests_total` | counter | `route`, `status` | Requests |

## bus

| metric | type | labels | |
|---|---|---|---|
| `fabricscope_bus_commit_seconds` | histogram |  | Time of a commit |
"""
    )
