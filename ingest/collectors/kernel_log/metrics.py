"""Counts of kernel logs."""

from prometheus_client import Counter

_PREFIX = "fabricscope_ingest_kernel_log_"
RECORDS_LOST = Counter(
    _PREFIX + "records_lost_total",
    "Records that the kernel overwrote before they were read, and lines of more than 64 KiB.",
    ["job"],
)
XIDS = Counter(
    _PREFIX + "xids_total",
    "XID records read, those dropped included, and those of NVSwitches that cannot be read.",
    ["job"],
)
SXIDS = Counter(_PREFIX + "sxids_total", "SXid records read, those dropped included.", ["job"])
