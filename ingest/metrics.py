"""This stage's own metrics."""

from prometheus_client import Counter, Gauge, Histogram

COLLECTIONS = Counter("fabricscope_ingest_collections_total", "Collections by outcome: up, or why not.", ["outcome"])
OVERRUNS = Counter("fabricscope_ingest_overruns_total", "Collections left out because the one before still ran.")
TARGETS = Gauge("fabricscope_ingest_targets", "Targets that are polled.")
SAMPLES = Counter("fabricscope_ingest_samples_total", "Samples received in series that the catalogue knows.")
DROPPED = Counter("fabricscope_ingest_samples_dropped_total", "Samples that did not reach the bus.", ["reason"])
PUBLISHED = Counter("fabricscope_ingest_samples_published_total", "Samples that are durable on the bus.")
HELD = Gauge("fabricscope_ingest_samples_held", "Samples between collection and bus.")
BATCHES_DROPPED = Counter("fabricscope_ingest_batches_dropped_total", "Batches that the full queue pushed out.")
FACTS_DROPPED = Counter(
    "fabricscope_ingest_facts_dropped_total", "Topology facts and changes that the full queue pushed out."
)
PUBLISH_SECONDS = Histogram(
    "fabricscope_ingest_publish_seconds",
    "How long the bus took to make batches durable.",
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
)
UNAVAILABLE = Counter("fabricscope_ingest_bus_unavailable_total", "Attempts to publish that failed.")
