"""Own metrics of remote write."""

from enum import StrEnum

from prometheus_client import Counter, Gauge, Histogram


class DropReason(StrEnum):
    """Why a sample was not exported."""

    LATE = "late"  # older than what the receiver has of the series
    BAD_SERIES = "bad_series"  # its labels cannot be written
    TARGET_DOWN = "target_down"  # it came with a collection that failed
    REJECTED = "rejected"  # the receiver will never take it


class SkipReason(StrEnum):
    """Why a record was not used."""

    CHECKSUM = "checksum"
    SCHEMA = "schema"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    OTHER = "other"


SAMPLES = Counter("fabricscope_remote_write_samples_total", "Samples read from the bus.")
SENT = Counter("fabricscope_remote_write_samples_sent_total", "Samples that the receiver took.")
REPEATED = Counter("fabricscope_remote_write_samples_repeated_total", "Samples that had been sent already.")
DROPPED = Counter("fabricscope_remote_write_samples_dropped_total", "Samples not exported, by reason.", ["reason"])
SKIPPED = Counter("fabricscope_remote_write_records_skipped_total", "Records not used, by reason.", ["reason"])
HELD = Gauge("fabricscope_remote_write_samples_held", "Samples read and not yet taken by the receiver.")
SYNTHETIC = Counter("fabricscope_remote_write_synthetic_total", "Samples made here: up, ends of series, facts.")
REQUESTS = Counter("fabricscope_remote_write_requests_total", "Requests by outcome.", ["outcome"])
BYTES = Counter("fabricscope_remote_write_bytes_total", "Bytes of request bodies that were taken.")
SECONDS = Histogram("fabricscope_remote_write_request_seconds", "Time of a request.")
LAG = Gauge("fabricscope_remote_write_lag_seconds", "Age of the newest collection that the receiver took.")
GAPS = Counter("fabricscope_remote_write_gaps_total", "Times that retention on the bus had passed our position.")
