"""The data quality of series, as the API and our own metrics count it."""

from analytics import metrics
from analytics.config import AnalyticsConfig
from analytics.worker import Worker
from bus.base import Message
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.ledger import StageReport
from tests.unit.analytics.busy_cluster import batches
from tests.unit.fabricscope.api.traffic import eventually


async def test_series_are_counted_by_state_for_each_analytics_process(api, bus):
    counts = {"series": 4.0, "series_fresh": 3.0, "series_unsupported": 1.0}
    reports = (StageReport("analytics", "analytics-0", 1, 2, details=counts), StageReport("ingest", "a", 1, 2))
    for one in reports:
        await bus.publish(topics.LEDGER, [Message(f"{one.stage}/{one.instance}".encode(), encode_record(one))])
    (shown,) = await eventually(api.url, "/api/v1/trust", len)
    assert shown == {
        "instance": "analytics-0",
        "at": "1970-01-01T00:00:00.000000002Z",
        "series": {"fresh": 3, "unsupported": 1},
    }


def test_the_report_and_the_metric_count_every_series_once(tmp_path):
    worker = Worker(AnalyticsConfig(state_dir=tmp_path), topics.TOPOLOGY)
    for batch in batches():
        worker.engine.observe(batch)
    worker.engine.advance()
    report = worker.report(0)
    counts = {name: count for name, count in report.details.items() if name.startswith("series_")}
    assert sum(counts.values()) == report.details["series"] > 0
    metrics.update(report, StageReport("analytics", "", 0, 0))
    assert metrics.SERIES.labels("fresh")._value.get() == counts["series_fresh"]
