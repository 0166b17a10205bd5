"""What the bus counts about itself."""

from prometheus_client import Counter, Histogram

PUBLISHED = Counter("fabricscope_bus_published_total", "Records made durable", ["topic"])
PUBLISHED_BYTES = Counter("fabricscope_bus_published_bytes_total", "Keys, values and headers made durable", ["topic"])
PUBLISH_FAILURES = Counter("fabricscope_bus_publish_failures_total", "Publishes that raised", ["topic", "reason"])
CONSUMED = Counter("fabricscope_bus_consumed_total", "Records polled", ["topic"])
GAPS = Counter("fabricscope_bus_gaps_total", "Gaps that readers were told of", ["topic"])
DEAD_LETTERS = Counter("fabricscope_bus_dead_letters_total", "Corrupt records put aside", ["topic", "reason"])
REBUILDS = Counter("fabricscope_bus_client_rebuilds_total", "Kafka clients built anew", ["client", "reason"])
COMMIT_SECONDS = Histogram(
    "fabricscope_bus_commit_seconds",
    "One transaction of the embedded log",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
UPKEEP_FAILURES = Counter("fabricscope_bus_upkeep_failures_total", "Retention and compaction runs that failed")
