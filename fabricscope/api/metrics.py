"""Own metrics of the API."""

from prometheus_client import Counter, Gauge

RECEIVED = Counter("fabricscope_api_records_received_total", "Records read from the bus.", ["topic"])
CORRUPT = Counter("fabricscope_api_records_corrupt_total", "Records that could not be read.", ["topic", "reason"])
DROPPED = Counter("fabricscope_api_records_dropped_total", "Records that were not used.", ["reason"])
FORGOTTEN = Counter(
    "fabricscope_api_targets_forgotten_total",
    "Targets that are not known any more: gone for an hour (gone), or for a new one, as there were too many (no_room).",
    ["reason"],
)
EVENTS_FORGOTTEN = Counter(
    "fabricscope_api_events_forgotten_total",
    "Events that are not known any more, as there were too many: one that had ended (ended), or was open (open).",
    ["reason"],
)
GAPS = Counter("fabricscope_api_gaps_total", "Times that retention on the bus had passed our position.")
REQUESTS = Counter("fabricscope_api_requests_total", "HTTP requests answered.", ["method", "route", "status"])
CONNECTIONS_CLOSED = Counter(
    "fabricscope_api_connections_closed_total", "Connections closed before their client did.", ["reason"]
)
AUDIT_FAILURES = Counter("fabricscope_api_audit_failures_total", "Times that the audit log could not be written.")
CERTIFICATE_EXPIRY = Gauge(
    "fabricscope_api_certificate_expiry_timestamp_seconds",
    "When the certificate of the API expires, in seconds since the Unix epoch; 0 without TLS.",
)
CERTIFICATE_FAILURES = Counter(
    "fabricscope_api_certificate_failures_total", "Times that a replaced certificate of the API could not be used."
)
