"""Own metrics of the analytics stage."""

from prometheus_client import Counter, Gauge

from analytics.state.quality import Quality
from telemetry.ledger import StageReport

PROCESSED = Gauge("fabricscope_analytics_samples_processed", "Samples processed, snapshots included.")
DEDUPLICATED = Gauge("fabricscope_analytics_samples_deduplicated", "Samples delivered again and left out.")
DROPPED = Gauge("fabricscope_analytics_samples_dropped", "Samples dropped, by reason.", ["reason"])
HELD = Gauge("fabricscope_analytics_samples_held", "Samples that wait for their tick.")
SERIES = Gauge("fabricscope_analytics_series", "Series known.")
QUALITY = Gauge("fabricscope_analytics_series_by_quality", "Series by the quality of their newest value.", ["state"])
WATERMARK = Gauge("fabricscope_analytics_watermark_seconds", "Newest collection seen, Unix time.")
ACTIVE = Gauge("fabricscope_analytics_findings_active", "Findings that hold now.")
OUTPUTS = Counter("fabricscope_analytics_outputs_total", "Findings and incidents published.", ["topic"])
CORRUPT = Counter("fabricscope_analytics_records_corrupt_total", "Records that could not be read.", ["topic", "reason"])
FAILURES = Counter("fabricscope_analytics_detector_failures_total", "Ticks that a detector failed in.", ["detector"])
GAPS = Counter("fabricscope_analytics_gaps_total", "Times that retention on the bus had passed our position.")
SNAPSHOTS = Counter("fabricscope_analytics_snapshots_total", "Snapshots written, failed, refused at start.", ["result"])
RETRIES = Counter("fabricscope_analytics_publish_retries_total", "Times that the bus did not take what was published.")


def show(report: StageReport) -> None:
    """The ledger's figures, for those who scrape."""
    PROCESSED.set(report.samples_out)
    DEDUPLICATED.set(report.deduplicated)
    HELD.set(report.held)
    for reason, samples in report.dropped.items():
        DROPPED.labels(reason).set(samples)
    SERIES.set(report.details["series"])
    for state in Quality:
        QUALITY.labels(state.name.lower()).set(report.details.get(f"series_{state.name.lower()}", 0))
    ACTIVE.set(report.details["findings_active"])
    WATERMARK.set(report.details["watermark_seconds"])
