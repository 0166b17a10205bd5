"""The gNMI collectors' own metrics."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_gnmi_"

MESSAGES_RECEIVED = Counter(
    _PREFIX + "messages_received_total", "SubscribeResponses received, without those above the quota.", ["job"]
)
RECEIVED_BYTES = Counter(_PREFIX + "received_bytes_total", "Bytes of the received SubscribeResponses.", ["job"])
MESSAGES_DROPPED = Counter(
    _PREFIX + "messages_dropped_total",
    "SubscribeResponses dropped as a whole: malformed or above the quota.",
    ["job", "reason"],
)
UPDATES_RECEIVED = Counter(
    _PREFIX + "updates_received_total", "Updates decoded, those of paths outside the catalogue included.", ["job"]
)
SUBSCRIPTIONS_UP = Gauge(_PREFIX + "subscriptions_up", "Subscriptions that deliver updates.", ["job"])
SUBSCRIPTION_FAILURES = Counter(
    _PREFIX + "subscription_failures_total", "Subscriptions that ended, by reason.", ["job", "reason"]
)
SUBSCRIPTIONS_UNSYNCED = Counter(
    _PREFIX + "subscriptions_unsynced_total",
    "Subscriptions that deliver but never sent sync_response.",
    ["job"],
)
PATHS_REFUSED = Gauge(
    _PREFIX + "paths_refused",
    "Paths and series above a target's limits, or of ports without a known name.",
    ["target"],
)
INSECURE_TARGETS = Gauge(
    _PREFIX + "insecure_targets",
    "Targets without TLS or without verification, by the setting.",
    ["job", "kind"],
)
