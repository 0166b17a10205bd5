"""Own metrics of the API."""

from prometheus_client import Counter

CONSUMED = Counter("fabricscope_api_records_consumed_total", "Records consumed from the bus.", ["topic"])
CORRUPT = Counter("fabricscope_api_records_corrupt_total", "Records that could not be decoded.", ["topic", "reason"])
GAPS = Counter("fabricscope_api_gaps_total", "Gaps: records that retention removed before they were consumed.")
REQUESTS = Counter("fabricscope_api_requests_total", "HTTP requests answered.", ["method", "route", "status"])
