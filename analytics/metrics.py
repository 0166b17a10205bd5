"""Own metrics of the analytics stage."""

from prometheus_client import Counter, Gauge

from analytics.correlate.budget import LeftOut
from analytics.view.quality import Quality
from telemetry.ledger import StageReport
from telemetry.refusals import RefusalReason

_PREFIX = "fabricscope_analytics_"

SAMPLES_RECEIVED = Counter(_PREFIX + "samples_received_total", "Samples read from the bus.")
SAMPLES_PROCESSED = Counter(_PREFIX + "samples_processed_total", "Samples that the detectors have seen.")
SAMPLES_DEDUPLICATED = Counter(_PREFIX + "samples_deduplicated_total", "Samples that had been delivered before.")
SAMPLES_DROPPED = Counter(_PREFIX + "samples_dropped_total", "Samples that were not used.", ["reason"])
SAMPLES_QUEUED = Gauge(_PREFIX + "samples_queued", "Samples that wait for their tick to close.")
SERIES = Gauge(_PREFIX + "series", "Series by the quality of their newest value.", ["quality"])
WATERMARK_SECONDS = Gauge(_PREFIX + "watermark_timestamp_seconds", "Newest collection time seen, Unix time.")
FINDINGS_ACTIVE = Gauge(_PREFIX + "findings_active", "Findings that are active.")
FINDINGS_LEFT_OUT = Gauge(
    _PREFIX + "findings_left_out",
    "Active findings that correlation does not look at, as there are too many.",
    ["reason"],
)
INPUT_REFUSED = Gauge(
    _PREFIX + "refusals",
    "Facts of the topology that contradict others, and changes since the start that are larger than they may be.",
    ["reason"],
)
TICKS_UNCORRELATED = Gauge(
    _PREFIX + "ticks_uncorrelated", "Ticks whose findings are published and wait for their correlation."
)
RECORDS_PUBLISHED = Counter(
    _PREFIX + "records_published_total", "Findings, incidents, forecasts and events.", ["topic"]
)
EVENTS = Counter(_PREFIX + "events_total", "Events that ended, each with all that was merged into it.", ["kind"])
EVENTS_DROPPED = Counter(
    _PREFIX + "events_dropped_total",
    "Events that are not published, as more than 10,000 of a metric are open (too_many_open) or were summed when their"
    " series were forgotten (too_many_forgotten).",
    ["reason"],
)
RECORDS_DROPPED = Counter(_PREFIX + "records_dropped_total", "Facts and changes that were not used.", ["reason"])
RECORDS_CORRUPT = Counter(_PREFIX + "records_corrupt_total", "Records that could not be read.", ["topic", "reason"])
DETECTOR_FAILURES = Counter(
    _PREFIX + "detector_failures_total", "Ticks in which a detector raised an error.", ["detector"]
)
GAPS = Counter(_PREFIX + "gaps_total", "Times that retention on the bus had passed our position.")
SNAPSHOTS = Counter(_PREFIX + "snapshots_total", "Snapshots: written, failed, refused at start.", ["outcome"])
STATE_BEGUN_AGAIN = Counter(
    _PREFIX + "state_blocks_begun_again_total", "Parts of the snapshot that did not fit at start.", ["block", "cause"]
)
PUBLISH_RETRIES = Counter(_PREFIX + "publish_retries_total", "Calls to the bus that failed and were repeated.")


def update(report: StageReport, before: StageReport) -> None:
    """What the ledger counts. before: the report shown last, as its counts outlive a restart and ours do not."""
    SAMPLES_RECEIVED.inc(report.samples_in - before.samples_in)
    SAMPLES_PROCESSED.inc(report.samples_out - before.samples_out)
    SAMPLES_DEDUPLICATED.inc(report.deduplicated - before.deduplicated)
    SAMPLES_QUEUED.set(report.held)
    for reason, samples in report.dropped.items():
        SAMPLES_DROPPED.labels(reason).inc(samples - before.dropped.get(reason, 0))
    for quality in Quality:
        name = quality.name.lower()
        SERIES.labels(name).set(report.details.get(f"series_{name}", 0))
    FINDINGS_ACTIVE.set(report.details["findings_active"])
    for reason in LeftOut:
        FINDINGS_LEFT_OUT.labels(reason).set(report.details[f"findings_left_out_{reason}"])
    for refusal in RefusalReason:
        INPUT_REFUSED.labels(refusal).set(report.details[f"refused_{refusal}"])
    TICKS_UNCORRELATED.set(report.details["ticks_uncorrelated"])
    WATERMARK_SECONDS.set(report.details["watermark_seconds"])
