"""Counts of what is read of logs."""

from collections.abc import Mapping
from enum import StrEnum

from prometheus_client import Counter

from ingest.ledger import DropReason


class Outcome(StrEnum):
    """What became of an entry; a label of our own metrics."""

    TAKEN = "taken"
    MINOR = "minor"  # less severe than the settings ask for
    PAST = "past"  # it was there when its log was first seen, and is older than ten minutes or has no time
    LATE = "late"  # new, and older than that
    DUPLICATE = "duplicate"  # one of the same words is newer
    QUOTA = "quota"
    UNREADABLE = "unreadable"


DROPPED: Mapping[Outcome, DropReason] = {
    Outcome.LATE: DropReason.EVENT_TIME,
    Outcome.DUPLICATE: DropReason.DUPLICATE,
    Outcome.QUOTA: DropReason.QUOTA,
    Outcome.UNREADABLE: DropReason.BAD_FORMAT,
}
"""Why the ledger counts it; others are no samples that are missing."""

ENTRIES = Counter(
    "fabricscope_ingest_redfish_log_entries_total",
    "Entries of controllers' logs that were new to us, by what became of them.",
    ["job", "outcome"],
)
READINGS_CUT = Counter(
    "fabricscope_ingest_redfish_log_readings_cut_total",
    "Readings of a log that had more pages of new entries than are read.",
    ["job"],
)
