"""This stage's own metrics."""

from prometheus_client import Counter, Gauge, Histogram

_PREFIX = "fabricscope_ingest_"

COLLECTIONS = Counter(_PREFIX + "collections_total", "Collections by outcome: up, or the reason why not.", ["outcome"])
COLLECTIONS_SKIPPED = Counter(_PREFIX + "collections_skipped_total", "Collections left out.", ["reason"])
COLLECTIONS_RUNNING = Gauge(_PREFIX + "collections_running", "Collections that have begun and not ended.")
COLLECTIONS_WAITING = Gauge(_PREFIX + "collections_waiting", "Targets that are due and wait for their turn.")
COLLECTIONS_RUNNING_MAX = Gauge(
    _PREFIX + "collections_running_max",
    "Collections that may run at once, of healthy targets and of others each: what the CPU can do.",
)
PAGE_BYTES = Gauge(_PREFIX + "page_bytes", "Size of fetched pages that are not decoded yet.")
MEMORY_USED_RATIO = Gauge(
    _PREFIX + "memory_used_ratio", "Of the memory that the process or its container may use; 0 without a limit."
)
WAIT_SECONDS = Gauge(_PREFIX + "wait_seconds", "How long work waits for this process: what it lacks of CPU.")
CERTIFICATE_EXPIRY = Gauge(
    _PREFIX + "certificate_expiry_timestamp_seconds",
    "When the certificate of a target expires that was verified last, in seconds since the Unix epoch.",
    ["target"],
)
RECEIVER_REFUSALS = Counter(
    _PREFIX + "receiver_refusals_total",
    "Connections, calls and requests that a receiver ended by itself, whatever their messages were about.",
    ["job", "reason"],
)
TARGETS = Gauge(_PREFIX + "targets", "Targets that are polled.")
SAMPLES_RECEIVED = Counter(_PREFIX + "samples_received_total", "Samples received in series of the catalogue.")
SAMPLES_UNMAPPED = Counter(
    _PREFIX + "samples_unmapped_total", "Samples received in series that nothing maps to the catalogue."
)
SAMPLES_PUBLISHED = Counter(_PREFIX + "samples_published_total", "Samples that are durable on the bus.")
SAMPLES_DROPPED = Counter(_PREFIX + "samples_dropped_total", "Samples that did not reach the bus.", ["reason"])
SAMPLES_UNACCOUNTED = Gauge(
    _PREFIX + "unaccounted_samples",
    "Samples of which this process cannot say what became of them, by the accounts of its targets: 0, or a fault.",
)
TARGET_RECEIVED = Counter(
    _PREFIX + "target_samples_received_total",
    "Samples received of one target in series of the catalogue; of those beyond the first 1,000 together.",
    ["target"],
)
TARGET_PUBLISHED = Counter(
    _PREFIX + "target_samples_published_total",
    "Samples of one target that are durable on the bus; of those beyond the first 1,000 together.",
    ["target"],
)
TARGET_DROPPED = Counter(
    _PREFIX + "target_samples_dropped_total",
    "Samples of one target that did not reach the bus; of those beyond the first 1,000 together.",
    ["target", "reason"],
)
SAMPLES_QUEUED = Gauge(_PREFIX + "samples_queued", "Samples between collection and bus.")
SPOOLED_SAMPLES = Gauge(_PREFIX + "spooled_samples", "Samples that wait on the disk.")
SPOOLED_BYTES = Gauge(_PREFIX + "spooled_bytes", "Size of the files of the spool.")
SPOOLED_SECONDS = Gauge(_PREFIX + "spooled_seconds", "Event time since the oldest that waits on the disk was spooled.")
SPOOL_PROBLEMS = Gauge(
    _PREFIX + "spool_problems", "1 while the disk cannot be written, so that samples are in memory alone."
)
SPOOL_FAILURES = Counter(_PREFIX + "spool_failures_total", "Calls to the disk that failed.")
BATCHES_DROPPED = Counter(
    _PREFIX + "batches_dropped_total", "Batches that the full queue dropped, or the spool for any reason."
)
RECORDS_DROPPED = Counter(
    _PREFIX + "records_dropped_total", "Topology facts and changes that did not reach the bus.", ["reason"]
)
PUBLISH_SECONDS = Histogram(
    _PREFIX + "publish_seconds",
    "Time until the bus had made the messages of one call durable.",
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
)
PUBLISH_RETRIES = Counter(_PREFIX + "publish_retries_total", "Calls to the bus that failed and were repeated.")
DIALLED_STREAMS = Gauge(
    _PREFIX + "dialled_streams", "Calls of devices that dial a receiver and have sent something.", ["job"]
)
DIALLED_CALLS_REFUSED = Counter(
    _PREFIX + "dialled_calls_refused_total", "Calls of devices that we refused or ended, by status.", ["job", "status"]
)
