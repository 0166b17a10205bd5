"""Names of our own metrics, after Prometheus' conventions: ``fabricscope_<stage>_<noun>_<unit>[_total]``.

Source: https://prometheus.io/docs/practices/naming/
"""

import re

import pytest

from fabricscope.own_metrics import OwnMetric, own_metrics

STAGES = ("ingest", "analytics", "alerts", "export", "recorder", "api", "bus", "config", "process")
NAME = re.compile(rf"fabricscope_({'|'.join(STAGES)})(_[a-z0-9]+)+")
UNITS = {"seconds", "bytes", "ratio", "info", "successful"}  # the last: 1 or 0, as Prometheus has it
NOT_BASE_UNITS = {"ns", "us", "ms", "s", "minutes", "hours", "kb", "mb", "kilobytes", "megabytes", "percent"}
OF_THE_LIBRARY = ("_created", "_sum", "_count", "_bucket")


def problems(metric: OwnMetric) -> list[str]:
    """What is wrong with a name."""
    words = metric.name.removesuffix("_total").split("_")[2:]
    found = []
    if not NAME.fullmatch(metric.name):
        found.append("expected fabricscope_<stage>_<noun>_<unit>[_total]")
    if metric.name.endswith("_total") != (metric.kind == "counter"):
        found.append("counters end in _total, and nothing else does")
    if metric.kind == "histogram" and words[-1] not in UNITS:
        found.append("a histogram ends in its unit")
    if not any(word in UNITS or (word.endswith("s") and word not in NOT_BASE_UNITS) for word in words):
        found.append("neither a unit nor what is counted (a plural) is named")
    if NOT_BASE_UNITS & set(words) or metric.name.endswith(OF_THE_LIBRARY):
        found.append("expected a base unit, and no suffix of the client library")
    return found


def metric(name: str, kind: str = "counter") -> OwnMetric:
    return OwnMetric(name, kind, (), "", "")


@pytest.mark.parametrize(
    ("one", "count"),
    [
        (metric("fabricscope_ingest_samples_dropped_total"), 0),
        (metric("fabricscope_bus_published_bytes_total"), 0),
        (metric("fabricscope_ingest_targets", "gauge"), 0),
        (metric("fabricscope_export_lag_seconds", "gauge"), 0),
        (metric("fabricscope_bus_commit_seconds", "histogram"), 0),
        (metric("fabricscope_remote_write_samples_total"), 1),  # no stage
        (metric("ingest_samples_total"), 2),
        (metric("fabricscope_ingest_samples_dropped"), 1),
        (metric("fabricscope_ingest_samples_total", "gauge"), 1),
        (metric("fabricscope_alerts_open", "gauge"), 1),
        (metric("fabricscope_bus_commits", "histogram"), 1),
        (metric("fabricscope_bus_commit_ms", "gauge"), 2),
        (metric("fabricscope_bus_records_count", "gauge"), 1),
    ],
)
def test_the_rules_find_a_bad_name(one, count):
    assert len(problems(one)) == count


@pytest.mark.parametrize("one", own_metrics(), ids=lambda one: one.name)
def test_every_name_follows_the_convention(one):
    assert problems(one) == [], one.module
