"""The receivers' own metrics."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_remote_write_"

REQUESTS = Counter(_PREFIX + "requests_total", "Requests by the status of their answer.", ["job", "status"])
RECEIVED_BYTES = Counter(_PREFIX + "received_bytes_total", "Bytes of accepted requests, as sent.", ["job"])
SAMPLES_UNMAPPED = Counter(
    _PREFIX + "samples_unmapped_total", "Samples accepted of series outside the catalogue and its rules.", ["job"]
)
NATIVE_UNMAPPED = Counter(
    _PREFIX + "native_samples_unmapped_total",
    "Native histograms and exemplars accepted, of which nothing is used.",
    ["job"],
)
SERIES = Gauge(_PREFIX + "series", "Series that are known, those that nothing maps included.", ["job"])
WAITING_BYTES = Gauge(_PREFIX + "waiting_bytes", "Size of the requests that are not queued yet.", ["job"])
