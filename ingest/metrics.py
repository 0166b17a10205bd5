"""This stage's own metrics."""

from prometheus_client import Counter, Gauge, Histogram

_PREFIX = "fabricscope_ingest_"

COLLECTIONS = Counter(_PREFIX + "collections_total", "Collections by outcome: up, or the reason why not.", ["outcome"])
COLLECTIONS_SKIPPED = Counter(
    _PREFIX + "collections_skipped_total", "Collections left out because the last one of the target still ran."
)
TARGETS = Gauge(_PREFIX + "targets", "Targets that are polled.")
SAMPLES_RECEIVED = Counter(_PREFIX + "samples_received_total", "Samples received in series of the catalogue.")
SAMPLES_PUBLISHED = Counter(_PREFIX + "samples_published_total", "Samples that are durable on the bus.")
SAMPLES_DROPPED = Counter(_PREFIX + "samples_dropped_total", "Samples that did not reach the bus.", ["reason"])
SAMPLES_QUEUED = Gauge(_PREFIX + "samples_queued", "Samples between collection and bus.")
BATCHES_DROPPED = Counter(_PREFIX + "batches_dropped_total", "Batches that the full queue dropped.")
RECORDS_DROPPED = Counter(
    _PREFIX + "records_dropped_total", "Topology facts and changes that did not reach the bus.", ["reason"]
)
PUBLISH_SECONDS = Histogram(
    _PREFIX + "publish_seconds",
    "Time until the bus had made the messages of one call durable.",
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
)
PUBLISH_RETRIES = Counter(_PREFIX + "publish_retries_total", "Calls to the bus that failed and were repeated.")
