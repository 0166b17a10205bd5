"""Own metrics of remote write."""

from enum import StrEnum

from prometheus_client import Counter, Gauge, Histogram


class DropReason(StrEnum):
    """Why a sample was not exported."""

    LATE = "late"  # older than what the receiver has of the series
    BAD_SERIES = "bad_series"  # its labels cannot be written
    TARGET_DOWN = "target_down"  # it came with a collection that failed
    REJECTED = "rejected"  # the receiver will never accept it


class CorruptReason(StrEnum):
    """Why a record could not be read."""

    CHECKSUM = "checksum"
    SCHEMA = "schema"
    TOO_LARGE = "too_large"
    OTHER = "other"


TOO_MANY = "too_many"  # a finding or incident beyond ``states_max``

RECEIVED = Counter("fabricscope_export_samples_received_total", "Samples read from the bus.")
PROCESSED = Counter("fabricscope_export_samples_processed_total", "Samples that the receiver accepted.")
DEDUPLICATED = Counter("fabricscope_export_samples_deduplicated_total", "Samples that had been sent already.")
DROPPED = Counter("fabricscope_export_samples_dropped_total", "Samples that were not exported.", ["reason"])
QUEUED = Gauge("fabricscope_export_samples_queued", "Samples read and not yet accepted by the receiver.")
CORRUPT = Counter("fabricscope_export_records_corrupt_total", "Records that could not be read.", ["topic", "reason"])
RECORDS_DROPPED = Counter("fabricscope_export_records_dropped_total", "Records that were not used.", ["reason"])
GAPS = Counter("fabricscope_export_gaps_total", "Times that retention on the bus had passed our position.")
FILES_DAMAGED = Counter(
    "fabricscope_export_files_damaged_total", "Times that a damaged position was set aside, and the rest kept."
)
SYNTHETIC = Counter(
    "fabricscope_export_synthetic_samples_total", "Samples made here and accepted: up, ends of series, states."
)
REQUESTS = Counter("fabricscope_export_requests_total", "Requests: accepted, rejected, retried.", ["outcome"])
BYTES = Counter("fabricscope_export_accepted_bytes_total", "Bytes of request bodies that were accepted.")
SECONDS = Histogram("fabricscope_export_request_seconds", "Time of a request.")
LAG = Gauge("fabricscope_export_lag_seconds", "Age of the newest collection that the receiver accepted.")
