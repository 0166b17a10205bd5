"""The gNMI collectors' own metrics."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_gnmi_"

MESSAGES = Counter(_PREFIX + "messages_total", "SubscribeResponses taken in, without those above the quota.", ["job"])
BYTES = Counter(_PREFIX + "bytes_total", "Bytes of these SubscribeResponses.", ["job"])
UPDATES = Counter(_PREFIX + "updates_total", "Updates decoded, those of unknown paths included.", ["job"])
MESSAGES_DROPPED = Counter(_PREFIX + "messages_dropped_total", "Messages thrown away whole.", ["job", "reason"])
SUBSCRIBED = Gauge(_PREFIX + "subscriptions_up", "Subscriptions that deliver.", ["job"])
FAILURES = Counter(_PREFIX + "subscription_failures_total", "Subscriptions that ended, by reason.", ["job", "reason"])
UNSYNCED = Counter(_PREFIX + "sync_missing_total", "Subscriptions that deliver and never sent sync_response.", ["job"])
REFUSED = Gauge(_PREFIX + "paths_refused", "Paths and series of a target that found no room or no name.", ["target"])
UNSAFE = Gauge(_PREFIX + "unsafe_targets", "Targets without TLS (insecure) or without verification.", ["job", "kind"])
