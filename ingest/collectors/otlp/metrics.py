"""The OTLP receivers' own metrics."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_otlp_"

REQUESTS = Counter(
    _PREFIX + "requests_total",
    "Requests by outcome: taken, or the status with which they were refused, by its name in gRPC.",
    ["job", "outcome"],
)
RECEIVED_BYTES = Counter(_PREFIX + "received_bytes_total", "Bytes of the requests taken, decompressed.", ["job"])
POINTS_RECEIVED = Counter(
    _PREFIX + "points_received_total",
    "Data points of the requests taken, those outside the catalogue included.",
    ["job"],
)
SAMPLES_UNMAPPED = Counter(_PREFIX + "samples_unmapped_total", "Samples whose names nothing maps.", ["job"])
INSECURE_RECEIVERS = Gauge(_PREFIX + "insecure_receivers", "Receivers without TLS.", ["job"])
