"""Counts of the Redfish collector."""

from prometheus_client import Counter

RESOURCES_FAILED = Counter(
    "fabricscope_ingest_redfish_resources_failed_total",
    "Resources that could not be read while others of their controller could, by reason.",
    ["job", "reason"],
)
