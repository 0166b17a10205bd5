"""Own metrics of the alerts stage."""

from enum import StrEnum

from prometheus_client import Counter, Gauge


class DropReason(StrEnum):
    """Why a record was not used."""

    BAD_RECORD = "bad_record"
    STALE_OWNER = "stale_owner"  # of an analytics process that had been replaced
    TOO_MANY = "too_many"  # a new incident for which there was no room


class UndeliveredReason(StrEnum):
    """Why a notification did not reach the receiver that it was meant for."""

    REJECTED = "rejected"  # the receiver will never accept it
    EXPIRED = "expired"  # the receiver did not accept it in time
    NEVER_NOTIFIED = "never_notified"  # the end of something that this receiver was never notified of
    REMOVED_RECEIVER = "removed_receiver"  # it left the configuration
    QUEUE_FULL = "queue_full"
    EVICTED = "evicted"  # it left a full queue for a critical one


class HeartbeatOutcome(StrEnum):
    """What became of an attempt to send a heartbeat."""

    SENT = "sent"
    WITHHELD = "withheld"  # something is wrong, and somebody outside shall notice
    FAILED = "failed"  # the service did not accept it


RECEIVED = Counter("fabricscope_alerts_records_received_total", "Records of incidents read from the bus.")
PROCESSED = Counter("fabricscope_alerts_records_processed_total", "Versions of incidents that were decided on.")
DEDUPLICATED = Counter(
    "fabricscope_alerts_records_deduplicated_total", "Versions of incidents that are not newer than the known one."
)
DROPPED = Counter("fabricscope_alerts_records_dropped_total", "Records that were not used.", ["reason"])
CORRUPT = Counter("fabricscope_alerts_records_corrupt_total", "Records that could not be read.", ["topic", "reason"])
GAPS = Counter("fabricscope_alerts_gaps_total", "Times that retention on the bus had passed our position.")
QUEUED = Gauge("fabricscope_alerts_notifications_queued", "Notifications that wait in the outbox.", ["receiver"])
DELIVERED = Counter(
    "fabricscope_alerts_notifications_delivered_total",
    "Notifications that a receiver accepted.",
    ["receiver", "action"],
)
RETRIES = Counter(
    "fabricscope_alerts_notification_retries_total", "Attempts that failed and will be repeated.", ["receiver"]
)
REROUTED = Counter(
    "fabricscope_alerts_notifications_rerouted_total",
    "Notifications handed to the fallback instead of their receiver.",
    ["receiver", "reason"],
)
NOTIFICATIONS_DROPPED = Counter(
    "fabricscope_alerts_notifications_dropped_total", "Notifications that reach nobody.", ["reason"]
)
COMMIT_RETRIES = Counter(
    "fabricscope_alerts_commit_retries_total", "Commits of the outbox that failed and are repeated."
)
FILES_DAMAGED = Counter(
    "fabricscope_alerts_files_damaged_total", "Times that a damaged file was set aside, and the rest kept.", ["file"]
)
ROWS_DAMAGED = Counter(
    "fabricscope_alerts_rows_damaged_total",
    "Damaged rows that were not used. Those of pages that cannot be read at all are not counted.",
    ["table"],
)
REFRESHES = Counter("fabricscope_alerts_refreshes_total", "Rounds in which open alerts were sent again.", ["receiver"])
EVICTED = Counter(
    "fabricscope_alerts_incidents_evicted_total", "Incidents that made room for more important ones.", ["reason"]
)
OPEN = Gauge("fabricscope_alerts_incidents_open", "Incidents that were paged and are not resolved.")
HELD = Gauge("fabricscope_alerts_incidents_held", "Incidents that wait for the page budget.")
HEARTBEATS = Counter(
    "fabricscope_alerts_heartbeats_total", "Heartbeats by outcome: sent, withheld, failed.", ["outcome"]
)
