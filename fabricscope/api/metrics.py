"""Own metrics of the API."""

from prometheus_client import Counter

RECEIVED = Counter("fabricscope_api_records_received_total", "Records read from the bus.", ["topic"])
CORRUPT = Counter("fabricscope_api_records_corrupt_total", "Records that could not be read.", ["topic", "reason"])
GAPS = Counter("fabricscope_api_gaps_total", "Times that retention on the bus had passed our position.")
REQUESTS = Counter("fabricscope_api_requests_total", "HTTP requests answered.", ["method", "route", "status"])
