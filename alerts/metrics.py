"""Own metrics of the alerts stage."""

from enum import StrEnum

from prometheus_client import Counter, Gauge


class DropReason(StrEnum):
    """Why something was not told, or not to whom it was meant for."""

    DUPLICATE = "duplicate"  # a version of an incident that is not newer than the known one
    BAD_RECORD = "bad_record"
    TOO_MANY = "too_many"  # more incidents than we track
    REJECTED = "rejected"  # the receiver will never take it
    EXPIRED = "expired"  # the receiver did not take it in time
    NEVER_TOLD = "never_told"  # the end of something that this receiver was never told
    UNKNOWN_RECEIVER = "unknown_receiver"  # it left the configuration
    QUEUE_FULL = "queue_full"


RECORDS = Counter("fabricscope_alerts_records_total", "Records of incidents read from the bus.")
DROPPED = Counter("fabricscope_alerts_dropped_total", "Records and deliveries dropped, by reason.", ["reason"])
FALLEN_BACK = Counter(
    "fabricscope_alerts_fallbacks_total", "Deliveries handed to the fallback.", ["receiver", "reason"]
)
NOTIFICATIONS = Counter(
    "fabricscope_alerts_notifications_total", "Notifications that a receiver took.", ["receiver", "action"]
)
FAILURES = Counter("fabricscope_alerts_failures_total", "Attempts that failed and will be repeated.", ["receiver"])
REFRESHES = Counter("fabricscope_alerts_refreshes_total", "Rounds in which open alerts were sent again.", ["receiver"])
PENDING = Gauge("fabricscope_alerts_pending", "Deliveries that wait in the outbox.", ["receiver"])
OPEN = Gauge("fabricscope_alerts_open", "Incidents that people were told about and that are not resolved.")
HELD = Gauge("fabricscope_alerts_held", "Incidents that wait for the page budget.")
GAPS = Counter("fabricscope_alerts_gaps_total", "Times that retention on the bus had passed our position.")
