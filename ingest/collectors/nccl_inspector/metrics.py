"""Counts of records of NCCL Inspector."""

from prometheus_client import Counter

_PREFIX = "fabricscope_ingest_nccl_inspector_"
RECORDS_READ = Counter(_PREFIX + "records_read_total", "Records of operations that were read whole, by job.", ["job"])
RECORDS_REFUSED = Counter(
    _PREFIX + "records_refused_total", "Records that are part of no sample, by job and reason.", ["job", "reason"]
)
BYTES_LOST = Counter(
    _PREFIX + "bytes_lost_total",
    "Bytes of files that were removed or rewritten before they were read, as far as they had been seen.",
    ["job"],
)
BYTES_OF_HISTORY = Counter(
    _PREFIX + "history_bytes_total", "Bytes that files had before they were first seen and that are not read.", ["job"]
)
