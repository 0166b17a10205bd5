"""The metrics of receivers that devices dial; those of messages and updates are gNMI's."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_dialled_"

STREAMS = Gauge(_PREFIX + "streams", "Calls of devices that have sent something.", ["job"])
CALLS_REFUSED = Counter(
    _PREFIX + "calls_refused_total", "Calls of devices that we refused or ended, by status.", ["job", "status"]
)
