"""The own metrics of Kafka topics that other collectors fill."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_kafka_topics_"

MESSAGES_RECEIVED = Counter(
    _PREFIX + "messages_received_total", "Messages read from the topics, those dropped included.", ["job"]
)
RECEIVED_BYTES = Counter(_PREFIX + "received_bytes_total", "Bytes of these messages, decompressed.", ["job"])
MESSAGES_DROPPED = Counter(
    _PREFIX + "messages_dropped_total",
    "Messages that were dropped as a whole, by reason: damaged, too_large or malformed.",
    ["job", "reason"],
)
PARTS_DROPPED = Counter(
    _PREFIX + "parts_dropped_total",
    "Events, notifications, lines and fields dropped, by reason: malformed, no_source, too_many_devices, text or "
    "native_histogram.",
    ["job", "reason"],
)
SAMPLES_UNMAPPED = Counter(_PREFIX + "samples_unmapped_total", "Samples of lines whose names nothing maps.", ["job"])
COMMITS_FAILED = Counter(
    _PREFIX + "commits_failed_total",
    "Offsets that were not committed, as another process of the group has the partition: it reads them again.",
    ["job"],
)
RECONNECTS = Counter(_PREFIX + "reconnects_total", "Times that the brokers were lost.", ["job"])
MESSAGES_BEHIND = Gauge(
    _PREFIX + "messages_behind", "Messages in this process's partitions that are not read yet.", ["job"]
)
