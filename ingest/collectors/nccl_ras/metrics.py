"""Counts of what RAS streams."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_nccl_ras_"
STREAMS_UP = Gauge(_PREFIX + "streams_up", "Jobs whose RAS streams its events now.", ["job"])
EVENTS = Counter(
    _PREFIX + "events_total",
    "Events that RAS streamed, by its own names, those dropped included; other: names that no release had yet.",
    ["job", "event"],
)
EVENTS_UNREADABLE = Counter(
    _PREFIX + "events_unreadable_total", "Lines and objects in the stream that are no event.", ["job"]
)
