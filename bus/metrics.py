"""Own metrics of the bus."""

from prometheus_client import Counter, Gauge, Histogram

PUBLISHED = Counter("fabricscope_bus_records_published_total", "Records made durable.", ["topic"])
PUBLISHED_BYTES = Counter("fabricscope_bus_published_bytes_total", "Keys, values and headers made durable.", ["topic"])
PUBLISH_FAILURES = Counter(
    "fabricscope_bus_publish_failures_total", "Publishes that raised an error.", ["topic", "reason"]
)
CONSUMED = Counter("fabricscope_bus_records_consumed_total", "Records polled.", ["topic"])
LAG_RECORDS = Gauge("fabricscope_bus_lag_records", "Records on the bus that a stage has still to read.", ["stage"])
CATCH_UP_SECONDS = Gauge(
    "fabricscope_bus_catch_up_seconds",
    "Time until a stage has read all, at its pace since the last report; +Inf where the lag does not get less.",
    ["stage"],
)
GAPS = Counter("fabricscope_bus_gaps_total", "Gaps reported to readers.", ["topic"])
DAMAGED = Counter(
    "fabricscope_bus_records_damaged_total", "Records on Kafka that could not be read.", ["topic", "reason"]
)
DEAD_LETTERS = Counter("fabricscope_bus_dead_letters_total", "Corrupt records put aside.", ["topic", "reason"])
QUARANTINED = Counter(
    "fabricscope_bus_records_quarantined_total", "Records put aside because they ended the stage twice.", ["topic"]
)
CONNECT_RETRIES = Counter(
    "fabricscope_bus_connect_retries_total", "Connections to Kafka that failed and are tried again.", ["client"]
)
REBUILDS = Counter("fabricscope_bus_client_rebuilds_total", "Kafka clients rebuilt.", ["client", "reason"])
COMMIT_SECONDS = Histogram(
    "fabricscope_bus_commit_seconds",
    "Time of one transaction of the embedded log.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
RETENTION_FAILURES = Counter(
    "fabricscope_bus_retention_failures_total", "Runs of retention and compaction of the embedded log that failed."
)
