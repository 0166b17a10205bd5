"""Counts of result files."""

from prometheus_client import Counter

_PREFIX = "fabricscope_ingest_nccl_tests_"
RESULTS_REFUSED = Counter(
    _PREFIX + "results_refused_total",
    "Tests in result files that are not used, by job and reason; each once for each version of its file.",
    ["job", "reason"],
)
